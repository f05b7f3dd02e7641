"""What fleets cost: pages a second, CPU and bytes of the server, CPU and bytes of each process.

Pages are new ones: random digests and sketches of the size that the method has, evidence, and URLs
of a usual length. A log is filled with so many of them first. Then processes with 16 pages in
flight each reserve and commit more, all at once, and publish each second. CPU times are those of
processes, which include system calls; that of SQLite is the time of the threads in which all SQL
runs. Where others use the machine, pages a second say little, and CPU times still depend on what
shares the caches.
"""

import argparse
import asyncio
import multiprocessing
import os
import random
import threading
import time
from contextlib import suppress
from itertools import count
from pathlib import Path
from secrets import token_bytes
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from conformance import SERVERS
from crawl import resident_bytes
from crawling_process import IDENTITY, log_of

from dedup.detector import Detector
from dedup.evidence import SIZE_OF_EVIDENCE
from dedup.methods import SimHash, Verified
from dedup.methods.base import Method
from dedup.record import Claimed, Committed, PageRecord
from dedup.stores import HistoryChangedError, StoreDownError
from dedup.stores.log import Log, Request
from dedup.stores.shared import SharedStore
from dedup.text import Document

METHODS: dict[str, type[Method]] = {"simhash": SimHash, "verified": Verified}
_FILLED_AT_ONCE = 1000
_TICKS = os.sysconf("SC_CLK_TCK")


class Pages:
    """Makes records of new pages."""

    def __init__(self, method: Method) -> None:
        words = [f"word{number}" for number in range(400)]
        sketch = method.sketch(Document(" ".join(words), words))
        assert sketch is not None
        self._size = len(method.to_bytes(sketch))

    def __call__(self) -> PageRecord:
        bits = random.randbytes
        number = random.getrandbits(40)
        key = f"https://www.example.org/news/2024/{number:013}/a-title-of-some-words"
        return PageRecord(key, "", 400, bits(16), bits(self._size), bits(SIZE_OF_EVIDENCE))


class Server:
    """What a server of logs uses: CPU time in seconds, and bytes."""

    def __init__(self, kind: str, folder: Path) -> None:
        self.kind = kind
        self.logs = SERVERS[kind](folder)

    def cpu(self) -> float:
        if self.kind == "redis":
            return cpu_of(self.logs._server.pid)
        if self.kind == "postgresql":
            first, *others = self.logs._server.processes()
            return cpu_of(first, ended=True) + sum(map(cpu_of, others))
        return cpu_of_sql()  # of this process: the others tell theirs

    def bytes(self, name: str) -> int:
        if self.kind == "redis":
            with self.logs._server.client(password=self.logs.password) as client:
                return int(client.info("memory")["used_memory"])
        if self.kind == "postgresql":
            [[size]] = self.logs._server.run(
                "SELECT coalesce(sum(pg_total_relation_size(oid)), 0) FROM pg_class "
                "WHERE relkind = 'r' AND relnamespace = to_regnamespace('dedup')",
                database=self.logs._database,
            )
            return int(size)
        return sum(path.stat().st_size for path in self.logs.folder.glob(f"{name}.sqlite*"))


def cpu_of(process: int, *, ended: bool = False) -> float:
    """Return the CPU time of a process, and of its children that have *ended*; 0 if it is gone."""
    with suppress(FileNotFoundError, ProcessLookupError):
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11 : 15 if ended else 13])) / _TICKS
    return 0.0


def cpu_of_sql() -> float:
    """Return the CPU time of the threads of this process in which SQLite runs."""
    return sum(
        time.clock_gettime(time.pthread_getcpuclockid(thread.ident))
        for thread in threading.enumerate()
        if thread.ident and thread.name.startswith("dedup-ledger")
    )


class Process:
    """A process of a fleet."""

    def __init__(self, url: str, method: Method) -> None:
        self.log = log_of(url, 60.0)
        self.store = SharedStore(self.log, IDENTITY)
        self.detector = Detector(method, store=self.store)
        self.pages = 0

    async def take_part(self) -> None:
        await self.store.open()
        await self.detector.load()
        await self.store.join("speed")
        await self.publish()

    async def publish(self) -> None:
        try:
            with self.store.publishing() as news:
                await self.detector.follower.exchange(news)
        except (StoreDownError, HistoryChangedError):
            await asyncio.sleep(0.1)

    async def crawl(self, seconds: float, new_page: Pages, in_flight: int) -> None:
        """Have pages reserved and committed for so long, some of them *in_flight* at a time."""
        end = time.monotonic() + seconds

        async def store_pages() -> None:
            while time.monotonic() < end:
                _, claim, _ = await self.detector.reserve(new_page())
                assert claim is not None
                await asyncio.sleep(0)
                self.detector.commit(claim)
                self.pages += 1

        async with asyncio.TaskGroup() as tasks:
            for _ in range(in_flight):
                tasks.create_task(store_pages())
            while time.monotonic() < end:
                await asyncio.sleep(1)
                await self.publish()
        await self.publish()

    async def leave(self) -> None:
        await self.store.leave("finished", None)
        await self.log.close()


