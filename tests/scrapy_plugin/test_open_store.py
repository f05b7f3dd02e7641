"""Two crawls that want one ledger: the second stops."""

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from crawls import known_site, path_of, query
from garbage import collect
from projects import HeldPages, Project, crawl_under_way
from texts import article, page
from web import served


@pytest.fixture
def pages() -> Iterator[HeldPages]:
    pages = HeldPages()
    yield pages
    pages.go.set()


@pytest.fixture
def project(pages: HeldPages, tmp_path: Path) -> Iterator[Project]:
    with served(pages) as url:
        spiders = {"long": [f"{url}/held", f"{url}/0"], "one": [f"{url}/1", f"{url}/2"]}
        index = "pages-%(name)s.sqlite"
        yield Project(tmp_path / "project", spiders, DEDUP_INDEX=index, DEDUP_WORKERS=0)


def stored(ledger: Path) -> list[tuple[str, str]]:
    """The pages of a ledger, without the server: the spider, and the path."""
    rows = "SELECT spider, url FROM pages JOIN crawls ON crawls.id = crawl ORDER BY url"
    return [(spider, path_of(url)) for spider, url in query(ledger, rows)]


@pytest.mark.slow
def test_crawls_at_once_have_a_ledger_each_and_one_that_wants_that_of_another_stops(project, pages):
    """It ends with an error and an exit code, and leaves its feed."""
    feed = project.folder / "feed.jsonl"
    feed.write_text("of before\n")
    with crawl_under_way(project, pages, "crawl", "long"):
        assert project.run("crawl", "one")[0] == 0
        same = ("-s", "DEDUP_INDEX=pages-long.sqlite")
        exit_code, output = project.run("crawl", "one", "-O", "feed.jsonl", *same)
    [message] = [
        line for line in output.splitlines() if "ERROR: The crawl does not start: " in line
    ]
    for part in (
        "is in use by another crawl. Give each spider", "-%(name)s.sqlite", "?share=1",
    ):  # fmt: skip
        assert part in message
    assert exit_code == 1
    assert feed.read_text() == "of before\n"
    assert stored(project.folder / "pages-long.sqlite") == [("long", "/0")]
    assert stored(project.folder / "pages-one.sqlite") == [("one", "/1"), ("one", "/2")]


@pytest.mark.slow
def test_a_second_crawl_of_a_job_is_told_of_it(project, pages):
    """Its requests are being crawled: a ledger of its own would not help."""
    job = ("-s", "DEDUP_INDEX=", "-s", "JOBDIR=job")
    with crawl_under_way(project, pages, "crawl", "long", *job):
        exit_code, output = project.run("crawl", "one", *job)
    assert exit_code == 1
    assert "The job is under way: wait for its end, or use another JOBDIR" in output
    assert stored(project.folder / "job" / "dedup.sqlite") == [("long", "/0")]


class Broken:
    """A component that cannot be made."""

    @classmethod
    def from_crawler(cls, crawler: Any) -> "Broken":
        raise ValueError("no such database")


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # aiohttp's client
@pytest.mark.parametrize("setting", ["EXTENSIONS", "SPIDER_MIDDLEWARES"])
def test_a_crawl_that_fails_at_its_start_does_not_keep_the_ledger(tmp_path: Path, setting: str):
    """Nobody tells the extension of that, and the crawler lives on, with the error."""
    with known_site({"/0": page(article(1))}, tmp_path) as site:
        with pytest.raises(ValueError, match="no such database") as error:
            site.crawl(**{setting: {Broken: 900}})
        assert site.crawl().stored == ["/0"]
        assert error.value.__traceback__
    del error
    collect()  # its warning belongs to this test


def test_the_log_says_how_many_pages_of_earlier_crawls_are_known(tmp_path: Path):
    with known_site({"/0": page(article(1)), "/1": page(article(2))}, tmp_path) as site:
        told = [
            message.partition(" knows ")[2]
            for path in ("/0", "/1", "/0")
            for message in site.crawl(path).messages(logging.INFO)
            if "earlier crawls" in message
        ]
    assert told == ["1 page of earlier crawls", "2 pages of earlier crawls"]
