"""The Hamming index beside that of FAISS, on uniform and on skewed fingerprints.

    python benchmarks/index.py FOLDER [--sizes 100000 1000000] [--data random en-tf]

FOLDER holds labelled/reuters_a/docs.jsonl. en-tf are the unigram simhashes of its sliding windows
of 300 words, one document following the other, in which a word weighs as often as it occurs; where
these are too few, longer and shorter windows join them. Every 20th document is held back: windows
of those are looked up, and stored fingerprints with up to 3 bits flipped. FAISS is left out where
it is not installed: pip install faiss-cpu.

Each index, data set and size has a process of its own, on one thread; the rounds take turns, and
figures are medians over them. Fingerprints are added one by one, then come single queries. Both
get their keys ready-made. Times are those on a CPU. Bytes are what the resident memory grew by;
recall is the share of the queries with a match that found one.
"""

import argparse
import ctypes
import gc
import os
import statistics
import tempfile
import time
from collections import defaultdict
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from crawl import in_own_process
from drops import read_lines

from dedup.index import HammingIndex
from dedup.methods.hashing import PLAIN
from dedup.text import Document

DATA = ("random", "en-tf")
QUERIES, NEAR, WINDOW, HELD_BACK = 2_000, 3, 300, 20
# Shorter and longer ones in turn, in steps of 6 %.
WIDTHS = [WINDOW, *(int(WINDOW * 1.06**n) for power in range(1, 30) for n in (-power, power))]
COLUMNS = {
    "query_us": ("query µs", ",.1f"),
    "adds_per_s": ("add/s", ",.0f"),
    "bytes": ("bytes", ",.0f"),
    "recall": ("recall", ".4f"),
}


class Ours:
    def __init__(self) -> None:
        self._index = HammingIndex(max_distance=NEAR)
        self.add = self._index.add

    def keys(self, prints: Any) -> list[Any]:
        """Return what `add` and `has_match` take of *prints*."""
        return prints.tolist()

    def has_match(self, key: int) -> bool:
        return self._index.query(key) is not None


class Faiss:
    """Four hashes of 16 bits."""

    def __init__(self) -> None:
        import faiss

        faiss.omp_set_num_threads(1)
        self._index = faiss.IndexBinaryMultiHash(64, 4, 16)
        self.add = self._index.add

    def keys(self, prints: Any) -> list[Any]:
        return list(prints.view(np.uint8).reshape(-1, 1, 8))

    def has_match(self, key: Any) -> bool:
        distances, _ = self._index.search(key, 1)
        return bool(distances[0, 0] <= NEAR)


INDEXES = {"dedup": Ours, "FAISS MultiHash 4x16": Faiss}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--data", nargs="+", choices=DATA, default=list(DATA))
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    # Of the processes that measure.
    os.environ |= {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "RAYON")}
    names = list(INDEXES) if find_spec("faiss") else ["dedup"]
    for n in arguments.sizes:
        for data in arguments.data:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder, "fingerprints.npz")
                skew = write_fingerprints(path, data, n, arguments.folder)
                print(f"\n{data}, {n:,} fingerprints, buckets {skew:.1f} times as full as uniform")
                print(f"{'':24}" + "".join(f"{title:>12}" for title, _ in COLUMNS.values()))
                runs: dict[str, list[dict[str, float]]] = defaultdict(list)
                for _ in range(arguments.rounds):
                    for name in names:
                        runs[name].append(in_own_process(measure, name, path))
            for name, figures in runs.items():
                medians = {key: statistics.median(one[key] for one in figures) for key in COLUMNS}
                cells = (format(medians[key], form) for key, (_, form) in COLUMNS.items())
                print(f"{name:24}" + "".join(f"{cell:>12}" for cell in cells), flush=True)


