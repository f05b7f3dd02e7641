"""What somebody may have meant by a name that does not exist."""

from collections.abc import Iterable
from difflib import get_close_matches

# Of difflib: names that share a prefix are alike anyway.
_LEAST_RATIO = 0.75


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return the end of a message that suggests a *known* name like *name*; "" without one.

    >>> did_you_mean("verfied", ["exact", "verified"])
    '; did you mean verified?'
    >>> did_you_mean("newest", ["https", "newest-version"])
    '; did you mean newest-version?'
    """
    names = [*known]
    near = get_close_matches(name, names, 1, _LEAST_RATIO)
    near = near or [other for other in names if len(name) > 2 and other.startswith(name)]
    return f"; did you mean {near[0]}?" if near else ""
