"""Crawls with a store that others share, in the tests' own process, over a real Redis server."""

import asyncio
import json
import logging
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from pathlib import Path
from subprocess import run
from typing import Any

import pytest
from crawls import ADDON, Crawl, crawl, logged, spider_over
from redis import Redis
from redis.asyncio import Redis as AsyncRedis
from redis_server import RedisServer, redis_server
from scrapy import Request
from scrapy.crawler import AsyncCrawlerRunner
from texts import article, edited, page, replaced
from web import served

from dedup.scrapy_plugin import limits
from dedup.stores.log import LEASE, Member
from dedup.stores.server_url import ServerUrl, open_log
from dedup.stores.sqlite_log import SqliteLog

pytestmark = pytest.mark.slow

PASSWORD = "hush-0f-the-fleet"
BACK = "The store that crawls share is back"


class Storage:
    """A pipeline that stores what it gets, or seems to."""

    def process_item(self, item: Any) -> Any:
        return item


@pytest.fixture
def server() -> Iterator[RedisServer]:
    with redis_server(requirepass=PASSWORD) as server:
        yield server


@pytest.fixture
def index(server: RedisServer) -> str:
    return f"redis://:{PASSWORD}@127.0.0.1:{server.port}/0?namespace=%(name)s"


@pytest.fixture
def pages() -> dict[str, Any]:
    """/0 to /5 are different, /0b to /5b copies of them."""
    pages = {f"/{number}": page(article(number + 1)) for number in range(6)}
    return pages | {f"/{number}b": page(edited(article(number + 1))) for number in range(6)}


@pytest.fixture
def site(pages: dict[str, Any]) -> Iterator[str]:
    with served(pages) as url:
        yield url


def fleet_crawl(
    site: str,
    *paths: str,
    before: Callable[[str], object] | None = None,
    reset: bool = False,
    **settings: Any,
) -> Crawl:
    """Crawl *paths* in their order; *before* is called with each path before its item is judged."""

    def parse(self: Any, response: Any) -> Iterator[Any]:
        if before:
            before(response.url.removeprefix(site))
        yield {"url": response.url, "text": response.css("p::text").get(), "dedup": None}

    spider = spider_over(*(site + path for path in paths), parse=parse, dedup_reset=reset)
    settings = {"DEDUP_MAX_DISTANCE": 8, "ITEM_PIPELINES": {Storage: 300}, **settings}
    return crawl(spider, **settings)


def stored(crawl: Crawl, site: str) -> list[str]:
    return [item["url"].removeprefix(site) for item in crawl.items]


def contents_of(server: RedisServer) -> dict[bytes, bytes]:
    with Redis(port=server.port, password=PASSWORD) as client:
        return {key: client.dump(key) for key in sorted(client.keys("*"))}


def test_a_later_crawl_knows_what_was_stored_under_whichever_url(
    site: str, index: str, pages: dict[str, Any]
):
    first = fleet_crawl(site, "/0", "/1", "/2", DEDUP_INDEX=index)
    assert stored(first, site) == ["/0", "/1", "/2"]
    pages["/2"] = page(article(50))
    later = fleet_crawl(site, "/0", "/1b", "/2", "/3", DEDUP_INDEX=index)
    assert sorted(stored(later, site)) == ["/2", "/3"]
    assert later.dedup_stats["unchanged"] == later.dedup_stats["near_duplicates"] == 1
    assert later.dedup_stats["changed"] == 1
    # What was replaced does not count any more.
    last = fleet_crawl(site, "/2b", DEDUP_INDEX=index)
    assert stored(last, site) == ["/2b"]
    assert [one.messages() for one in (first, later, last)] == [[], [], []]


def join_for_long(place: ServerUrl | Path) -> None:
    """Have another crawl take part in the log at *place*, which is there, and not end."""

    async def join() -> None:
        log = SqliteLog(place) if isinstance(place, Path) else open_log(place)
        log.lease = 600.0
        found = await log.open()
        assert found
        await log.join(Member(b"always", "always"), found.identity, reset=False)
        await log.close()

    asyncio.run(join())


