"""Crawls with a store that others share, in the tests' own process, over a real Redis server."""

import asyncio
import logging
import re
import signal
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from crawls import Crawl, crawl_paths, path_of, start_process
from redis import Redis
from redis.asyncio import Redis as AsyncRedis
from redis_server import RedisServer, redis_server
from test_feeds import Storing
from texts import article, edited, page
from web import served

from dedup.scrapy_plugin import limits
from dedup.stores import LedgerError
from dedup.stores.log import LEASE
from dedup.stores.redis_log import RedisLog
from dedup.stores.server_url import ServerUrl, open_log
from dedup.stores.sqlite_log import SqliteLog

pytestmark = pytest.mark.slow

PASSWORD = "hush-0f-the-fleet"
BACK = "The store that crawls share is back"
SHORT = {"OUTAGE_TIMEOUT": 1}


@pytest.fixture
def server() -> Iterator[RedisServer]:
    with redis_server(requirepass=PASSWORD) as server:
        yield server


@dataclass
class Fleet:
    """A site whose crawls share the store *index*."""

    pages: dict[str, Any]
    url: str
    index: str

    def crawl(
        self,
        *paths: str,
        before: Callable[[str], object] | None = None,
        reset: bool = False,
        **settings: Any,
    ) -> Crawl:
        """Crawl *paths* in order; *before* is called with each of them before it is judged."""

        def parse(self: Any, response: Any) -> Iterator[Any]:
            if before:
                before(path_of(response.url))
            yield {"url": response.url, "text": response.css("p::text").get(), "dedup": None}

        settings = {
            "DEDUP_INDEX": self.index,
            "DEDUP_MAX_DISTANCE": 8,
            "ITEM_PIPELINES": {Storing: 300},
            **settings,
        }
        return crawl_paths(self.url, *paths, parse=parse, dedup_reset=reset, **settings)


@pytest.fixture
def fleet(server: RedisServer) -> Iterator[Fleet]:
    """Of the pages /0 to /5, which are different, and /0b to /5b, copies of them."""
    pages = {f"/{number}": page(article(number + 4)) for number in range(6)}
    pages |= {f"/{number}b": page(edited(article(number + 4))) for number in range(6)}
    index = f"redis://:{PASSWORD}@127.0.0.1:{server.port}/0?namespace=%(name)s"
    with served(pages) as url:
        yield Fleet(pages, url, index)


def contents_of(server: RedisServer) -> dict[bytes, bytes]:
    with Redis(port=server.port, password=PASSWORD) as client:
        return {key: client.dump(key) for key in sorted(client.keys("*"))}


def join_for_long(place: ServerUrl | Path) -> None:
    """Have another crawl take part in the log at *place*, which is there, and not end."""

    async def join() -> None:
        log = SqliteLog(place) if isinstance(place, Path) else open_log(place)
        log.lease = 600.0
        found = await log.open()
        assert found
        await log.join(b"always", "always", None, found.identity, reset=False)
        await log.close()

    asyncio.run(join())


@pytest.mark.parametrize("is_file", [False, True])
def test_a_later_crawl_knows_what_was_stored_under_whichever_url_though_other_crawls_go_on(
    fleet: Fleet, tmp_path: Path, *, is_file: bool
):
    path = tmp_path / "pages.sqlite"
    if is_file:
        fleet.index = f"sqlite:///{path}?share=1"
    crawls = [fleet.crawl("/3")]
    assert crawls[0].stats["dedup/store/exchanges"] > 0
    join_for_long(path if is_file else ServerUrl.of(fleet.index.replace("%(name)s", "test")))
    first = fleet.crawl("/0", "/1", "/2")
    assert first.stored == ["/0", "/1", "/2"]
    fleet.pages["/0"] = page(edited(article(4)))
    fleet.pages["/2"] = page(article(50))
    later = fleet.crawl("/0", "/1", "/3b", "/2", "/4")
    assert sorted(later.stored) == ["/0", "/2", "/4"]
    assert later.originals == {"/1": "/1", "/3b": "/3"}
    assert (later.dedup_stats["changed"], later.dedup_stats["unchanged"]) == (2, 1)
    # What was replaced does not count any more.
    assert fleet.crawl("/2b").stored == ["/2b"]
    assert [one.messages() for one in (*crawls, first, later)] == [[], [], []]
    last = fleet.crawl(*fleet.pages, DEDUP_CLOSE_UNCHANGED=1)
    assert last.stats["finish_reason"] == "dedup_unchanged"


def test_a_reset_forgets_what_all_have_stored(fleet: Fleet, server: RedisServer):
    """And each spider can have its namespace."""
    fleet.crawl("/0")
    assert fleet.crawl("/0", reset=True).stored == ["/0"]
    assert fleet.crawl("/0b").stored == []
    contents = contents_of(server)
    assert contents
    assert all(key.startswith(b"{dedup:test}:") for key in contents)


