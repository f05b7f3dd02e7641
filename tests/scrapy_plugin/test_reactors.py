"""The layer works on every reactor, and without one."""

import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from cases import mixed, sampled
from texts import article, edited, page
from web import served

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).with_name("reactor_crawl.py")
REACTORS = ["asyncio", "select", "none"]


def run(reactor: str, workers: int, settings: dict[str, Any], site: dict[str, str]) -> Any:
    """The stats of a crawl in a process of its own."""
    with served(site) as url:
        urls = [url + path for path in site]
        command = [sys.executable, SCRIPT, reactor, str(workers), json.dumps(settings), *urls]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert done.stderr == ""
    return json.loads(done.stdout)


@pytest.mark.parametrize(("reactor", "workers"), mixed(REACTORS, [0, 1]))
def test_a_crawl_judges_every_page_on_every_reactor(reactor: str, workers: int):
    site = {"/a": page(article(1)), "/b": page(edited(article(1))), "/c": page(article(2))}
    stats = run(reactor, workers, {}, site)
    assert stats["dedup/pages"] == 3
    assert stats["dedup/new"] == stats["item_scraped_count"] == 2
    assert stats["item_dropped_reasons_count/NearDuplicate"] == 1


# Most crawls of the tests, in the tests' own process, have none.
@pytest.mark.parametrize("reactor", sampled(REACTORS, "asyncio", "select"))
def test_pages_that_a_callback_awaits_are_a_part_of_its_items_on_every_reactor(reactor: str):
    site = {f"/{number}": page(edited(article(1), f"w{number}")) for number in range(3)}
    reviews = {f"/{number}/reviews": page(article(number // 2 + 5)) for number in range(3)}

    class Site(dict):
        """The pages of products are those to begin with."""

        def __iter__(self) -> Any:
            return iter(site)

    stats = run(reactor, 0, {"WITH_REVIEWS": True}, Site({**site, **reviews}))
    assert (stats["item_scraped_count"], stats["item_dropped_count"]) == (2, 1)


# Most crawls of the tests, in the tests' own process, have none.
@pytest.mark.parametrize("reactor", sampled(REACTORS, "asyncio", "select"))
def test_the_claim_of_an_item_from_start_that_is_replaced_ends_on_every_reactor(reactor: str):
    """Else its copy would wait for a minute, and be kept."""
    settings = {"START_TEXTS": [article(1), article(2)], "DEDUP_ITEM_FIELD": "text"}
    stats = run(reactor, 0, settings, {})
    assert (stats["item_scraped_count"], stats["item_dropped_count"]) == (2, 2)
    assert stats["dedup/claims/committed"] == 2


# Most crawls of the tests, in the tests' own process, have none.
@pytest.mark.parametrize("reactor", sampled(REACTORS, "asyncio", "select"))
def test_the_ledger_is_written_on_every_reactor(reactor: str, tmp_path: Path):
    """Again and again, also where feeds are closed, and checkpoints end, within one step."""
    site = {f"/{number}": page(article(number)) for number in range(12)}
    settings = {
        "DEDUP_INDEX": str(tmp_path / "pages.sqlite"),
        "CHECKPOINT_INTERVAL": 0.02,
        "DOWNLOAD_DELAY": 0.03,
        "FEEDS": {str(tmp_path / "%(batch_id)d"): {"format": "jsonlines", "batch_item_count": 5}},
    }
    stats = run(reactor, 0, settings, site)
    assert stats["dedup/checkpoints/written"] > 2
    assert "dedup/checkpoints/failed" not in stats
    with closing(sqlite3.connect(tmp_path / "pages.sqlite")) as file:
        assert file.execute("SELECT count(*) FROM pages").fetchall() == [(12,)]
        assert file.execute("SELECT reason FROM crawls").fetchall() == [("finished",)]
    lines = [
        line for batch in (1, 2, 3) for line in (tmp_path / str(batch)).read_text().splitlines()
    ]
    assert len(lines) == 12