@pytest.mark.parametrize("is_file", [False, True])
def test_what_was_stored_before_is_unchanged_or_changed_though_other_crawls_go_on(
    site: str, index: str, tmp_path: Path, pages: dict[str, Any], *, is_file: bool
):
    path = tmp_path / "pages.sqlite"
    settings: dict[str, Any] = {"DEDUP_INDEX": index}
    if is_file:
        settings = {"DEDUP_INDEX": f"sqlite:///{path}?share=1"}
    fleet_crawl(site, "/3", **settings)
    join_for_long(path if is_file else ServerUrl.of(index.replace("%(name)s", "test")))
    first = fleet_crawl(site, "/0", "/1", "/2", **settings)
    assert stored(first, site) == ["/0", "/1", "/2"]
    pages["/0"] = page(edited(article(1)))
    later = fleet_crawl(site, "/0", "/1", "/2", **settings)
    assert stored(later, site) == ["/0"]
    assert (later.dedup_stats["changed"], later.dedup_stats["unchanged"]) == (1, 2)
    last = fleet_crawl(site, *pages, DEDUP_CLOSE_UNCHANGED=1, **settings)
    assert last.stats["finish_reason"] == "dedup_unchanged"


def test_a_reset_forgets_what_all_have_stored(site: str, index: str):
    fleet_crawl(site, "/0", DEDUP_INDEX=index)
    assert stored(fleet_crawl(site, "/0", DEDUP_INDEX=index, reset=True), site) == ["/0"]
    assert stored(fleet_crawl(site, "/0b", DEDUP_INDEX=index), site) == []


def test_a_crawl_without_items_changes_nothing(site: str, server: RedisServer, index: str):
    fleet_crawl(site, "/none", DEDUP_INDEX=index)
    assert contents_of(server) == {}
    fleet_crawl(site, "/0", DEDUP_INDEX=index)
    before = contents_of(server)
    fleet_crawl(site, "/none", DEDUP_INDEX=index, reset=True)
    assert contents_of(server) == before


def test_each_spider_can_have_its_namespace(site: str, server: RedisServer, index: str):
    fleet_crawl(site, "/0", DEDUP_INDEX=index)
    keys = list(contents_of(server))
    assert keys
    assert all(key.startswith(b"{dedup:test}:") for key in keys)


def refused(caplog: pytest.LogCaptureFixture, site: str, **settings: Any) -> str:
    """Return why a crawl does not start."""
    told = ""
    with caplog.at_level(logging.DEBUG):
        try:
            fleet_crawl(site, "/0", **settings)
        except ValueError as error:
            told = str(error)
    assert PASSWORD not in caplog.text
    messages = [record.getMessage() for record in caplog.records]
    [refusal] = [m for m in messages if m.startswith("The crawl does not start: ")]
    assert told
    assert refusal.endswith(told)
    assert not [m for m in messages if m.startswith("Dedup report")]
    return refusal


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("redis://:{0}@127.0.0.1:{1}/0?unheard={0}", "this one cannot be read"),
        ("mongodb://me:{0}@host/0", "got the URL 'mongodb://host/0'"),
        ("redis://:{0}@127.0.0.1:{1}/0?namespace=%(nme)s", "there is no %(nme)s"),
        ("redis://:{0}/@127.0.0.1:{1}/0", "this one cannot be read"),
    ],
)
def test_what_cannot_be_used_is_refused_without_the_password(
    caplog: pytest.LogCaptureFixture, site: str, server: RedisServer, url: str, message: str
):
    url = url.format(PASSWORD, server.port)
    assert message in refused(caplog, site, DEDUP_INDEX=url)


def errors_of_process(reactor: str, url: str, **settings: Any) -> str:
    """Return what a crawl in a process of its own tells of errors."""
    script = Path(__file__).with_name("reactor_crawl.py")
    command = [sys.executable, script, reactor, "0", json.dumps(settings), url]
    done = run(command, capture_output=True, text=True, timeout=60)
    assert PASSWORD not in done.stdout + done.stderr
    assert "item_scraped_count" not in done.stdout
    return done.stderr


OURS = "redis://:{0}@127.0.0.1:{1}/0"


@pytest.mark.parametrize(
    ("reactor", "url", "settings", "message"),
    [
        (
            "asyncio",
            "redis://:{0}@127.0.0.1:1/0",
            {},
            "redis://127.0.0.1:1/0?namespace=dedup cannot be reached",
        ),
        ("asyncio", "redis://:{0}x@127.0.0.1:{1}/0", {}, "refuses its user or password"),
        ("none", OURS, {"DEDUP_METHOD": "minhash"}, "minhash"),
        ("select", OURS, {}, "TWISTED_REACTOR"),  # the setting to change
    ],
)
def test_what_cannot_go_with_a_server_is_told_before_the_spider_is_opened(
    site: str, server: RedisServer, reactor: str, url: str, settings: Any, message: str
):
    fleet_crawl(site, "/0", DEDUP_INDEX=OURS.format(PASSWORD, server.port))
    url = url.format(PASSWORD, server.port)
    told = errors_of_process(reactor, f"{site}/0", DEDUP_INDEX=url, **settings)
    assert message in told
    assert "The crawl does not start: " in told


