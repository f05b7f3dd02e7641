"""Pages that are just no near-duplicates."""

from report_of import SETTINGS, far_copy, html, judged, nearest, page, report_of_crawl
from texts import article, edited

from dedup.methods import SimHash
from dedup.report import Summary
from dedup.url_advice import Contents

FAR = far_copy(1)


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


def test_near_misses_are_sought_in_their_own_scope(summary, detector):
    judged(summary, detector, article(1), FAR, scope="one")
    assert len(summary.finish(detector).near_misses) == 1


def test_near_misses_are_not_sought_in_other_scopes(summary, detector):
    judged(summary, detector, article(1), scope="one")
    judged(summary, detector, FAR, scope="another")
    assert summary.finish(detector).near_misses == []


def test_near_misses_of_a_large_crawl_are_sought_for_a_sample(detector, monkeypatch, stats):
    monkeypatch.setattr("dedup.report.sample._KEPT_PAGES", 10)
    summary = Summary(stats, SETTINGS, contents=Contents())
    judged(summary, detector, *(article(n) for n in range(30)), "too short")
    kept = summary.finish(detector).nearest_kept
    assert kept.sample in (9, 10)
    assert kept.pages in (28, 31)


def test_the_sample_stands_for_the_pages_that_are_long_enough(detector, monkeypatch, stats):
    monkeypatch.setattr("dedup.report.sample._KEPT_PAGES", 10)
    summary = Summary(stats, SETTINGS, contents=Contents())
    judged(summary, detector, *(text for n in range(30) for text in (article(n), f"short {n}")))
    kept = summary.finish(detector).nearest_kept
    assert 0 < kept.sample < 10
    assert kept.pages == 60 * kept.sample / 10


def test_near_misses_that_there_was_no_time_for_stand_for_pages_too(summary, detector, monkeypatch):
    monkeypatch.setattr("dedup.report.second_look._SECONDS", 0)
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
