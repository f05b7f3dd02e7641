"""A crawl that meets nothing new any more can end by itself (DEDUP_CLOSE_UNCHANGED)."""

from typing import Any

import pytest
from crawls import known_site
from texts import article, page


@pytest.mark.slow
@pytest.mark.parametrize(
    ("limit", "changed", "seen", "reason"),
    [
        (3, [], 3, "dedup_unchanged"),
        (3, [2], 6, "dedup_unchanged"),  # 0, 1, a changed one, 3, 4, 5
        (3, [0, 1, 2, 3, 5], 10, "dedup_unchanged"),  # 7, 8, 9 at last; 4 and 6 stand alone
        (11, [], 10, "finished"),
        (0, [], 10, "finished"),
    ],
)
def test_so_many_unchanged_pages_in_a_row_end_the_crawl(
    limit: int, changed: list[int], seen: int, reason: str, tmp_path: Any
):
    feeds = {str(tmp_path / "items.jl"): {"format": "jsonlines"}}
    pages = {f"/{number}": page(article(number)) for number in range(10)}
    with known_site(pages, tmp_path) as site:
        site.crawl(FEEDS=feeds)
        site.pages |= {f"/{number}": page(article(number + 100)) for number in changed}
        result = site.crawl(FEEDS=feeds, DEDUP_CLOSE_UNCHANGED=limit, DOWNLOAD_DELAY=0.05)
    assert result.stats["finish_reason"] == reason
    assert "log_count/ERROR" not in result.stats
    counts = result.dedup_stats
    # What is under way when the crawl is closed is still judged.
    assert seen <= counts["unchanged"] + counts.get("changed", 0) <= seen + (limit == 3)