def test_a_file_is_shared_as_a_server_is(tmp_path: Path, site: str):
    path = tmp_path / "pages.sqlite"
    settings = {"DEDUP_INDEX": f"sqlite:///{path}?share=1"}
    assert stored(fleet_crawl(site, "/0", "/1", **settings), site) == ["/0", "/1"]
    later = fleet_crawl(site, "/0b", "/1", "/2", **settings)
    assert stored(later, site) == ["/2"]
    assert later.stats["dedup/store/exchanges"] > 0
    settings["DEDUP_INDEX"] = str(path)
    alone = fleet_crawl(site, "/2b", "/3", **settings)
    assert stored(alone, site) == ["/3"]
    assert "dedup/store/exchanges" not in alone.stats


def test_a_page_waits_until_one_that_was_killed_has_no_claims():
    assert limits.WAIT_TIMEOUT > LEASE


def test_feeds_that_are_stored_at_their_end_are_refused(tmp_path: Path, site: str, index: str):
    feeds = {str(tmp_path / "items.jsonl.gz"): {
        "format": "jsonlines",
        "postprocessing": ["scrapy.extensions.postprocessing.GzipPlugin"],
    }}  # fmt: skip
    told = errors_of_process("none", f"{site}/0", DEDUP_INDEX=index, FEEDS=feeds)
    assert "The crawl does not start: " in told
    assert "commit=passed" in told
    passed = fleet_crawl(site, "/0", DEDUP_INDEX=f"{index}&commit=passed", FEEDS=feeds)
    assert stored(passed, site) == ["/0"]
    assert stored(fleet_crawl(site, "/0b", DEDUP_INDEX=index), site) == []


def test_an_item_field_is_judged_among_the_items_of_all(site: str, index: str):
    settings = {"DEDUP_INDEX": index, "DEDUP_ITEM_FIELD": "text"}
    fleet_crawl(site, "/0", "/1", **settings)
    later = fleet_crawl(site, "/0b", "/1", "/2", **settings)
    assert stored(later, site) == ["/2"]


def test_links_of_duplicates_of_others_are_not_followed(site: str, index: str):
    settings = {"DEDUP_INDEX": index, "DEDUP_FOLLOW_DUPLICATES": False}
    fleet_crawl(site, "/0", **settings)
    later = fleet_crawl(site, "/0b", "/1", **settings)
    assert stored(later, site) == ["/1"]


def test_near_misses_are_named_by_the_urls_that_others_have_stored(
    tmp_path: Path, site: str, index: str, pages: dict[str, Any]
):
    pages["/far"] = page(replaced(article(1), 3))
    settings = {"DEDUP_INDEX": index, "DEDUP_REPORT": str(tmp_path / "reports")}
    fleet_crawl(site, "/0", **settings, DEDUP_MAX_DISTANCE=1)
    crawled = fleet_crawl(site, "/far", **settings, DEDUP_MAX_DISTANCE=1)
    assert stored(crawled, site) == ["/far"]
    report = max((tmp_path / "reports").glob("*.json"), key=lambda path: path.stat().st_mtime_ns)
    told = json.loads(report.read_text())
    assert [miss["other"] for miss in told["near_misses"]] == [site + "/0"]
    assert told["store"]["exchanges"] > 0
    assert PASSWORD not in report.read_text()


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
    site: str, server: RedisServer, index: str
):
    outage = Outage(server, "/2", "/4")
    paths = ["/0", "/1", "/2", "/0b", "/3", "/4"]
    crawled = fleet_crawl(site, *paths, before=outage, DEDUP_INDEX=index, DEDUP_ACTION="mark")
    assert stored(crawled, site) == paths
    marks = {item["url"].removeprefix(site): item["dedup"]["verdict"] for item in crawled.items}
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
    later = fleet_crawl(site, *(f"/{n}b" for n in range(6)), DEDUP_INDEX=index)
    assert stored(later, site) == ["/5b"]


