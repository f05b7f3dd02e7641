"""What the ledger costs: reading it at the start, a page of a crawl, and a checkpoint.

    python benchmarks/ledger.py FOLDER [--method simhash verified | --method all]
        [--sizes 1e5 1e6 1e7] [--pages N] [--json FILE]

For each method and size a ledger of so many pages, with random digests, and random sketches of the
lengths that pages of FOLDER have, is made in a temporary folder. A process of its own reads it, as
a crawl does at its start, and tells how long that takes, what the index takes in memory, by how
much the process grew at most, and how long the index is asked for a page that is new or a copy.

Then N pages (0: none) are reserved and committed in an asyncio loop, 200 a second, every fourth of
them a revisit, and every second of them followed by a copy, with a checkpoint each second, written
in a thread; how late the loop is, is measured by a timer of 1 ms, and once more without
checkpoints. The CPU time of claims and ledger a page is that of all threads of the process, above
that of the same loop without them, and is compared with that of extraction, for which FOLDER holds
sites/<name>/www, as for sites.py.
"""

import argparse
import asyncio
import json
import multiprocessing
import random
import resource
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import closing
from itertools import chain
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

A_SECOND = 200
SAMPLE = 300
QUERIES = 2000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--method", nargs="+", default=["simhash"])
    parser.add_argument("--sizes", type=float, nargs="+", default=[1e5, 1e6])
    parser.add_argument("--pages", type=int, default=4000)
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    arguments = parser.parse_args()
    rows = []
    for name in METHODS if arguments.method == ["all"] else arguments.method:
        extraction, lengths = read_sample(arguments.folder, METHODS[name]())
        for size in map(int, arguments.sizes):
            with tempfile.TemporaryDirectory() as folder:
                row = measure(Path(folder) / "pages.sqlite", name, lengths, size, arguments.pages)
            if arguments.pages:
                row["extraction_ms_a_page"] = round(extraction, 3)
                row["share_of_extraction"] = round(row["cpu_ms_a_page"] / extraction, 4)
            rows.append(row)
            print(json.dumps(row), flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1))


def read_sample(folder: Path, method: Method) -> tuple[float, list[int]]:
    """Return the CPU time of a page, in ms: extraction, words, sketch; and lengths of sketches."""
    files = sorted(path for path in folder.glob("sites/*/www/**/*.html") if path.is_file())
    chosen = random.Random(1).sample(files, min(SAMPLE, len(files)))
    texts = [path.read_text("utf-8", "replace") for path in chosen]
    reader = PageReader(EXTRACTORS["trafilatura"], method)
    reader.read_html(texts[0])
    start = time.process_time()
    sketches = [reader.read_html(text).record.sketch for text in texts]
    spent = (time.process_time() - start) / len(texts) * 1000
    return spent, [len(sketch) for sketch in sketches if sketch is not None]


def measure(path: Path, name: str, lengths: list[int], size: int, pages: int) -> dict[str, Any]:
    method = METHODS[name]()
    fill(path, method, lengths, size)
    row = {"method": name, "pages": size, "file_bytes_a_page": round(path.stat().st_size / size)}
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as other:
        row |= other.submit(read_at_the_start, path, name, lengths).result()
    if not pages:
        return row
    ledger, detector = loaded(path, method)
    finished(ledger.join("benchmark"))
    with closing(ledger):
        crawls = [(ledger, True), (ledger, False), (None, False)]
        crawled, without, idle = (
            asyncio.run(
                crawl(used, detector, method, lengths, size, pages, with_checkpoints=writes)
            )
            for used, writes in crawls
        )
    return row | {
        "late_ms_p99": crawled["late_p99"],
        "late_ms_most": crawled["late_most"],
        "late_ms_most_without_checkpoints": without["late_most"],
        "checkpoint_ms_median": crawled["checkpoint_ms"],
        "cpu_ms_a_page": round((crawled["cpu_s"] - idle["cpu_s"]) / pages * 1e3, 4),
    }


