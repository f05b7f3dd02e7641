"""The Hamming index beside its peers, on uniform and on skewed fingerprints.

    python benchmarks/index.py FOLDER [--sizes 100000 1000000] [--data random en-tf] [--only NAME]

FOLDER holds labelled/<name>/docs.jsonl; fingerprints.py makes the data of it. Peers that are not
installed are left out: pip install faiss-cpu simhash.

Each peer, data set and size has a process of its own, on one thread; the rounds take turns, and
figures are medians over them. Fingerprints are added one by one, then come single queries, half of
which have a match. Everyone gets its keys ready-made. Bytes are what the resident memory grew by;
recall is the share of the queries with a match that found one.
"""

import argparse
import ctypes
import gc
import multiprocessing
import os
import statistics
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from fingerprints import NAMES, NEAR, prepare
from peers import PEERS

LIMIT = 600.0
BUDGET = 10.0
COLUMNS = {
    "query_us": ("query µs", ",.1f"),
    "query_us_p95": ("p95", ",.1f"),
    "adds_per_s": ("add/s", ",.0f"),
    "worst_add_ms": ("worst ms", ",.1f"),
    "bytes": ("bytes", ",.0f"),
    "recall": ("recall", ".4f"),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--data", nargs="+", choices=NAMES, default=["random", "zh", "en-tf"])
    parser.add_argument("--only", nargs="+", choices=PEERS, default=list(PEERS))
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    # Of the processes that measure.
    os.environ |= {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "RAYON")}
    for n in arguments.sizes:
        for data in arguments.data:
            path = prepare(data, n, arguments.folder)
            skew = float(np.load(path)["skew"])
            print(f"\n{data}, {n:,} fingerprints, buckets {skew:.1f} times as full as uniform ones")
            print(f"{'':24}" + "".join(f"{title:>12}" for title, _ in COLUMNS.values()))
            runs: dict[str, list[dict[str, float]]] = defaultdict(list)
            for _ in range(arguments.rounds):
                for name in arguments.only:
                    if figures := run(name, path):
                        runs[name].append(figures)
            for name, figures_of_rounds in runs.items():
                cells = (
                    format(statistics.median(each[column] for each in figures_of_rounds), form)
                    for column, (_, form) in COLUMNS.items()
                )
                print(f"{name:24}" + "".join(f"{cell:>12}" for cell in cells), flush=True)
    return 0


def run(name: str, path: Path) -> dict[str, float]:
    """Measure in a process of its own; return nothing where that fails or takes too long."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        try:
            return pool.apply_async(measure, (name, path)).get(LIMIT)
        except multiprocessing.TimeoutError:
            print(f"{name}: stopped after {LIMIT / 60:.0f} minutes", file=sys.stderr)
        except Exception as error:
            print(f"{name}: {error!r}", file=sys.stderr)
    return {}


def measure(name: str, path: Path) -> dict[str, Any]:
    peer = PEERS[name](NEAR)
    arrays = np.load(path)
    stored = arrays["stored"]
    before, seconds, worst = resident_bytes(), 0.0, 0.0
    for start in range(0, len(stored), 1000):
        for page, key in enumerate(peer.keys(stored[start : start + 1000]), start):
            # The worst add is CPU time: another process may occupy the core for longer than an add.
            cpu, begun = time.thread_time(), time.perf_counter()
            peer.add(key, page)
            seconds += time.perf_counter() - begun
            worst = max(worst, time.thread_time() - cpu)
    figures = {
        "adds_per_s": len(stored) / seconds,
        "worst_add_ms": worst * 1e3,
        "bytes": (resident_bytes() - before) / len(stored),
    }
    times, found = [], []
    for key in peer.keys(arrays["queries"]):
        begun = time.perf_counter()
        found.append(peer.query(key) is not None)
        times.append(time.perf_counter() - begun)
        if sum(times) > BUDGET:
            break
    has_match = arrays["nearest"][: len(found)] <= NEAR
    median, p95 = np.percentile(np.array(times) * 1e6, (50, 95)).tolist()
    recall = float(np.array(found)[has_match].mean())
    return figures | {"query_us": median, "query_us_p95": p95, "recall": recall}


def resident_bytes() -> int:
    """Return the resident memory of this process, without garbage and mapped files."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    status = Path("/proc/self/status").read_text()
    return int(status.partition("RssAnon:")[2].split()[0]) * 1024


if __name__ == "__main__":
    sys.exit(main())