def test_a_store_that_is_down_from_the_first_page_on_is_joined_later(
    site: str, server: RedisServer, index: str, pages: dict[str, Any]
):
    fleet_crawl(site, "/0", DEDUP_INDEX=index)
    pages["/empty"] = "<html><body></body></html>"
    outage = Outage(server, "/0b", "/2")
    paths = ["/0b", "/empty", "/1", "/2"]
    crawled = fleet_crawl(site, *paths, before=outage, DEDUP_INDEX=index)
    assert stored(crawled, site) == ["/empty", "/1", "/2"]
    assert crawled.dedup_stats["near_duplicates"] == crawled.dedup_stats["skipped/empty"] == 1
    assert "errors" not in crawled.dedup_stats
    assert stored(fleet_crawl(site, "/1b", "/2b", DEDUP_INDEX=index), site) == []


def test_what_comes_while_the_store_fails_is_entered_when_it_works_again(
    site: str, server: RedisServer, index: str
):
    def fault(path: str) -> None:
        with Redis(port=server.port, password=PASSWORD) as client:
            if path == "/2":
                client.rename("{dedup:test}:log", "aside")
                client.set("{dedup:test}:log", "of another type")
            elif path == "/4":
                client.rename("aside", "{dedup:test}:log")

    paths = ["/0", "/1", "/2", "/3", "/4", "/5"]
    crawled = fleet_crawl(site, *paths, before=fault, DEDUP_INDEX=index)
    assert stored(crawled, site) == paths
    assert crawled.dedup_stats["skipped/unchecked"] >= 2
    assert crawled.dedup_stats["store/outages"] == 1, "a refused exchange is an outage"
    assert "skipped/error" not in crawled.dedup_stats
    assert not [message for message in crawled.messages() if "not in the ledger" in message]
    assert stored(fleet_crawl(site, *(path + "b" for path in paths), DEDUP_INDEX=index), site) == []


def test_the_crawl_stops_when_the_store_is_down_and_keeps_what_is_under_way(
    site: str, server: RedisServer, index: str
):
    paths = ["/0", "/1", "/2", "/3", "/4"]
    crawled = fleet_crawl(
        site, *paths, before=Outage(server, "/1"), DEDUP_INDEX=f"{index}&store_down=stop"
    )
    assert crawled.stats["finish_reason"] == "dedup_store_down"
    assert stored(crawled, site)[:2] == ["/0", "/1"]
    assert len(crawled.items) == crawled.stats["response_received_count"]
    [left] = [message for message in crawled.messages() if "not in the ledger" in message]
    assert int(left.split()[0]) >= 1
    server.start()  # as the fixture ends it


def test_a_duplicate_of_a_page_whose_url_cannot_be_asked_for_is_a_duplicate(
    site: str, server: RedisServer, index: str
):
    fleet_crawl(site, "/0", DEDUP_INDEX=index)
    crawled = fleet_crawl(site, "/1", "/0b", before=Outage(server, "/0b"), DEDUP_INDEX=index)
    assert stored(crawled, site) == ["/1"]
    [(_, reason)] = crawled.dropped
    name = f"redis://127.0.0.1:{server.port}/0?namespace=test"
    assert reason.verdict.original == f"page 1 of {name}"
    assert "errors" not in crawled.dedup_stats
    server.start()


def test_a_server_that_hangs_neither_costs_items_nor_holds_up_the_end(
    site: str, server: RedisServer, index: str
):
    def hang(path: str) -> None:
        if path == "/2":
            server.signal(signal.SIGSTOP)

    paths = [f"/{number}" for number in range(6)]
    begin = time.monotonic()
    crawled = fleet_crawl(site, *paths, before=hang, DEDUP_INDEX=index)
    assert stored(crawled, site) == paths
    assert time.monotonic() - begin < 150
    # On a busy machine, the first ones are not entered yet when it hangs.
    assert 4 <= crawled.dedup_stats["skipped/unchecked"] <= 6
    assert any("did not answer within 10 seconds" in message for message in crawled.messages())
    assert any("pages are not" in m for m in crawled.messages())
    server.signal(signal.SIGCONT)