class Share(NamedTuple):
    """What one process of several did: pages, CPU time in seconds, and of that in SQL."""

    pages: int
    cpu: float
    sql: float


def crawl(url: str, method: str, seconds: float, in_flight: int, start: Any, results: Any) -> None:
    """Run in a process: take part, crawl when all do, and tell what it took."""

    async def run() -> None:
        process = Process(url, METHODS[method]())
        await process.take_part()
        new_page = Pages(METHODS[method]())
        await asyncio.to_thread(start.wait)
        cpu, sql = time.process_time(), cpu_of_sql()
        await process.crawl(seconds, new_page, in_flight)
        results.put(Share(process.pages, time.process_time() - cpu, cpu_of_sql() - sql))
        await process.leave()

    asyncio.run(run())


async def fill(log: Log, pages: int, new_page: Pages) -> None:
    """Have so many stored pages, by exchanges of many."""
    owner, serials = token_bytes(8), count(1)
    run = (await log.join(owner, "speed", None, IDENTITY, reset=False)).run
    seen, made, left = 0, list[tuple[int, Committed]](), pages
    for turn in count(1):
        named = [(next(serials), Claimed(new_page())) for _ in range(min(left, _FILLED_AT_ONCE))]
        answer = await log.exchange(Request(owner, turn, run, seen, commits=made, claims=named))
        left -= len(named)
        seen = answer.entries[-1].position
        made = [(serial, Committed(n)) for n, (serial, _) in zip(answer.made, named, strict=True)]
        if not named:
            break
    await log.leave(owner, "finished", None, ())


async def measure(
    server: Server, name: str, method: str, pages: int, arguments: argparse.Namespace
) -> None:
    """Fill a log, crawl with ever more processes, and print what each took."""
    url, new_page = server.logs.url(name), Pages(METHODS[method]())
    log = log_of(url, 60.0)
    await log.open()
    empty = server.bytes(name)
    await fill(log, pages, new_page)
    taken = (server.bytes(name) - empty) / pages
    follower, before = Process(url, METHODS[method]()), resident_bytes()
    cpu, start = time.process_time(), time.monotonic()
    await follower.take_part()
    assert len(follower.detector) == pages
    joined, seconds = time.process_time() - cpu, time.monotonic() - start
    print(
        f"\n{server.kind}, {method}, {pages:,} pages: {taken:.0f} bytes a page on the server, "
        f"{follower.detector.nbytes / pages:.0f} in a process (grown by "
        f"{(resident_bytes() - before) / pages:.0f}); "
        f"joined in {joined:.1f} s of CPU ({seconds:.1f} s)\n\n"
        "| processes | pages a second | server, µs a page | process, µs a page |\n"
        "|---|---|---|---|",
        flush=True,
    )
    for processes in arguments.processes:
        shares, of_server = await asyncio.to_thread(
            run_together, server, url, method, processes, arguments
        )
        stored = sum(share.pages for share in shares)
        of_server += sum(share.sql for share in shares)
        of_processes = sum(share.cpu - share.sql for share in shares)
        print(
            f"| {processes} | {stored / arguments.seconds:,.0f} | {1e6 * of_server / stored:.0f} "
            f"| {1e6 * of_processes / stored:.0f} |",
            flush=True,
        )
    await follower.leave()
    await log.close()


def run_together(
    server: Server, url: str, method: str, processes: int, options: argparse.Namespace
) -> tuple[list[Share], float]:
    """Have processes crawl at the same time; return what they did, and the server's CPU time."""
    context = multiprocessing.get_context("spawn")
    start, results = context.Barrier(processes + 1), context.Queue()
    arguments = (url, method, options.seconds, options.in_flight, start, results)
    running = [context.Process(target=crawl, args=arguments) for _ in range(processes)]
    for process in running:
        process.start()
    start.wait(600)
    cpu = server.cpu()
    shares = [results.get(timeout=600) for _ in running]
    of_server = server.cpu() - cpu
    for process in running:
        process.join()
    return shares, of_server


def speed(arguments: argparse.Namespace) -> int:
    """Measure one store; prints tables in Markdown."""
    with TemporaryDirectory() as folder:
        server = Server(arguments.store, Path(folder))
        try:
            for method in arguments.methods:
                for pages in map(int, arguments.pages):
                    name = f"{method}{pages}"
                    asyncio.run(measure(server, name, method, pages, arguments))
        finally:
            server.logs.stop()
    return 0
