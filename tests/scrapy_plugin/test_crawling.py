"""Scrapy's commands that are no crawls: they bar none, keep nothing from one, and judge nothing.

And a second crawl that wants the ledger of the first: it stops.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cases import sampled
from projects import HeldPages, Project, crawl_under_way
from web import served

PATHS = {
    "DEDUP_INDEX": "kept/pages.sqlite",
    "DEDUP_REPORT": "reports",
    "DEDUP_DUPLICATES": "kept/duplicates.jsonl",
}
COMMANDS = {
    "shell": ["shell", "-c", "response.status", "{url}/0"],
    "shell with a wrong path": ["shell", "-s", "DEDUP_INDEX=/proc", "-c", "1 + 1"],
    "fetch": ["fetch", "--spider", "one", "{url}/0"],
    "view": ["view", "--spider", "one", "{url}/0"],
    "parse": ["parse", "--spider", "one", "{url}/0"],
    "parse with pipelines": ["parse", "--spider", "one", "--pipelines", "{url}/0"],
    "check": ["check", "one"],
    "bench": ["bench", "-s", "CLOSESPIDER_PAGECOUNT=2"],
}


@pytest.fixture(scope="module")
def beside(tmp_path_factory: Any) -> Iterator[tuple[Project, str]]:
    """A project with a crawl under way that has the ledger, and the URL of its site."""
    pages = HeldPages()
    with served(pages) as url:
        folder = tmp_path_factory.mktemp("beside") / "project"
        spiders = {"one": [f"{url}/0"], "long": [f"{url}/held"]}
        project = Project(folder, spiders, DEDUP_FIELDS={"text": "text"}, **PATHS)
        with crawl_under_way(project, pages, "crawl", "long") as process:
            yield project, url
            assert process.poll() is None


@pytest.mark.slow
@pytest.mark.parametrize(
    "command", sampled(COMMANDS, "shell with a wrong path", "parse with pipelines", "check")
)
def test_a_command_beside_a_crawl_works_and_makes_nothing(beside: Any, command: str):
    project, url = beside
    files = project.files()
    assert "kept/pages.sqlite" in files
    exit_code, output = project.run(*(part.format(url=url) for part in COMMANDS[command]))
    assert exit_code == 0, output
    for sign in (" ERROR: ", "Traceback", "[dedup"):
        assert sign not in output, output
    assert project.files() == files


@pytest.mark.slow
def test_a_crawl_that_wants_the_ledger_of_another_stops(beside: Any):
    """It ends with an error and an exit code, and leaves its feed."""
    project, _ = beside
    feed = project.folder / "feed.jsonl"
    feed.write_text("of before\n")
    exit_code, output = project.run("crawl", "one", "-O", "feed.jsonl")
    [message] = [
        line for line in output.splitlines() if "ERROR: The crawl does not start: " in line
    ]
    for part in ("is in use by another crawl", "-%(name)s.sqlite", "?share=1"):
        assert part in message
    assert exit_code == 1
    assert feed.read_text() == "of before\n"


@pytest.mark.slow
def test_the_dedup_command_is_in_scrapys_list_and_has_its_own_name_there(beside: Any):
    project, _ = beside
    assert "dedup         Look at duplicates: " in project.run()[1]
    told = (2, "scrapy dedup report: missing is no file\n")
    assert project.run("dedup", "report", "missing") == told


@pytest.mark.slow
def test_parse_shows_items_that_a_crawl_would_drop(tmp_path: Path):
    """And a script that crawls uses the ledger."""
    with served(HeldPages()) as url:
        project = Project(tmp_path / "project", {"one": [f"{url}/0"]}, **PATHS)
        script = ("runspider", "project/spiders/one.py")
        assert project.run(*script, "-O", "first.jsonl")[0] == 0
        ledger = project.folder / "kept" / "pages.sqlite"
        before = ledger.read_bytes()
        project.run("parse", "--spider", "one", "-o", "parsed.jsonl", f"{url}/0")
        assert ledger.read_bytes() == before
        first, parsed = (
            (project.folder / f"{name}.jsonl").read_text() for name in ("first", "parsed")
        )
        assert parsed == first