def test_what_a_server_has_lost_is_stored_again_when_it_is_met(
    site: str, server: RedisServer, index: str
):
    def lose(path: str) -> None:
        if path == "/3":
            with Redis(port=server.port, password=PASSWORD) as client:
                client.flushall()

    paths = ["/0", "/1", "/2", "/3", "/4"]
    # One after the other, and published between them: what is not is claimed again.
    settings = {"DEDUP_WORKERS": 0, "CONCURRENT_REQUESTS": 1, "DOWNLOAD_DELAY": 0.2}
    settings["limits"] = {"CHECKPOINT_INTERVAL": 0.02}
    crawled = fleet_crawl(site, *paths, "/0b", before=lose, DEDUP_INDEX=index, **settings)
    assert stored(crawled, site) == [*paths, "/0b"]
    assert crawled.stats["dedup/store/history_changes"] == 1
    assert "errors" not in crawled.dedup_stats
    # What came after that is known.
    assert stored(fleet_crawl(site, "/4b", "/0", DEDUP_INDEX=index), site) == []


def test_a_report_needs_no_store(
    tmp_path: Path, site: str, server: RedisServer, index: str, pages: dict[str, Any]
):
    pages["/far"] = page(replaced(article(1), 60))
    reports = str(tmp_path / "reports")
    settings = {"DEDUP_INDEX": index, "DEDUP_REPORT": reports, "DEDUP_MAX_DISTANCE": 1}
    fleet_crawl(site, "/0", **settings)
    crawled = fleet_crawl(site, "/far", "/1", before=Outage(server, "/1"), **settings)
    assert stored(crawled, site) == ["/far", "/1"]
    assert crawled.messages(logging.ERROR) == []
    assert "errors" not in crawled.dedup_stats
    server.start()


