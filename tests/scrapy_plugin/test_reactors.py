"""The layer works on every reactor, and without one."""

import json
from pathlib import Path
from typing import Any

import pytest
from crawls import query, start_process, urls_in
from texts import article, edited, page
from web import served

pytestmark = pytest.mark.slow


def run(reactor: str, workers: int, site: dict[str, str], *paths: str, **settings: Any) -> Any:
    """The stats of a crawl in a process of its own."""
    with served(site) as url:
        process = start_process(reactor, [url + path for path in paths], workers, **settings)
        output, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (0, "")
    return json.loads(output)


# Most crawls of the tests, in the tests' own process, have none.
@pytest.mark.parametrize(("reactor", "workers"), [("asyncio", 1), ("select", 0)])
def test_a_crawl_judges_stores_and_remembers_every_page_on_every_reactor(
    reactor: str, workers: int, tmp_path: Path
):
    """What a callback awaits is a part of its items.

    The ledger is written again and again, also where feeds are closed, and checkpoints end, within
    one step.
    """
    products = {f"/{number}": page(article(number)) for number in range(12)}
    products |= {f"/a{number}": page(edited(article(20), f"w{number}")) for number in range(3)}
    reviews = {f"/a{number}/reviews": page(article(number // 2 + 30)) for number in range(3)}
    reviews |= {f"/{number}/reviews": page("No reviews") for number in range(12)}
    stats = run(
        reactor, workers, products | reviews, *products, WITH_REVIEWS=True,
        DEDUP_INDEX=str(tmp_path / "pages.sqlite"), CHECKPOINT_INTERVAL=0.02, DOWNLOAD_DELAY=0.02,
        FEEDS={str(tmp_path / "%(batch_id)d"): {"format": "jsonlines", "batch_item_count": 5}},
    )  # fmt: skip
    assert stats["dedup/pages"] == 15
    assert stats["item_scraped_count"] == 14
    assert stats["item_dropped_reasons_count/NearDuplicate"] == 1
    assert stats["dedup/checkpoints/written"] > 1  # the end writes one, too
    assert "dedup/checkpoints/failed" not in stats
    assert query(tmp_path / "pages.sqlite", "SELECT count(*) FROM pages") == [(14,)]
    assert query(tmp_path / "pages.sqlite", "SELECT reason FROM crawls") == [("finished",)]
    assert len([path for batch in "123" for path in urls_in(tmp_path / batch)]) == 14


@pytest.mark.parametrize("reactor", ["asyncio", "select"])
def test_the_claim_of_an_item_from_start_that_is_replaced_ends_on_every_reactor(reactor: str):
    """Else its copy would wait for a minute, and be kept."""
    texts = [article(1), article(2)]
    stats = run(reactor, 0, {}, START_TEXTS=texts, DEDUP_ITEM_FIELD="text")
    assert (stats["item_scraped_count"], stats["item_dropped_count"]) == (2, 2)
    assert stats["dedup/claims/committed"] == 2
