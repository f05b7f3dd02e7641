"""Every method in a crawl, by one setting."""

import pytest
from cases import sampled
from crawls import crawl_site
from texts import CHINESE, ENGLISH, article, page

from dedup.methods import METHODS

SITE = {
    "/en": page(ENGLISH),
    "/en-again": page(ENGLISH, footer="Another footer"),
    "/zh": page(CHINESE),
    "/zh-again": page(CHINESE, footer="Another footer"),
    "/one": page(article(1)),
    "/empty": page(""),
}


@pytest.mark.slow
@pytest.mark.parametrize("method", sampled(METHODS, "minhash", "verified", "exact"))
def test_a_method_is_chosen_by_one_setting(method):
    result = crawl_site(SITE, DEDUP_METHOD=method)
    assert result.stored == ["/en", "/zh", "/one", "/empty"]
    assert {exception.verdict.method for _, exception in result.dropped} == {method}
    assert result.messages() == []
