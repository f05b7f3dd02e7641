"""Two crawls that want one ledger: the second stops."""

import asyncio
import json
import logging
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import scrapy
from cases import sampled
from crawls import ADDON, crawl, logged, spider_over
from projects import SECONDS, HeldPages, Project, crawl_under_way
from scrapy.crawler import AsyncCrawlerRunner
from texts import article, edited, page
from web import served

SCRIPT = str(Path(__file__).with_name("two_crawls.py"))
SCRAPY = tuple(map(int, scrapy.__version__.split(".")[:2]))


@pytest.fixture
def pages() -> Iterator[HeldPages]:
    pages = HeldPages()
    pages["/copy"] = page(edited(article(1)))
    yield pages
    pages.go.set()


@pytest.fixture
def site(pages: HeldPages) -> Iterator[str]:
    with served(pages) as url:
        yield url


class Go(logging.Handler):
    """Lets the first crawl go when one logs *message*."""

    def __init__(self, pages: HeldPages, message: str) -> None:
        super().__init__(logging.INFO)
        self._pages = pages
        self._message = message

    def emit(self, record: logging.LogRecord) -> None:
        if self._message in record.getMessage():
            self._pages.go.set()


class Storage:
    """A pipeline that stores what it gets, or seems to."""

    def process_item(self, item: Any) -> Any:
        return item


def run_at_once(
    pages: HeldPages, site: str, *crawls: list[str], go_at: str = "Spider closed", **settings: Any
) -> tuple[list[str], list[str]]:
    """Run a crawl for each list of paths, ``/held`` before the first; *go_at*: when that is sent.

    Return the error of each, or "None", and what dedup logged from INFO on.
    """
    settings = {
        "TWISTED_REACTOR_ENABLED": False,
        "ADDONS": ADDON,
        "DEDUP_WORKERS": 0,
        "LOG_ENABLED": False,
        "TELNETCONSOLE_ENABLED": False,
        "ITEM_PIPELINES": {Storage: 300},
        **settings,
    }
    records: list[logging.LogRecord] = []

    async def run() -> list[str]:
        runner = AsyncCrawlerRunner(settings)
        paths = [["/held", *crawls[0]], *crawls[1:]]
        spiders = [
            spider_over(*(site + path for path in one), name=f"spider{number}")
            for number, one in enumerate(paths, 1)
        ]
        running = asyncio.gather(*map(runner.crawl, spiders), return_exceptions=True)
        return list(map(repr, await asyncio.wait_for(running, SECONDS)))

    go = Go(pages, go_at)
    with logged(records):
        logging.getLogger().addHandler(go)
        try:
            ends = asyncio.run(run())
        finally:
            logging.getLogger().removeHandler(go)
    return ends, [
        record.getMessage()
        for record in records
        if record.name.startswith("dedup") and record.levelno >= logging.INFO
    ]


def stored(ledger: Path) -> list[tuple[str, str]]:
    """The pages of a ledger, without the server: the spider, and the path."""
    with closing(sqlite3.connect(ledger)) as file:
        rows = file.execute(
            "SELECT spider, url FROM pages JOIN crawls ON crawls.id = crawl ORDER BY pages.id"
        )
        return [(spider, "/" + url.rsplit("/", 1)[1]) for spider, url in rows]


def feed_of(folder: Path, **options: Any) -> dict[str, Any]:
    return {str(folder / "%(name)s.jsonl"): {"format": "jsonlines", **options}}


def lines(path: Path) -> list[str]:
    """The paths of the pages whose items are in a feed."""
    items = map(json.loads, path.read_text().splitlines())
    return ["/" + item["url"].rsplit("/", 1)[1] for item in items]


@pytest.mark.slow
def test_a_second_crawl_stops_with_an_error_and_leaves_its_feed_alone(pages, site, tmp_path):
    ledger, feed = tmp_path / "pages.sqlite", tmp_path / "spider2.jsonl"
    feed.write_text("of before\n")
    (first, second), log = run_at_once(
        pages, site, ["/0"], ["/1"], go_at="The crawl does not start",
        DEDUP_INDEX=ledger, FEEDS=feed_of(tmp_path, overwrite=True, store_empty=True),
    )  # fmt: skip
    assert first == "None"
    assert second.startswith("LedgerInUseError(")
    [message] = [message for message in log if message.startswith("The crawl does not start: ")]
    for part in ("one crawl at a time", "pages-%(name)s.sqlite", "?share=1"):
        assert part in message
    assert feed.read_text() == "of before\n"
    assert stored(ledger) == [("spider1", "/0")]


@pytest.mark.slow
def test_a_second_crawl_of_a_job_is_told_of_it(pages, site, tmp_path):
    """Its requests are being crawled: a ledger of its own would not help."""
    (first, second), _ = run_at_once(
        pages, site, ["/0"], ["/1"], go_at="The crawl does not start",
        JOBDIR=str(tmp_path / "job"),
    )  # fmt: skip
    assert first == "None"
    assert "The job is under way: wait for its end, or use another JOBDIR" in second
    assert sorted(path.name for path in (tmp_path / "job").glob("*.sqlite")) == ["dedup.sqlite"]


