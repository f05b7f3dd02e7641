"""Every method in a crawl, by one setting."""

import pytest
from cases import mixed
from crawls import crawl_site
from texts import CHINESE, ENGLISH, article, page

from dedup.methods import METHODS

SITE = {
    "/en": page(ENGLISH),
    "/en-again": page(ENGLISH, footer="Another footer"),
    "/zh": page(CHINESE),
    "/zh-again": page(CHINESE, footer="Another footer"),
    "/one": page(article(1)),
    "/two": page(article(2)),
    "/empty": page(""),
}


@pytest.mark.slow
@pytest.mark.parametrize(("method", "workers"), mixed(list(METHODS), [0, 0, 0, 1]))
def test_a_method_is_chosen_by_one_setting(method, workers):
    result = crawl_site(SITE, DEDUP_METHOD=method, DEDUP_WORKERS=workers)
    assert result.stored == ["/en", "/zh", "/one", "/two", "/empty"]
    assert {exception.verdict.method for _, exception in result.dropped} == {method}
    assert result.messages() == []


@pytest.mark.parametrize(
    ("method", "arguments", "message"),
    [
        ("verified", {"max_distance": 2}, "max_distance must be from 0 to 1, got 2"),
        ("verified", {"bits": 2}, "verified takes max_distance, got {'bits': 2}"),
        ("i-match", {"lexicon": "nowhere"}, "lexicon must be general, jieba or the path of a file"),
        ("segments", {"mode": "x"}, "mode must be one of paragraphs, equal, content-defined"),
    ],
)
def test_a_wrong_argument_stops_the_crawl_at_its_start(method, arguments, message):
    with pytest.raises(Exception, match="DEDUP_METHOD") as error:
        crawl_site(SITE, DEDUP_METHOD={"name": method, **arguments})
    assert message in str(error.value)