def read_at_the_start(path: Path, name: str, lengths: list[int]) -> dict[str, Any]:
    method = METHODS[name]()
    before = most_memory()
    start, cpu = time.perf_counter(), time.process_time()
    ledger, detector = loaded(path, method)
    read_in, cpu = time.perf_counter() - start, time.process_time() - cpu
    grown = most_memory() - before
    with closing(ledger):
        part = finished(ledger.since(0))
        assert part
        pick = random.Random(3)
        known = pick.choices(part.sketches, k=QUERIES)
        new = next(random_sketches(method, lengths, np.random.default_rng(3), QUERIES))
        return {
            "read_in_s": round(read_in, 2),
            "read_in_cpu_s": round(cpu, 2),
            "memory_bytes_a_page": round(detector.nbytes / len(detector), 1),
            "memory_at_most_bytes_a_page": round(grown / len(detector)),
            "query_new_us": query_us(detector, method, new),
            "query_copy_us": query_us(detector, method, known),
        }


def most_memory() -> int:
    """Return the most memory that this process has had so far, in bytes (Linux)."""
    status = Path("/proc/self/status").read_text()
    [line] = [line for line in status.splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) * 1024


def loaded(path: Path, method: Method) -> tuple[SqliteStore, Detector]:
    ledger = SqliteStore(path, method.identity)
    detector = Detector(method, store=ledger)
    finished(detector.load())
    return ledger, detector


def query_us(detector: Detector, method: Method, sketches: Sequence[bytes]) -> float:
    """Return how long the index is asked for one of *sketches*: the median, in µs."""
    [scope] = detector._view._scopes.values()
    took = []
    for sketch in map(method.from_bytes, sketches):
        start = time.perf_counter()
        scope.index.query(sketch)
        took.append(time.perf_counter() - start)
    return round(statistics.median(took) * 1e6, 1)


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
            finished(ledger.exchange([], ledger.take_news()))
            ledger.end_exchange(published=True)


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


async def crawl(
    ledger: SqliteStore | None,
    detector: Detector,
    method: Method,
    lengths: list[int],
    size: int,
    pages: int,
    *,
    with_checkpoints: bool,
) -> dict[str, float]:
    """Let *pages* pass, judged if there is a *ledger*, and return times."""
    chooser = random.Random(2)
    pieces = random_sketches(method, lengths, np.random.default_rng(2), pages)
    sketches = list(chain.from_iterable(pieces))
    late: list[float] = []
    took: list[float] = []
    thread = ThreadPoolExecutor(1)
    loop = asyncio.get_running_loop()
    done = asyncio.Event()

    async def watch() -> None:
        while not done.is_set():
            before = loop.time()
            await asyncio.sleep(0.001)
            late.append(loop.time() - before - 0.001)

    async def checkpoints() -> None:
        while not done.is_set():
            await asyncio.sleep(1)
            begin = time.perf_counter()
            assert ledger
            exchange = ledger.exchange([], ledger.take_news())
            await loop.run_in_executor(thread, finished, exchange)
            ledger.end_exchange(published=True)
            took.append(time.perf_counter() - begin)

    watcher = asyncio.create_task(watch())
    writer = asyncio.create_task(checkpoints()) if with_checkpoints else None
    start, cpu = time.perf_counter(), cpu_seconds()
    for number in range(pages):
        digest = chooser.randbytes(16)
        new = f"https://new.example/{digest.hex()}"
        key = new if number % 4 else url(chooser.randrange(size))
        record = PageRecord(key, "", 300, digest, sketches[number])
        if ledger:
            _, claim, _ = await detector.reserve(record)
            if claim:
                detector.commit(claim)
            if number % 2:  # a copy of it
                await detector.reserve(record.under(f"{key}?again"))
        await asyncio.sleep(max(0, start + (number + 1) / A_SECOND - time.perf_counter()))
    spent = cpu_seconds() - cpu
    done.set()
    await watcher
    if writer:
        await writer
    thread.shutdown()
    late.sort()
    return {
        "cpu_s": spent,
        "late_p99": round(late[int(0.99 * len(late))] * 1000, 2),
        "late_most": round(late[-1] * 1000, 2),
        "checkpoint_ms": round(statistics.median(took) * 1000, 2) if took else 0.0,
    }


def cpu_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    main()
