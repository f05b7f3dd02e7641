"""What a ledger costs: its size, and reading it at the start of a crawl.

    python benchmarks/ledger.py FOLDER [--method simhash verified | --method all] [--sizes 1e5 1e6]

For each method and size a ledger of so many pages, with random digests, and random sketches of the
lengths that pages of FOLDER (sites/<name>/www) have, is made in a temporary folder. A process of
its own reads it, as a crawl does at its start, and judges a first page. It tells how long that
takes, what the index takes in memory, and by how much the process grew at most.
"""

import argparse
import json
import multiprocessing
import random
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from dedup.detector import Detector
from dedup.extraction import EXTRACTORS
from dedup.methods import METHODS, Method
from dedup.methods.digests import DigestMethod
from dedup.page import PageReader
from dedup.record import Claimed, Committed, PageRecord
from dedup.stores import News, SqliteStore, finished

SAMPLE = 300
TEXT = "This text has enough words to be compared with others that are near to it. " * 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--method", nargs="+", default=["simhash"])
    parser.add_argument("--sizes", type=float, nargs="+", default=[1e5, 1e6])
    arguments = parser.parse_args()
    for name in METHODS if arguments.method == ["all"] else arguments.method:
        lengths = lengths_of_sketches(arguments.folder, METHODS[name]())
        for size in map(int, arguments.sizes):
            with tempfile.TemporaryDirectory() as folder:
                print(json.dumps(measure(Path(folder, "pages.sqlite"), name, lengths, size)))


def lengths_of_sketches(folder: Path, method: Method) -> list[int]:
    files = sorted(path for path in folder.glob("sites/*/www/**/*.html") if path.is_file())
    reader = PageReader(EXTRACTORS["trafilatura"], method)
    texts = (
        path.read_text("utf-8", "replace")
        for path in random.Random(1).sample(files, min(SAMPLE, len(files)))
    )
    sketches = [reader.read_html(text).record.sketch for text in texts]
    return [len(sketch) for sketch in sketches if sketch is not None]


def measure(path: Path, name: str, lengths: list[int], size: int) -> dict[str, Any]:
    fill(path, METHODS[name](), lengths, size)
    row = {"method": name, "pages": size, "file_bytes_a_page": round(path.stat().st_size / size)}
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as other:
        return row | other.submit(read_at_the_start, path, name).result()


def read_at_the_start(path: Path, name: str) -> dict[str, Any]:
    method = METHODS[name]()
    before = most_memory()
    start, cpu = time.perf_counter(), time.process_time()
    with closing(SqliteStore(path, method.identity)) as ledger:
        detector = Detector(method, store=ledger)
        finished(detector.load())
        finished(
            detector.reserve(
                PageReader(EXTRACTORS["trafilatura"], method).read_texts([TEXT])[0].record
            )
        )
        return {
            "read_in_s": round(time.perf_counter() - start, 2),
            "read_in_cpu_s": round(time.process_time() - cpu, 2),
            "memory_bytes_a_page": round(detector.nbytes / len(detector), 1),
            "memory_at_most_bytes_a_page": round((most_memory() - before) / len(detector)),
        }


def most_memory() -> int:
    """Return the most memory that this process has had so far, in bytes (Linux)."""
    status = Path("/proc/self/status").read_text()
    [line] = [line for line in status.splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) * 1024


def fill(path: Path, method: Method, lengths: list[int], size: int) -> None:
    chooser = np.random.default_rng(1)
    number = 0
    with closing(SqliteStore(path, method.identity)) as ledger:
        finished(ledger.join("benchmark"))
        for sketches in random_sketches(method, lengths, chooser, size):
            for sketch in sketches:
                record = PageRecord(url(number), "", 300, chooser.bytes(16), sketch)
                [claimed] = finished(ledger.exchange([Claimed(record)], News()))
                ledger.commit(claimed, Committed(claimed.number))
                number += 1
            with ledger.publishing() as news:
                finished(ledger.exchange([], news))


def random_sketches(
    method: Method, lengths: Sequence[int], chooser: np.random.Generator, count: int
) -> Iterator[list[bytes]]:
    """Yield *count* sketches as bytes, in pieces, each as long as one of *lengths*."""
    for start in range(0, count, 10_000):
        wanted = chooser.choice(lengths, min(10_000, count - start)).tolist()
        sketches = map(chooser.bytes, wanted)
        if isinstance(method, DigestMethod):  # whose sketches are sorted
            sketches = (np.sort(np.frombuffer(data, "<u8")).tobytes() for data in sketches)
        yield list(sketches)


def url(number: int) -> str:
    return f"https://docs{number % 10}.example.com/some/section/page-{number}.html?version=7"


if __name__ == "__main__":
    main()
