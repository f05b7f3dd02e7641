"""Every method in a crawl, by one setting."""

import pytest
from cases import mixed
from crawls import crawl, spider_over
from texts import CHINESE, ENGLISH, article, page
from web import served

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


def parse(self, response):
    yield {"url": response.url}


@pytest.mark.slow
@pytest.mark.parametrize(("method", "workers"), mixed(list(METHODS), [0, 0, 0, 1]))
def test_a_method_is_chosen_by_one_setting(method, workers):
    with served(SITE) as url:
        spider = spider_over(*(url + path for path in SITE), parse=parse)
        result = crawl(spider, DEDUP_METHOD=method, DEDUP_WORKERS=workers)
    kept = {item["url"].removeprefix(url) for item in result.items}
    assert kept == {"/en", "/zh", "/one", "/two", "/empty"}
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
    with served(SITE) as url, pytest.raises(Exception, match="DEDUP_METHOD") as error:
        crawl(spider_over(url, parse=parse), DEDUP_METHOD={"name": method, **arguments})
    assert message in str(error.value)
