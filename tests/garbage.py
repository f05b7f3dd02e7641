"""The garbage collector, for tests of what is gone."""

import gc


def collect() -> None:
    """Collect all garbage; the next time, what is left is not looked at again.

    All that pytest and earlier tests hold makes a collection take some tenths of a second.
    """
    gc.collect()
    gc.freeze()
