"""What a sample of the kept pages shows at the end of a crawl."""

import random
import sys

import pytest
from cases import each
from report_of import SETTINGS, far_copy, html, judged, nearest, page, report_of_crawl
from texts import CHINESE, TRADITIONAL_CHINESE, article, edited

from dedup.methods import METHODS, SimHash
from dedup.report import Summary
from dedup.report.kept_pages import Sample
from dedup.url_advice import Contents

FAR = far_copy(1)


def test_the_same_are_drawn_whatever_the_order():
    keys = [f"http://a/{n}" for n in range(1000)]
    drawn = []
    for seed in range(3):
        random.Random(seed).shuffle(keys)
        sample = Sample(20)
        for key in keys:
            sample.add(key, key)
        drawn.append(list(sample))
        assert (sample.added, len(sample)) == (1000, 20)
    assert drawn[0] == drawn[1] == drawn[2]


def test_each_is_as_likely_to_be_drawn():
    early = 0
    for crawl in range(200):
        sample = Sample(10)
        for n in range(100):
            sample.add(f"http://{crawl}/{n}", n)
        early += sum(value < 50 for value in sample)
    assert 0.45 < early / 2000 < 0.55


def test_values_need_no_order_and_few_are_all_kept():
    sample = Sample(3)
    for n in range(2):
        sample.add("same", {n})
    assert list(sample) == [{0}, {1}]


def distance_of(*texts):
    first, second = (SimHash().from_bytes(page(text).record.sketch) for text in texts)
    return (first ^ second).bit_count()


def test_near_misses_are_pages_just_beyond_the_threshold(summary, detector):
    judged(summary, detector, article(1), FAR, article(2))
    report = summary.finish(detector)
    (pair,) = report.near_misses
    assert {pair.url, pair.other} == {"http://a/0", "http://a/1"}
    assert 3 < pair.distance == distance_of(article(1), FAR)
    assert report.nearest_kept == nearest(3, 3, {f"{pair.distance}": 2})


def test_what_is_farther_than_twice_the_threshold_is_counted_and_not_named(stats, detector):
    summary = Summary(stats, {**SETTINGS, "DEDUP_MAX_DISTANCE": 1}, contents=Contents())
    judged(summary, detector, article(1), FAR)
    report = summary.finish(detector)
    assert (report.near_misses, sum(report.nearest_kept.distances.values())) == ([], 2)


@pytest.mark.parametrize(("scope", "found"), [("one", 1), ("another", 0)])
def test_near_misses_are_sought_in_their_own_scope(summary, detector, scope, found):
    judged(summary, detector, article(1), scope="one")
    judged(summary, detector, article(2), FAR, scope=scope)
    assert len(summary.finish(detector).near_misses) == found


def test_the_sample_stands_for_the_pages_that_are_long_enough(detector, monkeypatch, stats):
    monkeypatch.setattr("dedup.report.kept_pages._PAGES", 10)
    summary = Summary(stats, SETTINGS, contents=Contents())
    judged(summary, detector, *(text for n in range(30) for text in (article(n), f"short {n}")))
    kept = summary.finish(detector).nearest_kept
    assert 0 < kept.sample < 10
    assert kept.pages == 60 * kept.sample / 10


def test_near_misses_that_there_was_no_time_for_stand_for_pages_too(summary, detector, monkeypatch):
    monkeypatch.setattr("dedup.report.kept_pages._SECONDS", 0)
    judged(summary, detector, *map(article, range(20)))
    kept = summary.finish(detector).nearest_kept
    assert kept.sample <= 1
    assert kept.pages == 20


def test_long_texts_that_only_another_title_kept_come_first(open_store):
    def found(words):
        texts = article(1, words), edited(article(1, words)), article(2), far_copy(2)
        titles = "One", "Quite another", "Same", "Same"
        report = report_of_crawl(open_store(9), *map(html, texts, titles))
        return [(miss.distance, miss.objection) for miss in report.near_misses]

    retitled, other = found(300)
    assert retitled[0] <= 3 < other[0]
    assert retitled[1] == "other title"
    assert found(150) == [other]


def opinion(texts, *pages, **options):
    return report_of_crawl(texts, *pages, **options).second_opinion


@pytest.mark.parametrize(
    ("room", "found"),
    [
        (9, {"method": "verified", "compared": 3, "near": 1}),
        (1, {"method": "verified", "compared": 1, "near": 0}),  # the texts of others were not kept
        (0, None),
    ],
)
def test_kept_pages_that_repeat_others_by_verified_are_counted(open_store, room, found):
    pages = [html(text, "One") for text in (article(1), FAR, article(2))]
    assert opinion(open_store(room), *pages) == found


def test_pages_that_were_kept_for_a_reason_are_no_copies(open_store):
    titles = html(article(1), "One thing"), html(FAR, "Quite another")
    assert opinion(open_store(9), *titles)["near"] == 0
    longer = html(article(1), "One"), html(f"{FAR} {article(7, 400)}", "One")
    assert opinion(open_store(9), *longer)["near"] == 0
    for price, near in ((b"5 euros.", 1), (b"9 euros.", 0)):
        items = (html(article(1), "One"), b"5 euros."), (html(FAR, "One"), price)
        assert opinion(open_store(9), *items)["near"] == near


def test_a_crawl_with_that_method_has_no_second_opinion(open_store):
    assert opinion(open_store(9), html(article(1), "One"), method=METHODS["verified"]()) is None


def in_both_scripts(number):
    yield html(f"{CHINESE}\n{article(number, 10)}", "米粉")
    yield html(f"{TRADITIONAL_CHINESE}\n{article(number, 10)}", "米粉")


def scripts(texts, *pages, **options):
    return report_of_crawl(texts, *pages, **options).chinese_scripts


def test_versions_in_both_chinese_scripts_are_counted(open_store, monkeypatch):
    pytest.importorskip("opencc")
    pages = [*in_both_scripts(1), html(article(1), "English")]
    counts = {"simplified": 1, "traditional": 1}
    assert scripts(open_store(9), *pages) == {**counts, "near": 1}
    monkeypatch.setitem(sys.modules, "opencc", None)
    assert scripts(open_store(9), *pages) == {**counts, "near": None}


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
