"""Crawls that share a store: real crawls in processes, over a real PostgreSQL server."""

import json
import re
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from postgres_server import PASSWORD as POSTGRES_PASSWORD
from postgres_server import shared_server
from projects import SECONDS, Project
from texts import article, page
from web import served

pytestmark = pytest.mark.slow

SECRETS = [POSTGRES_PASSWORD, quote(POSTGRES_PASSWORD, safe="")]
CONTENTS = 16
SPIDERS = ["one", "two", "three"]


def copies() -> dict[str, Any]:
    """Three pages of each content: as it is, with another word, and as it is again."""
    pages: dict[str, Any] = {}
    for number in range(CONTENTS):
        text = article(number + 1)
        pages[f"/{number}/a"] = page(text)
        pages[f"/{number}/b"] = page(f"{text} Otherwise.")
        pages[f"/{number}/c"] = page(text, footer="Another footer")
    return pages


@pytest.fixture
def site() -> Iterator[str]:
    with served(copies()) as url:
        yield url


class Fleet:
    """Crawls of one project, each with a feed of its own."""

    def __init__(self, folder: Path, site: str, **settings: Any) -> None:
        numbers = [*range(CONTENTS)]
        self.urls: dict[str, list[str]] = {}
        for i, name in enumerate(SPIDERS):
            others_first = numbers[5 * i :] + numbers[: 5 * i]
            self.urls[name] = [f"{site}/{n}/{'abc'[(n + i) % 3]}" for n in others_first]
        self.project = Project(
            folder / "fleet",
            self.urls,
            DEDUP_WORKERS=0,
            DEDUP_MAX_DISTANCE=8,
            DEDUP_LOG_LEVEL="INFO",
            RETRY_ENABLED=False,
            **settings,
        )

    def start(self, spider: str, *options: str) -> "subprocess.Popen[str]":
        return self.project.start("crawl", spider, "-o", f"{spider}.jsonl", *options)

    def items(self, feed: str = "*.jsonl") -> list[dict[str, Any]]:
        paths = sorted(self.project.folder.glob(feed))
        return [json.loads(line) for path in paths for line in path.read_text().splitlines()]

    def contents(self) -> Counter[str]:
        """How often each content is in the feeds."""
        return Counter(item["url"].split("/")[3] for item in self.items())


def ended(crawl: "subprocess.Popen[str]") -> str:
    with crawl:
        try:
            output, _ = crawl.communicate(timeout=2 * SECONDS)
        finally:
            crawl.kill()
    return output


def stat(output: str, name: str) -> int:
    found = re.search(rf"'{re.escape(name)}': (\d+)", output)
    return int(found[1]) if found else 0


def wait_until(condition: Any) -> None:
    end = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < end, "it has not come to that"
        time.sleep(0.05)


ONCE = {str(number): 1 for number in range(CONTENTS)}


def test_what_a_killed_crawl_was_storing_is_stored_by_others_that_crawl_at_once(
    tmp_path: Path, site: str
):
    """Over PostgreSQL; test_scrapy_redis.py has others over Redis."""
    server = shared_server()
    database = server.new_database()
    shown = f"postgresql://127.0.0.1:{server.port}/{database}?namespace=fleet"
    index = server.url(database, query="?namespace=fleet")
    fleet = Fleet(tmp_path, site, DEDUP_INDEX=index, DEDUP_REPORT="reports")
    job = ("-s", "JOBDIR=job")
    killed = fleet.start("one", *job, "-s", "DOWNLOAD_DELAY=0.3")
    wait_until(lambda: len(fleet.items("one.jsonl")) >= 4)
    killed.kill()
    killed.communicate()
    before = len(fleet.items("one.jsonl"))
    outputs = list(map(ended, [fleet.start("two"), fleet.start("three")]))
    outputs.append(ended(fleet.start("one", *job)))
    counts = fleet.contents()
    assert counts.keys() == ONCE.keys(), "content is lost"
    # What was stored in the second before the death, and not published.
    assert counts.total() - CONTENTS <= before
    for output in outputs:
        assert "log_count/ERROR" not in output, output
        assert not stat(output, "dedup/skipped/unresolved")
        assert stat(output, "dedup/store/exchanges") > 0
    reports = [path.read_text() for path in fleet.project.folder.glob("reports/*")]
    assert not [secret for secret in SECRETS for text in (*outputs, *reports) if secret in text]
    told = [json.loads(path.read_text()) for path in fleet.project.folder.glob("reports/*.json")]
    assert {(one["settings"]["DEDUP_INDEX"], one["ledger"]["path"]) for one in told} == {
        (shown, shown)
    }