@pytest.mark.slow
def test_a_ledger_for_each_spider_lets_all_run_at_once(pages, site, tmp_path):
    path = tmp_path / "pages-%(name)s.sqlite"
    ends, _ = run_at_once(pages, site, ["/0"], ["/copy"], DEDUP_INDEX=path)
    assert ends == ["None", "None"]
    assert stored(tmp_path / "pages-spider1.sqlite") == [("spider1", "/0")]
    assert stored(tmp_path / "pages-spider2.sqlite") == [("spider2", "/copy")]


def run_script(
    pages: HeldPages,
    site: str,
    folder: Path,
    *crawls: list[str],
    go_at: str = "Spider opened",
    **options: Any,
) -> tuple[int, str]:
    """Run a crawl for each list of paths in a process; let ``/held`` go when it logs *go_at*.

    Return its exit code, and its log.
    """
    process_class = options.pop("process_class", "AsyncCrawlerProcess")
    urls = [json.dumps([site + path for path in paths]) for paths in crawls]
    command = [SCRIPT, process_class, json.dumps(options, default=str), *urls]
    with Project(folder / "project", {}).start_python(*command) as process:
        return watched(process, go_at, pages.go.set)


def watched(
    process: "subprocess.Popen[str]", message: str, then: Callable[[], object]
) -> tuple[int, str]:
    """Call *then* whenever *process* logs *message*; return its exit code, and its log."""
    assert process.stdout
    log = ""
    for line in process.stdout:
        log += line
        if message in line:
            then()
    return process.wait(SECONDS), log


@pytest.mark.slow
@pytest.mark.parametrize(
    "setting", sampled(["EXTENSIONS", "SPIDER_MIDDLEWARES"], "SPIDER_MIDDLEWARES")
)
def test_a_crawl_that_fails_at_its_start_does_not_keep_the_ledger(pages, site, tmp_path, setting):
    """Nobody tells the extension of that, and the crawler lives on."""
    ledger = tmp_path / "pages.sqlite"
    exit_code, log = run_script(
        pages, site, tmp_path, ["/0"], ["/1"], DEDUP_INDEX=ledger,
        **{setting: {"__main__.Broken": 900}},
    )  # fmt: skip
    assert "no such database" in log
    assert stored(ledger) == [("spider2", "/1")]
    if SCRAPY >= (2, 15):
        assert exit_code == 1


@pytest.mark.slow
@pytest.mark.skipif(SCRAPY < (2, 15), reason="Scrapy counts no failure after the spider is made")
@pytest.mark.parametrize(
    "process_class", sampled(["CrawlerProcess", "AsyncCrawlerProcess"], "CrawlerProcess")
)
def test_a_script_can_end_with_an_exit_code(pages, site, tmp_path, process_class):
    ledger = tmp_path / "pages.sqlite"
    exit_code, log = run_script(
        pages, site, tmp_path, ["/held", "/0"], ["/1"], process_class=process_class,
        go_at="ERROR: The crawl does not start: ", DEDUP_INDEX=ledger,
    )  # fmt: skip
    assert exit_code == 1, log
    assert stored(ledger) == [("spider1", "/0")]


@pytest.fixture
def project(site: str, tmp_path: Path) -> Project:
    spiders = {"long": [f"{site}/held", f"{site}/0"], "one": [f"{site}/1", f"{site}/2"]}
    return Project(tmp_path / "project", spiders, DEDUP_INDEX="pages.sqlite", DEDUP_WORKERS=0)


@pytest.mark.slow
def test_a_second_process_ends_with_an_error_and_an_exit_code(project, pages):
    feed = project.folder / "feed.jsonl"
    feed.write_text("of before\n")
    with crawl_under_way(project, pages, "crawl", "long") as first:
        exit_code, output = project.run("crawl", "one", "-O", "feed.jsonl")
    assert "ERROR: The crawl does not start: " in output
    assert f"in use by process {first.pid} on " in output
    assert feed.read_text() == "of before\n"
    if SCRAPY >= (2, 15):
        assert exit_code == 1


def test_the_log_says_how_many_pages_of_earlier_crawls_are_known(tmp_path: Path):
    with served({"/0": page(article(1)), "/1": page(article(2))}) as url:
        said = [
            message
            for _ in range(3)
            for path in ("/0", "/1")
            for message in crawl(
                spider_over(url + path), DEDUP_INDEX=str(tmp_path / "pages.sqlite")
            ).messages(logging.INFO)
            if "earlier crawls" in message
        ]
    assert [message.partition(" knows ")[2] for message in said] == [
        "1 page of earlier crawls",
        *["2 pages of earlier crawls"] * 4,
    ]
