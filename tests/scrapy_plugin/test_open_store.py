"""Two crawls that want one ledger: the second stops."""

import json
import logging
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from cases import sampled
from crawls import crawl, spider_over
from projects import SECONDS, HeldPages, Project, crawl_under_way
from texts import article, page
from web import served

SCRIPT = str(Path(__file__).with_name("two_crawls.py"))


@pytest.fixture
def pages() -> Iterator[HeldPages]:
    pages = HeldPages()
    yield pages
    pages.go.set()


@pytest.fixture
def site(pages: HeldPages) -> Iterator[str]:
    with served(pages) as url:
        yield url


@pytest.fixture
def project(site: str, tmp_path: Path) -> Project:
    spiders = {"long": [f"{site}/held", f"{site}/0"], "one": [f"{site}/1", f"{site}/2"]}
    return Project(tmp_path / "project", spiders, DEDUP_INDEX="pages.sqlite", DEDUP_WORKERS=0)


def stored(ledger: Path) -> list[tuple[str, str]]:
    """The pages of a ledger, without the server: the spider, and the path."""
    with closing(sqlite3.connect(ledger)) as file:
        rows = file.execute(
            "SELECT spider, url FROM pages JOIN crawls ON crawls.id = crawl ORDER BY pages.id"
        )
        return [(spider, "/" + url.rsplit("/", 1)[1]) for spider, url in rows]


@pytest.mark.slow
def test_a_second_crawl_ends_with_an_error_and_an_exit_code_and_leaves_its_feed(project, pages):
    feed = project.folder / "feed.jsonl"
    feed.write_text("of before\n")
    with crawl_under_way(project, pages, "crawl", "long") as first:
        exit_code, output = project.run("crawl", "one", "-O", "feed.jsonl")
    [message] = [
        line for line in output.splitlines() if "ERROR: The crawl does not start: " in line
    ]
    for part in (
        f"in use by process {first.pid} on ", "one crawl at a time", "pages-%(name)s.sqlite",
        "?share=1",
    ):  # fmt: skip
        assert part in message
    assert exit_code == 1
    assert feed.read_text() == "of before\n"
    assert stored(project.folder / "pages.sqlite") == [("long", "/0")]


@pytest.mark.slow
def test_a_second_crawl_of_a_job_is_told_of_it(project, pages):
    """Its requests are being crawled: a ledger of its own would not help."""
    job = ("-s", "DEDUP_INDEX=", "-s", "JOBDIR=job")
    with crawl_under_way(project, pages, "crawl", "long", *job):
        exit_code, output = project.run("crawl", "one", *job)
    assert exit_code == 1
    assert "The job is under way: wait for its end, or use another JOBDIR" in output
    assert stored(project.folder / "job" / "dedup.sqlite") == [("long", "/0")]


@pytest.mark.slow
def test_a_ledger_for_each_spider_lets_all_run_at_once(project, pages):
    ledgers = ("-s", "DEDUP_INDEX=pages-%(name)s.sqlite")
    with crawl_under_way(project, pages, "crawl", "long", *ledgers):
        assert project.run("crawl", "one", *ledgers)[0] == 0
    assert stored(project.folder / "pages-long.sqlite") == [("long", "/0")]
    assert sorted(stored(project.folder / "pages-one.sqlite")) == [("one", "/1"), ("one", "/2")]


@pytest.mark.slow
@pytest.mark.parametrize(
    "setting", sampled(["EXTENSIONS", "SPIDER_MIDDLEWARES"], "SPIDER_MIDDLEWARES")
)
def test_a_crawl_that_fails_at_its_start_does_not_keep_the_ledger(pages, site, tmp_path, setting):
    """Nobody tells the extension of that, and the crawler lives on."""
    ledger = tmp_path / "pages.sqlite"
    settings = {"DEDUP_INDEX": str(ledger), setting: {"__main__.Broken": 900}}
    urls = [json.dumps([f"{site}/0"]), json.dumps([f"{site}/1"])]
    project = Project(tmp_path / "project", {})
    with project.start_python(SCRIPT, json.dumps(settings), *urls) as process:
        log, _ = process.communicate(timeout=SECONDS)
    assert "no such database" in log
    assert stored(ledger) == [("spider2", "/1")]


def test_the_log_says_how_many_pages_of_earlier_crawls_are_known(tmp_path: Path):
    with served({"/0": page(article(1)), "/1": page(article(2))}) as url:
        told = [
            message.partition(" knows ")[2]
            for path in ("/0", "/1", "/0")
            for message in crawl(
                spider_over(url + path), DEDUP_INDEX=str(tmp_path / "pages.sqlite")
            ).messages(logging.INFO)
            if "earlier crawls" in message
        ]
    assert told == ["1 page of earlier crawls", "2 pages of earlier crawls"]
