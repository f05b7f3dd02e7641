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