def test_a_crawl_whose_store_is_full_at_its_start_does_not_start(fleet: Fleet, server: RedisServer):
    fleet.crawl("/0")
    before = contents_of(server)
    with Redis(port=server.port, password=PASSWORD) as client:
        client.config_set("maxmemory", "1")
    crawled = fleet.crawl("/1")
    assert crawled.stats["finish_reason"] == "dedup_store_down"
    assert "downloader/request_count" not in crawled.stats
    [told] = crawled.messages()
    assert told.startswith("The crawl does not start: ")
    assert contents_of(server) == before


OURS = "redis://:{0}@127.0.0.1:{1}/0"


@pytest.mark.parametrize(
    ("url", "settings", "message"),
    [
        ("redis://:{0}@127.0.0.1:1/0?unheard={0}", {}, "this one cannot be read"),
        ("redis://:{0}@127.0.0.1:1/0", {}, "redis://127.0.0.1:1/0?namespace=dedup cannot be"),
        ("redis://:{0}x@127.0.0.1:{1}/0", {}, "refuses its user or password"),
        (OURS, {"DEDUP_METHOD": "minhash"}, "minhash"),
    ],
)
def test_what_cannot_go_with_a_server_is_told_before_the_spider_is_opened(
    fleet: Fleet,
    server: RedisServer,
    caplog: pytest.LogCaptureFixture,
    url: str,
    settings: Any,
    message: str,
):
    fleet.crawl("/0", DEDUP_INDEX=OURS.format(PASSWORD, server.port))
    caplog.clear()
    url = url.format(PASSWORD, server.port)
    match = re.escape(message)
    with caplog.at_level(logging.DEBUG), pytest.raises(LedgerError, match=match) as refused:
        fleet.crawl("/0", DEDUP_INDEX=url, **settings)
    assert f"The crawl does not start: {refused.value}" in caplog.text
    for other in ("Crawled (", "Dedup report", PASSWORD):
        assert other not in caplog.text


def test_a_reactor_without_asyncio_is_refused_with_the_setting_to_change(fleet: Fleet):
    process = start_process("select", [f"{fleet.url}/0"], DEDUP_INDEX=fleet.index)
    output, errors = process.communicate(timeout=60)
    assert "The crawl does not start: " in errors
    assert "TWISTED_REACTOR" in errors
    assert PASSWORD not in output + errors
    assert "item_scraped_count" not in output


def test_a_page_waits_until_one_that_was_killed_has_no_claims():
    assert limits.WAIT_TIMEOUT > LEASE


def test_feeds_that_are_stored_at_their_end_are_refused(tmp_path: Path, fleet: Fleet):
    feeds = {str(tmp_path / "items.jsonl.gz"): {
        "format": "jsonlines",
        "postprocessing": ["scrapy.extensions.postprocessing.GzipPlugin"],
    }}  # fmt: skip
    refused = fleet.crawl("/0", FEEDS=feeds)
    assert refused.stats["finish_reason"] == "dedup_feeds_held_back"
    [told] = refused.messages(logging.ERROR)
    assert "The crawl does not start: " in told
    assert "commit=passed" in told
    passed = fleet.crawl("/0", DEDUP_INDEX=f"{fleet.index}&commit=passed", FEEDS=feeds)
    assert passed.stored == ["/0"]
    assert fleet.crawl("/0b").stored == []


@pytest.mark.parametrize(
    "settings", [{"DEDUP_ITEM_FIELD": "text"}, {"DEDUP_FOLLOW_DUPLICATES": False}]
)
def test_items_and_links_are_judged_among_those_of_all(fleet: Fleet, settings: Any):
    fleet.crawl("/0", "/1", **settings)
    assert fleet.crawl("/0b", "/1", "/2", **settings).stored == ["/2"]


class Outage:
    """Kills the server before one page, and starts it again before another."""

    def __init__(self, server: RedisServer, first: str, last: str = "") -> None:
        self._server, self._first, self._last = server, first, last

    def __call__(self, path: str) -> None:
        if path == self._first:
            self._server.kill()
        if path == self._last:
            self._server.start()


def test_items_are_kept_while_the_store_is_down_and_entered_when_it_is_back(
    fleet: Fleet, server: RedisServer
):
    outage = Outage(server, "/2", "/4")
    paths = ["/0", "/1", "/2", "/0b", "/3", "/4"]
    # The server of a busy machine gets the claim of /0 in time.
    slowly = {"DOWNLOAD_DELAY": 0.2, "DOWNLOAD_DELAY_JITTER": 0}
    crawled = fleet.crawl(*paths, before=outage, DEDUP_ACTION="mark", **slowly)
    assert crawled.stored == paths
    verdicts = [item["dedup"]["verdict"] for item in crawled.items]
    marks = dict(zip(paths, verdicts, strict=True))
    unchecked = {path for path, verdict in marks.items() if verdict == "unchecked"}
    # When the server dies, the item of /1 may still be on its way to it.
    assert {"/2", "/3"} <= unchecked <= {"/1", "/2", "/3", "/4"}
    assert marks["/0b"] == "near-duplicate", "what is known is decided as ever"
    assert crawled.dedup_stats["skipped/unchecked"] == len(unchecked)
    assert crawled.dedup_stats["store/outages"] == 1
    gone, back = crawled.messages()
    assert "cannot be reached" in gone
    assert "items are kept meanwhile" in gone
    assert back == BACK
    assert fleet.crawl(*(f"/{n}b" for n in range(6))).stored == ["/5b"]


