"""What the ledger costs: reading it at the start, a page of a crawl, and a checkpoint.

    python benchmarks/ledger.py FOLDER [--sizes 1e5 1e6 1e7] [--pages N] [--json FILE]

For each size a ledger of so many pages, with random fingerprints and digests, is made in a
temporary folder, and read as a crawl does at its start. Then N pages are reserved and committed in
an asyncio loop, 200 a second, every fourth of them a revisit, and every second of them followed by
a copy, with a checkpoint each second, written in a thread; how late the loop is, is measured by a
timer of 1 ms, and once more without checkpoints. The CPU time of claims and ledger a page is that
of all threads of the process, above that of the same loop without them, and is compared with that
of extraction, for which FOLDER holds sites/<name>/www, as for sites.py.
"""

import argparse
import asyncio
import json
import random
import resource
import statistics
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from dedup.detector import Detector
from dedup.extraction import EXTRACTORS
from dedup.ledger import Entry, SqliteLedger
from dedup.methods import SimHash
from dedup.page import Page, PageReader

METHOD = SimHash()
A_SECOND = 200
SAMPLE = 300


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sizes", type=float, nargs="+", default=[1e5, 1e6])
    parser.add_argument("--pages", type=int, default=4000)
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    arguments = parser.parse_args()
    extraction = extraction_of_a_page(arguments.folder)
    rows = []
    for size in map(int, arguments.sizes):
        with tempfile.TemporaryDirectory() as folder:
            row = measure(Path(folder) / "pages.sqlite", size, arguments.pages)
        row["share_of_extraction"] = round(row["cpu_ms_a_page"] / extraction, 4)
        rows.append(row)
        print(json.dumps(row), flush=True)
    figures = {"extraction_ms_a_page": round(extraction, 3), "ledgers": rows}
    print(json.dumps(figures, indent=1))
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=1))


def extraction_of_a_page(folder: Path) -> float:
    """Return the CPU time that reading a page takes, in ms: extraction, words and fingerprint."""
    files = sorted(path for path in folder.glob("sites/*/www/**/*.html") if path.is_file())
    chosen = random.Random(1).sample(files, min(SAMPLE, len(files)))
    texts = [path.read_text("utf-8", "replace") for path in chosen]
    reader = PageReader(EXTRACTORS["trafilatura"], METHOD)
    reader.read_html(texts[0])
    start = time.process_time()
    for text in texts:
        reader.read_html(text)
    return (time.process_time() - start) / len(texts) * 1000


def measure(path: Path, size: int, pages: int) -> dict[str, Any]:
    fill(path, size)
    start = time.perf_counter()
    ledger = SqliteLedger(path, METHOD.identity)
    detector = Detector(METHOD, ledger=ledger)
    detector.load()
    loaded = time.perf_counter() - start
    ledger.begin("benchmark")
    with closing(ledger):
        bytes_a_page = detector.nbytes / size
        crawled = asyncio.run(crawl(ledger, detector, size, pages, with_checkpoints=True))
        without = asyncio.run(crawl(ledger, detector, size, pages, with_checkpoints=False))
        idle = asyncio.run(crawl(None, detector, size, pages, with_checkpoints=False))
    return {
        "pages": size,
        "file_bytes_a_page": round(path.stat().st_size / size),
        "read_in_s": round(loaded, 2),
        "memory_bytes_a_page": round(bytes_a_page, 1),
        "late_ms_p99": crawled["late_p99"],
        "late_ms_most": crawled["late_most"],
        "late_ms_most_without_checkpoints": without["late_most"],
        "checkpoint_ms_median": crawled["checkpoint_ms"],
        "cpu_ms_a_page": round((crawled["cpu_s"] - idle["cpu_s"]) / pages * 1e3, 4),
    }


def fill(path: Path, size: int) -> None:
    chooser = np.random.default_rng(1)
    with closing(SqliteLedger(path, METHOD.identity)) as ledger:
        ledger.begin("benchmark")
        for start in range(0, size, 10_000):
            data = chooser.bytes(24 * 10_000)
            for number in range(10_000):
                row = data[24 * number : 24 * number + 24]
                ledger.add(Entry(url(start + number), "", row[:16], row[16:], 300))
            ledger.write(ledger.take())
            ledger.end_writing(written=True)


def url(number: int) -> str:
    return f"https://docs{number % 10}.example.com/some/section/page-{number}.html?version=7"


async def crawl(
    ledger: SqliteLedger | None,
    detector: Detector,
    size: int,
    pages: int,
    *,
    with_checkpoints: bool,
) -> dict[str, float]:
    """Let *pages* pass, judged if there is a *ledger*, and return times."""
    chooser = random.Random(2)
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
            await loop.run_in_executor(thread, ledger.write, ledger.take())
            ledger.end_writing(written=True)
            took.append(time.perf_counter() - begin)

    watcher = asyncio.create_task(watch())
    writer = asyncio.create_task(checkpoints()) if with_checkpoints else None
    start, cpu = time.perf_counter(), cpu_seconds()
    for number in range(pages):
        sketch = chooser.getrandbits(64)
        page = Page(None, None, None, 300, chooser.randbytes(16), sketch)
        key = url(chooser.randrange(size)) if number % 4 == 0 else f"https://new.example/{sketch}"
        if ledger:
            _, claim = detector.reserve(key, page)
            if claim:
                detector.commit(claim)
            if number % 2:  # a copy of it
                detector.reserve(f"{key}?again", page)
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
