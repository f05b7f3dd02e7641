"""A method that simplifies Chinese, in crawls: both scripts match, and are stored as they were."""

import pytest
from crawls import crawl_site
from texts import CHINESE, TRADITIONAL_CHINESE, page

SITE = {
    "/cn": page(CHINESE, title="鸟类的迁徙"),
    "/tw": page(TRADITIONAL_CHINESE, title="鳥類的遷徙"),
    # Not equal, only near: its title has to agree.
    "/hk": page(TRADITIONAL_CHINESE + "\n更新", title="鳥類的遷徙").replace("h1>", "h2>"),
    "/no-headline": page(TRADITIONAL_CHINESE, title="鳥類的遷徙").replace("h1>", "h2>"),
    "/other": page(TRADITIONAL_CHINESE, title="另一篇文章"),
}

SIMPLIFYING = {"name": "simhash", "simplify_chinese": True}


def crawled(*paths, **settings):
    """What a crawl of *paths* stores, by path, and its counters."""
    fields = {"text": "text", "title": "title"}
    result = crawl_site(SITE, *paths, DEDUP_FIELDS=fields, **settings)
    return dict(zip(result.stored, result.items, strict=True)), result.dedup_stats


@pytest.mark.slow
@pytest.mark.parametrize("workers", [0, 1])
def test_both_scripts_of_a_page_are_stored_once_as_the_first_of_them(workers):
    paths = ["/tw", "/cn", "/hk"] if workers else ["/cn", "/tw", "/hk"]
    stored, counts = crawled(*paths, DEDUP_METHOD=SIMPLIFYING, DEDUP_WORKERS=workers)
    assert list(stored) == paths[:1]
    assert counts["exact_duplicates"] >= 1
    assert counts["exact_duplicates"] + counts["near_duplicates"] == 2
    if workers:
        assert stored["/tw"]["title"] == "鳥類的遷徙"
        assert TRADITIONAL_CHINESE[:40] in stored["/tw"]["text"]