def test_nobody_waits_for_the_pages_of_a_crawl_that_stores_nothing(
    site: str, server: RedisServer, index: str
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
    spider = spider_over(f"{site}/0", f"{site}/1", parse=parse)
    crawl(spider, keep_items=False, DEDUP_INDEX=index)
    assert was_open == [False]
    assert stored(fleet_crawl(site, "/0b", DEDUP_INDEX=index), site) == ["/0b"]


class Gate:
    """A pipeline that holds items of the spider "holder" until it is opened, and then fails."""

    fails = False
    opened: asyncio.Event
    entered: asyncio.Event

    @classmethod
    def from_crawler(cls, crawler: Any) -> "Gate":
        gate = cls()
        gate.name = crawler.spider.name
        return gate

    async def process_item(self, item: Any) -> Any:
        if self.name == "holder":
            Gate.entered.set()
            await Gate.opened.wait()
            if Gate.fails:
                raise OSError("no storage")
        return item


def settings_with_a_gate(index: str) -> dict[str, Any]:
    return {
        "TWISTED_REACTOR_ENABLED": False,
        "ADDONS": ADDON,
        "DEDUP_WORKERS": 0,
        "DEDUP_MAX_DISTANCE": 8,
        "DEDUP_INDEX": index.replace("%(name)s", "both"),
        "LOG_ENABLED": False,
        "TELNETCONSOLE_ENABLED": False,
        "ITEM_PIPELINES": {Gate: 300},
    }


def crawls_at_once(index: str, *spiders: Any, until: Callable[[Any], bool]) -> list[Any]:
    """Run the second of two spiders while the first one holds its item, *until* that has come to.

    Return their stats.
    """
    settings = settings_with_a_gate(index)

    async def run_both() -> list[Any]:
        Gate.opened, Gate.entered = asyncio.Event(), asyncio.Event()
        runner = AsyncCrawlerRunner(settings)
        first, second = map(runner.create_crawler, spiders)
        crawling = [asyncio.ensure_future(runner.crawl(first))]
        await asyncio.wait_for(Gate.entered.wait(), 60)
        crawling.append(asyncio.ensure_future(runner.crawl(second)))
        async with asyncio.timeout(60):
            while not (second._stats and until(second.stats)) and not crawling[1].done():
                await asyncio.sleep(0.05)
        Gate.opened.set()
        await asyncio.gather(*crawling)
        return [one.stats.get_stats() for one in (first, second)]

    return asyncio.run(run_both())


@pytest.mark.parametrize("fails", [False, True])
def test_a_page_waits_for_one_that_another_crawl_is_storing(site: str, index: str, *, fails: bool):
    Gate.fails = fails
    spiders = [
        spider_over(f"{site}{path}", name=name) for path, name in (("/0", "holder"), ("/0b", "b"))
    ]
    holder, waiter = crawls_at_once(
        index, *spiders, until=lambda stats: stats.get_value("dedup/claims/waited")
    )
    counts = [one.get("item_scraped_count", 0) for one in (holder, waiter)]
    assert counts == ([0, 1] if fails else [1, 0])
    assert waiter["dedup/new" if fails else "dedup/near_duplicates"] == 1


@pytest.mark.parametrize("fails", [False, True])
def test_a_reprint_waits_for_the_original_that_another_crawl_is_storing(
    pages: dict[str, Any], site: str, index: str, *, fails: bool
):
    """If that is not stored, the reprint is, and has its title when others are compared with it."""
    Gate.fails = fails
    text = edited(article(1))
    reprint = page(text, title="A reprint")
    link = f'<link rel="canonical" href="{site}/0">'
    pages["/reprint"] = reprint.replace("<head>", f"<head>{link}")
    pages["/other"] = page(replaced(text, 1), title="Another page")

    async def start(self: Any) -> AsyncIterator[Any]:
        # Such a request is not copied to ask for the original.
        yield Request(f"{site}/reprint", meta={"parameters": []})

    prefers = {"custom_settings": {"DEDUP_PREFER": ["canonical"]}, "start": start}
    spiders = [
        spider_over(f"{site}/0", name="holder"),
        spider_over(name="b", **prefers),
    ]
    holder, waiter = crawls_at_once(
        index, *spiders, until=lambda stats: stats.get_value("dedup/claims/waited")
    )
    counts = [one.get("item_scraped_count", 0) for one in (holder, waiter)]
    assert counts == ([0, 1] if fails else [1, 0])
    assert waiter["dedup/new" if fails else "dedup/near_duplicates"] == 1
    index = index.replace("%(name)s", "both")
    assert stored(fleet_crawl(site, "/other", DEDUP_INDEX=index), site) == ["/other"]


def test_pages_of_two_crawls_that_wait_for_each_other_do_not_wait_for_the_timeout(
    site: str, index: str
):
    """Each has an item in either scope, and claims what the other one wants; one gives way."""
    have_claimed: set[str] = set()

    async def parse(self: Any, response: Any) -> AsyncIterator[Any]:
        for kind in self.kinds:
            yield {"url": response.url, "kind": kind}
            have_claimed.add(self.name)
            async with asyncio.timeout(30):
                while len(have_claimed) < 2:
                    await asyncio.sleep(0.01)

    settings = {
        **settings_with_a_gate(index),
        "DEDUP_SCOPE": "field:kind",
        "ITEM_PIPELINES": {Storage: 300},
    }
    spiders = [
        spider_over(f"{site}/{path}", name=name, kinds=kinds, parse=parse)
        for path, name, kinds in (("0", "a", "xy"), ("0b", "b", "yx"))
    ]

    async def run_both() -> list[Any]:
        runner = AsyncCrawlerRunner(settings)
        crawlers = [runner.create_crawler(spider) for spider in spiders]
        await asyncio.gather(*map(runner.crawl, crawlers))
        return [one.stats.get_stats() for one in crawlers]

    stats = asyncio.run(run_both())
    assert sum(one["item_scraped_count"] for one in stats) == 3
    assert sum(one.get("dedup/claims/unresolved", 0) for one in stats) == 1
    assert max(one["elapsed_time_seconds"] for one in stats) < 30


def test_what_others_use_is_not_reset(site: str, index: str):
    fleet_crawl(site, "/1", DEDUP_INDEX=index.replace("%(name)s", "both"))
    Gate.fails = False
    spiders = [
        spider_over(f"{site}/0", name="holder"),
        spider_over(f"{site}/1b", name="b", dedup_reset=True),
    ]
    records: list[logging.LogRecord] = []
    with logged(records):
        _, second = crawls_at_once(index, *spiders, until=lambda _: False)
    assert second["dedup/near_duplicates"] == 1
    messages = [record.getMessage() for record in records]
    assert len([m for m in messages if m.endswith("is not reset: other crawls use it")]) == 1


def test_an_upload_that_fails_is_remembered_where_passing_the_pipelines_is_storing(
    tmp_path: Path, site: str
):
    """Else it is stored again."""
    settings = {
        "DEDUP_INDEX": str(tmp_path / "pages.sqlite"),
        "FEEDS": {"ftp://127.0.0.1:1/items.jsonl": {"format": "jsonlines"}},
    }
    for _ in range(2):
        assert stored(fleet_crawl(site, "/0", **settings), site) == ["/0"]
    settings["DEDUP_INDEX"] = f"sqlite:///{tmp_path}/pages.sqlite?commit=passed"
    assert stored(fleet_crawl(site, "/0", **settings), site) == ["/0"]
    assert stored(fleet_crawl(site, "/0", **settings), site) == []