def write_fingerprints(path: Path, data: str, n: int, folder: Path) -> float:
    """Write *n* fingerprints to store, others to look up, and their distances to the nearest.

    Return how full the buckets of 16 bits are, relative to those of uniform fingerprints.
    """
    rng = np.random.default_rng(n)
    if data == "random":
        stored, queries = (rng.integers(0, 2**64, size, np.uint64) for size in (n, QUERIES))
    else:
        texts = [
            one["text"] for one in read_lines(folder / "labelled" / "reuters_a" / "docs.jsonl")
        ]
        documents = [Document.from_main_text(text).tokens for text in texts]
        unseen = list(chain.from_iterable(documents[::HELD_BACK]))
        del documents[::HELD_BACK]
        seen = list(chain.from_iterable(documents))
        stored = rng.choice(fingerprints(seen, n), n, replace=False)
        queries = rng.choice(fingerprints(unseen, 1), QUERIES)
    near = rng.choice(stored, QUERIES // 2)
    flipped = np.uint64(1) << rng.integers(0, 64, (len(near), NEAR), np.uint64)
    flipped[np.arange(NEAR) >= rng.integers(0, NEAR + 1, len(near))[:, None]] = 0
    queries[::2] = near ^ np.bitwise_or.reduce(flipped, axis=1)
    nearest = [np.bitwise_count(stored ^ query).min() for query in queries]
    np.savez(path, stored=stored, queries=queries, nearest=nearest)
    sizes = np.array([np.bincount(block, minlength=1 << 16) for block in blocks_of(stored)], float)
    # Each fingerprint is in its own bucket, also if they are uniform.
    return float((sizes**2).sum() / 4 / n / (n / (1 << 16) + 1))


def blocks_of(prints: Any) -> Any:
    return prints.view(np.uint16).reshape(-1, 4).T


def fingerprints(words: list[str], wanted: int) -> Any:
    """Return at least *wanted* unique fingerprints of windows."""
    numbers: dict[str, int] = {}
    ids = [numbers.setdefault(word, len(numbers)) for word in words]
    octets = np.array([PLAIN.feature_hash(word) for word in numbers], "<u8").view(np.uint8)
    bits = np.unpackbits(octets.reshape(-1, 8), axis=1, bitorder="little")
    sums = np.cumsum(2 * bits.astype(np.int8)[ids] - 1, axis=0, dtype=np.int32)
    prints = np.empty(0, np.uint64)
    for width in WIDTHS:
        of_windows = sums[width - 1 :].copy()
        of_windows[1:] -= sums[:-width]
        found = np.packbits(of_windows > 0, axis=1, bitorder="little").view("<u8")[:, 0]
        prints = np.unique(np.append(prints, found))
        if len(prints) >= wanted:
            return prints
    raise ValueError(f"{wanted} unique fingerprints are needed, but there are only {len(prints)}")


def measure(name: str, path: Path) -> dict[str, float]:
    index, arrays = INDEXES[name](), np.load(path)
    stored = arrays["stored"]
    before, seconds = resident_bytes(), 0.0
    for start in range(0, len(stored), 1000):
        keys = index.keys(stored[start : start + 1000])
        begun = time.process_time()
        for key in keys:
            index.add(key)
        seconds += time.process_time() - begun
    times, found = [], []
    queries = index.keys(arrays["queries"])
    index.has_match(queries[0])  # ours sorts now what was added
    grown = resident_bytes() - before
    for key in queries:
        begun = time.process_time()
        found.append(index.has_match(key))
        times.append(time.process_time() - begun)
    return {
        "query_us": statistics.median(times) * 1e6,
        "adds_per_s": len(stored) / seconds,
        "bytes": grown / len(stored),
        "recall": float(np.array(found)[arrays["nearest"] <= NEAR].mean()),
    }


def resident_bytes() -> int:
    """Return the resident memory of this process, without garbage and mapped files."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    status = Path("/proc/self/status").read_text()
    return int(status.partition("RssAnon:")[2].split()[0]) * 1024


if __name__ == "__main__":
    main()
