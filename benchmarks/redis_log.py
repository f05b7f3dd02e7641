"""What a log in Redis costs the server: CPU for a page, bytes for a page.

    python benchmarks/redis_log.py URL [--sizes 1e4 1e5 1e6] [--urls FILE]

Logs of so many stored pages are made in the namespace `benchmark` of the server, which is emptied
before and after. The pages have fingerprints of simhash, and the URLs of FILE, one on each line, in
turn, or made ones. For each size: the CPU time of the server's main thread for a page (INFO) if
pages are claimed one and 16 a call, and published 16 and 1000 a call; the bytes of all keys a page;
how long the client takes to read the log from its start, and 1000 records from all over it.
"""

import argparse
import asyncio
import random
import secrets
import time
from itertools import count, cycle
from pathlib import Path
from typing import Any

from redis.asyncio import Redis

from dedup.evidence import SIZE_OF_EVIDENCE
from dedup.record import Claimed, Committed, PageRecord
from dedup.stores.shared.entries import to_bytes
from dedup.stores.shared.log import Entry, Member, Request
from dedup.stores.shared.redis_log import RedisLog
from dedup.stores.shared.redis_url import parse_redis_url

IDENTITY = {"method": "simhash"}
CALLS = 1000


class Crawler:
    """One process that claims and commits pages of its own."""

    def __init__(self, url: str, urls: list[str]) -> None:
        address = parse_redis_url(f"{url}?namespace=benchmark")
        self.log = RedisLog(f"{url}?namespace=benchmark")
        self.client = Redis(**address.arguments, protocol=2)
        self._owner = secrets.token_bytes(8)
        self._urls = cycle(urls)
        self._turns, self._serials = count(1), count(1)
        self._run = self._seen = 0

    async def begin(self) -> None:
        for key in await self.client.keys("{dedup:benchmark}:*"):
            await self.client.delete(key)
        await self.log.open()
        self._run = (await self.log.join(Member(self._owner, "b"), IDENTITY, reset=False)).run

    async def end(self) -> None:
        for key in await self.client.keys("{dedup:benchmark}:*"):
            await self.client.unlink(key)
        await self.client.aclose()
        await self.log.close()

    def _record(self) -> PageRecord:
        return PageRecord(next(self._urls), "", 400, random.randbytes(16), random.randbytes(8),
                          bytes(SIZE_OF_EVIDENCE))  # fmt: skip

    async def exchange(self, claims: int = 0, commits: Any = ()) -> list[tuple[int, int]]:
        named = [(next(self._serials), Claimed(self._record())) for _ in range(claims)]
        request = Request(
            self._owner, next(self._turns), self._run, self._seen, commits=commits, claims=named
        )
        answer = await self.log.exchange(request)
        if answer.entries:
            self._seen = answer.entries[-1].position
        return [(number, serial) for number, (serial, _) in zip(answer.made, named, strict=True)]

    async def fill(self, pages: int) -> None:
        """Have so many stored pages: entries as exchanges write them, but quickly."""
        position = 0
        while position < 2 * pages:
            entries = []
            for number in range(position + 1, min(position + 1000, 2 * pages), 2):
                whose = (self._owner, next(self._serials), self._run, 1.7e9)
                entries.append(to_bytes(Entry(0, *whose, Claimed(self._record()))))
                entries.append(to_bytes(Entry(0, *whose, Committed(number))))
            position = await self.client.rpush("{dedup:benchmark}:log", *entries)
        self._seen = position

    async def cpu(self) -> float:
        """What the server's main thread has used so far, in microseconds."""
        info = await self.client.info("cpu")
        user, system = info["used_cpu_user_main_thread"], info["used_cpu_sys_main_thread"]
        return 1e6 * (user + system)

    async def bytes_taken(self) -> int:
        keys = await self.client.keys("{dedup:benchmark}:*")
        return sum([await self.client.memory_usage(key, samples=0) for key in keys])


async def measure(crawler: Crawler, size: int) -> None:
    await crawler.fill(size)
    taken = await crawler.bytes_taken() / size
    figures = []
    for at_once in (1, 16):
        before, made = await crawler.cpu(), []
        for _ in range(CALLS):
            made += await crawler.exchange(at_once)
        figures.append((await crawler.cpu() - before) / len(made))
        publish = 16 if at_once == 1 else 1000
        before = await crawler.cpu()
        for start in range(0, len(made), publish):
            await crawler.exchange(commits=made[start : start + publish])
        figures.append((await crawler.cpu() - before) / len(made))
    one, publish_16, sixteen, publish_1000 = figures
    before, start, entries = await crawler.cpu(), time.perf_counter(), 0
    async for piece in crawler.log.snapshot():
        entries += len(piece)
    read, read_cpu = time.perf_counter() - start, (await crawler.cpu() - before) / entries
    numbers = random.sample(range(1, entries), 1000)
    before, start = await crawler.cpu(), time.perf_counter()
    await crawler.log.pages(numbers)
    pages, pages_cpu = time.perf_counter() - start, (await crawler.cpu() - before) / len(numbers)
    print(
        f"{size:,} pages, {taken:.0f} bytes each. Server, µs a page: claimed one a call {one:.1f}, "
        f"16 a call {sixteen:.1f}; published 16 a call {publish_16:.1f}, 1000 {publish_1000:.1f}. "
        f"Read from the start: {read:.1f} s, server {read_cpu:.2f} µs an entry; 1000 records: "
        f"{1000 * pages:.0f} ms, server {pages_cpu:.1f} µs each",
        flush=True,
    )


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("url")
    parser.add_argument("--sizes", nargs="+", type=float, default=[1e4, 1e5, 1e6])
    parser.add_argument("--urls", type=Path)
    arguments = parser.parse_args()
    urls = [f"https://www.example.org/news/2024/{n:06}/a-title" for n in range(100_000)]
    if arguments.urls:
        urls = arguments.urls.read_text("utf-8").splitlines()
    for size in arguments.sizes:
        crawler = Crawler(arguments.url, urls)
        await crawler.begin()
        try:
            await measure(crawler, int(size))
        finally:
            await crawler.end()


if __name__ == "__main__":
    asyncio.run(main())
