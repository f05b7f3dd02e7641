"""Pages that share one key: the time to find which of them match, without Spark.

    python benchmarks/hot_keys.py [--sizes 10000 100000] [--methods minhash verified segments]

*Others*: pages that share the key and little else. *Template*: each has half of its shingles in
common with each. *Clique*: all match all. All sketches are different. The time is that of the
processor, in one process, as for one task of Spark.
"""

import argparse
import time
from typing import Any

import numpy as np

from dedup.methods import METHODS, KeyMethod, MinHash, Segments, Verified
from dedup.spark.matches import find_links

SHARES = {"others": 0.0, "template": 0.5, "clique": 0.9}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sizes", type=int, nargs="*", default=[10_000, 100_000])
    parser.add_argument("--methods", nargs="*", default=PAYLOADS)
    parser.add_argument("--kinds", nargs="*", default=SHARES)
    arguments = parser.parse_args()
    for name in arguments.methods:
        for kind in arguments.kinds:
            for size in arguments.sizes:
                method = METHODS[name]()
                assert isinstance(method, KeyMethod)
                payloads = PAYLOADS[name](method, np.random.default_rng(1), size, SHARES[kind])
                keys, nodes = np.zeros(size, np.uint64), np.arange(size)
                start = time.process_time()
                links, _ = find_links(method, keys, nodes, payloads)
                seconds = time.process_time() - start
                print(f"{name:9} {kind:9} {size:8,}: {seconds:8.2f} s, {len(links):,} links",
                    flush=True)  # fmt: skip


def minhash(method: MinHash, chooser: Any, size: int, share: float) -> list[bytes]:
    """Return signatures of which two agree in a component with the probability *share*."""
    shape = size, method.bands * method.rows
    rows = chooser.integers(0, 2**32, shape, dtype=np.uint32)
    rows = np.where(chooser.random(shape, np.float32) < share**0.5, rows[0], rows)
    rows[:, : method.rows] = 7
    return [row.tobytes() for row in rows.astype("<u4")]


def verified(method: Verified, chooser: Any, size: int, share: float) -> list[bytes]:
    """Return what is compared of pages without numbers whose J is *share*."""
    bits = chooser.integers(0, 2, (size, 1024), dtype=np.uint8)
    for start in range(0, size, 1 << 14):
        part = bits[start : start + (1 << 14)]
        part[chooser.random(part.shape, np.float32) < share**0.5] = 0
    head = np.array([200, 0, *[2**16 - 1] * 16], "<u2").tobytes()
    return [head + row.tobytes() for row in np.packbits(bits, axis=1)]


def segments(method: Segments, chooser: Any, size: int, share: float) -> list[bytes]:
    """Return 20 digests of each, of which *share* or more are those of a template."""
    rows = chooser.integers(0, 2**64, (size, 20), dtype=np.uint64)
    rows[:, : max(1, round(20 * share))] = np.arange(max(1, round(20 * share)))
    return [np.sort(row).astype("<u8").tobytes() for row in rows]


PAYLOADS = {"minhash": minhash, "verified": verified, "segments": segments}


if __name__ == "__main__":
    main()
