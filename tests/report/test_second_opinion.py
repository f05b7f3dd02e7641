"""What another setting would have found in a crawl."""

import sys

import pytest
from cases import each
from report_of import far_copy, html, report_of_crawl
from texts import CHINESE, TRADITIONAL_CHINESE, article

from dedup.methods import METHODS

FAR = far_copy(1)
MORE = article(7, 400)


def opinion(texts, *pages, **options):
    return report_of_crawl(texts, *pages, **options).second_opinion


def test_kept_pages_that_repeat_others_by_verified_are_counted(open_store):
    pages = [html(text, "One") for text in (article(1), FAR, article(2))]
    found = {"method": "verified", "compared": 3, "near": 1}
    assert opinion(open_store(9), *pages) == found


def test_those_of_which_no_text_was_kept_do_not_count(open_store):
    pages = [html(text, "One") for text in (article(1), FAR)]
    assert opinion(open_store(1), *pages) == {"method": "verified", "compared": 1, "near": 0}
    assert opinion(open_store(0), *pages) is None


def test_pages_that_were_kept_for_a_reason_are_no_copies(open_store):
    titles = html(article(1), "One thing"), html(FAR, "Quite another")
    assert opinion(open_store(9), *titles)["near"] == 0
    longer = html(article(1), "One"), html(f"{FAR} {MORE}", "One")
    assert opinion(open_store(9), *longer)["near"] == 0
    for price, near in ((b"5 euros.", 1), (b"9 euros.", 0)):
        items = (html(article(1), "One"), b"5 euros."), (html(FAR, "One"), price)
        assert opinion(open_store(9), *items)["near"] == near


def test_a_crawl_with_that_method_has_none(open_store):
    assert opinion(open_store(9), html(article(1), "One"), method=METHODS["verified"]()) is None


def in_both_scripts(number):
    yield html(f"{CHINESE}\n{article(number, 10)}", "米粉")
    yield html(f"{TRADITIONAL_CHINESE}\n{article(number, 10)}", "米粉")


def scripts(texts, *pages, **options):
    return report_of_crawl(texts, *pages, **options).chinese_scripts


def test_versions_in_both_chinese_scripts_are_counted(open_store):
    pytest.importorskip("opencc")
    pages = [*in_both_scripts(1), html(article(1), "English")]
    assert scripts(open_store(9), *pages) == {"simplified": 1, "traditional": 1, "near": 1}


def test_without_opencc_only_the_pages_are_counted(open_store, monkeypatch):
    monkeypatch.setitem(sys.modules, "opencc", None)
    found = scripts(open_store(9), *in_both_scripts(1))
    assert found == {"simplified": 1, "traditional": 1, "near": None}


@each("text", [CHINESE, TRADITIONAL_CHINESE, article(1), "日本語の文章です。学校へ行きます。" * 9])
def test_one_script_alone_says_nothing(text, open_store):
    assert scripts(open_store(9), html(text, "One")) is None


def test_a_crawl_that_simplifies_chinese_needs_no_advice_to(open_store):
    pytest.importorskip("opencc")
    method = METHODS["simhash"]().simplifying_chinese()
    half = TRADITIONAL_CHINESE[: len(TRADITIONAL_CHINESE) // 2]
    pages = html(CHINESE, "米粉"), html(half, "米粉")
    assert scripts(open_store(9), *pages, method=method) is None
    assert scripts(open_store(9), *pages)["near"] == 0
