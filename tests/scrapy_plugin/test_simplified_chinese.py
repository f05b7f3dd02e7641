"""A method that simplifies Chinese, in crawls: both scripts match, and are stored as they were."""

import pytest
from crawls import crawl_site
from texts import CHINESE, TRADITIONAL_CHINESE, page

SITE = {
    "/cn": page(CHINESE, title="鸟类的迁徙"),
    "/tw": page(TRADITIONAL_CHINESE, title="鳥類的遷徙"),
    # Not equal, only near: its title has to agree.
    "/hk": page(TRADITIONAL_CHINESE + "\n更新", title="鳥類的遷徙").replace("h1>", "h2>"),
}


@pytest.mark.slow
@pytest.mark.parametrize(("workers", "first", "second"), [(0, "/cn", "/tw"), (1, "/tw", "/cn")])
def test_both_scripts_of_a_page_are_stored_once_as_the_first_of_them(workers, first, second):
    result = crawl_site(
        SITE, first, second, "/hk", DEDUP_METHOD={"name": "simhash", "simplify_chinese": True},
        DEDUP_FIELDS={"text": "text", "title": "title"}, DEDUP_WORKERS=workers,
    )  # fmt: skip
    assert result.stored == [first]
    exact, near = (result.dedup_stats[f"{kind}_duplicates"] for kind in ("exact", "near"))
    assert (exact >= 1, exact + near) == (True, 2)
    [item] = result.items
    assert item["title"] == ("鸟类的迁徙" if first == "/cn" else "鳥類的遷徙")
    assert (CHINESE if first == "/cn" else TRADITIONAL_CHINESE)[:40] in item["text"]
