"""Two crawls that want one ledger: the second stops."""

from pathlib import Path

import pytest
from crawls import remembered
from projects import HeldPages, Project, crawl_under_way
from web import served


@pytest.mark.slow
def test_a_crawl_that_wants_the_ledger_of_another_stops(tmp_path: Path):
    """It ends with an error and an exit code, and leaves its feed."""
    pages = HeldPages()
    with served(pages) as url:
        spiders = {"long": [f"{url}/held", f"{url}/0"], "one": [f"{url}/1"]}
        settings = {"DEDUP_INDEX": "pages.sqlite", "DEDUP_WORKERS": 0}
        project = Project(tmp_path / "project", spiders, **settings)
        feed = project.folder / "feed.jsonl"
        feed.write_text("of before\n")
        with crawl_under_way(project, pages, "crawl", "long"):
            exit_code, output = project.run("crawl", "one", "-O", "feed.jsonl")
    [message] = [
        line for line in output.splitlines() if "ERROR: The crawl does not start: " in line
    ]
    for part in ("is in use by another crawl", "-%(name)s.sqlite", "?share=1"):
        assert part in message
    assert exit_code == 1
    assert feed.read_text() == "of before\n"
    assert remembered(project.folder / "pages.sqlite") == ["/0"]
