"""Crawls that share a store: real crawls in processes, over a real PostgreSQL server."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from crawls import start_process, urls_in
from postgres_server import PASSWORD as POSTGRES_PASSWORD
from postgres_server import shared_server
from processes import seconds_until
from texts import article, page
from web import served

pytestmark = pytest.mark.slow

SECRETS = [POSTGRES_PASSWORD, quote(POSTGRES_PASSWORD, safe="")]
CONTENTS = 16
SECONDS = 120


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


def test_what_a_killed_crawl_was_storing_is_stored_by_others_that_crawl_at_once(
    tmp_path: Path, site: str
):
    """Over PostgreSQL; test_scrapy_redis.py has others over Redis."""
    server = shared_server()
    database = server.new_database()
    shown = f"postgresql://127.0.0.1:{server.port}/{database}?namespace=fleet"
    settings = {
        "DEDUP_INDEX": server.url(database, query="?namespace=fleet"), "DEDUP_MAX_DISTANCE": 8,
        "DEDUP_REPORT": str(tmp_path / "reports"), "LOG_LEVEL": "INFO",
    }  # fmt: skip
    feeds = [tmp_path / f"{crawl}.jsonl" for crawl in range(3)]

    def start(crawl: int, **more: Any) -> Any:
        """Start a crawl over one page of each content, each crawl with others first."""
        numbers = [*range(5 * crawl, CONTENTS), *range(5 * crawl)]
        urls = [f"{site}/{n}/{'abc'[(n + crawl) % 3]}" for n in numbers]
        feed = {str(feeds[crawl]): {"format": "jsonlines"}}
        return start_process("asyncio", urls, FEEDS=feed, **settings, **more)

    job = {"JOBDIR": str(tmp_path / "job")}
    killed = start(0, DOWNLOAD_DELAY=0.3, **job)
    seconds_until(lambda: feeds[0].exists() and feeds[0].read_bytes().count(b"\n") >= 4, SECONDS)
    killed.kill()
    killed.communicate()
    before = feeds[0].read_bytes().count(b"\n")
    outputs = [crawl.communicate(timeout=SECONDS) for crawl in [start(1), start(2)]]
    outputs.append(start(0, **job).communicate(timeout=SECONDS))
    counts = Counter(path.split("/")[1] for feed in feeds for path in urls_in(feed))
    assert counts.keys() == {str(number) for number in range(CONTENTS)}, "content is lost"
    # What was stored in the second before the death, and not published.
    assert counts.total() - CONTENTS <= before
    for stats, log in outputs:
        assert "log_count/ERROR" not in stats, log
        assert "dedup/skipped/unresolved" not in stats
        assert json.loads(stats)["dedup/store/exchanges"] > 0
    reports = [path.read_text() for path in tmp_path.glob("reports/*")]
    texts = [*reports, *(text for output in outputs for text in output)]
    assert not [secret for secret in SECRETS for text in texts if secret in text]
    told = [json.loads(path.read_text()) for path in tmp_path.glob("reports/*.json")]
    assert {(one["settings"]["DEDUP_INDEX"], one["ledger"]["path"]) for one in told} == {
        (shown, shown)
    }