def test_a_store_that_is_down_from_the_first_page_on_is_told_later(
    fleet: Fleet, server: RedisServer
):
    fleet.crawl("/0")
    fleet.pages["/empty"] = "<html><body></body></html>"
    crawled = fleet.crawl("/0b", "/empty", "/1", "/2", before=Outage(server, "/0b", "/2"))
    assert crawled.stored == ["/empty", "/1", "/2"]
    assert crawled.dedup_stats["near_duplicates"] == crawled.dedup_stats["skipped/empty"] == 1
    assert "errors" not in crawled.dedup_stats
    assert fleet.crawl("/1b", "/2b").stored == []


def test_the_crawl_stops_when_the_store_is_down_and_keeps_what_is_under_way(
    fleet: Fleet, server: RedisServer
):
    paths = ["/0", "/1", "/2", "/3", "/4"]
    index = f"{fleet.index}&store_down=stop"
    crawled = fleet.crawl(*paths, before=Outage(server, "/1"), DEDUP_INDEX=index, limits=SHORT)
    assert crawled.stats["finish_reason"] == "dedup_store_down"
    assert crawled.stored[:2] == ["/0", "/1"]
    assert len(crawled.items) == crawled.stats["response_received_count"]
    [left] = [message for message in crawled.messages() if "not in the ledger" in message]
    assert int(left.split()[0]) >= 1
    server.start()  # as the fixture ends it


def test_a_server_that_hangs_neither_costs_items_nor_holds_up_the_end(
    fleet: Fleet, server: RedisServer, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(RedisLog.__init__, "__defaults__", (2.0,))  # the seconds to wait for it

    def hang(path: str) -> None:
        if path == "/2":
            server.signal(signal.SIGSTOP)

    paths = [f"/{number}" for number in range(6)]
    begin = time.monotonic()
    crawled = fleet.crawl(*paths, before=hang, limits=SHORT)
    assert crawled.stored == paths
    assert time.monotonic() - begin < 60
    # On a busy machine, the first ones are not entered yet when it hangs.
    assert 4 <= crawled.dedup_stats["skipped/unchecked"] <= 6
    assert any("did not answer within 2 seconds" in message for message in crawled.messages())
    assert any("pages are not" in m for m in crawled.messages())
    server.signal(signal.SIGCONT)


def test_nobody_waits_for_the_pages_of_a_crawl_that_stores_nothing(
    fleet: Fleet, server: RedisServer
):
    async def is_there(part: str) -> bool:
        async with AsyncRedis(port=server.port, password=PASSWORD) as client:
            return bool(await client.exists(f"{{dedup:test}}:{part}"))

    async def parse(self: Any, response: Any) -> AsyncIterator[Any]:
        if response.url.endswith("/1"):
            while not await is_there("log"):
                await asyncio.sleep(0.1)
            with suppress(TimeoutError):
                async with asyncio.timeout(15):
                    while await is_there("open"):
                        await asyncio.sleep(0.1)
            was_open.append(await is_there("open"))
        yield {"url": response.url}

    was_open: list[bool] = []
    options = {"parse": parse, "keep_items": False, "DEDUP_INDEX": fleet.index}
    crawl_paths(fleet.url, "/0", "/1", **options)
    assert was_open == [False]
    assert fleet.crawl("/0b").stored == ["/0b"]


def test_text_that_another_crawl_stores_meanwhile_is_not_called_lost(fleet: Fleet):
    settings = {"DEDUP_INDEX": fleet.index, "DEDUP_MAX_DISTANCE": 8}

    def parse(self: Any, response: Any) -> Iterator[Any]:
        if response.url.endswith("/0b"):
            other = start_process("none", [f"{fleet.url}/0"], **settings)
            assert '"item_scraped_count": 1' in other.communicate(timeout=60)[0]
        yield {"url": response.url}

    crawled = crawl_paths(fleet.url, "/1", "/0b", parse=parse, **settings)
    assert crawled.originals == {"/0b": "/0"}
    # Of near-duplicates, it is not known.
    lost = crawled.counts("lost/")
    assert (lost["pages"], lost["pages_of_earlier_crawls"]) == (0, 1)


def test_what_others_use_is_not_reset(fleet: Fleet):
    fleet.crawl("/1")
    join_for_long(ServerUrl.of(fleet.index.replace("%(name)s", "test")))
    crawled = fleet.crawl("/1b", reset=True)
    assert crawled.originals == {"/1b": "/1"}
    [told] = crawled.messages()
    assert told.endswith("is not reset: other crawls use it")
