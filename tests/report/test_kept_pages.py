"""What a sample of the kept pages shows at the end of a crawl."""

import random

import pytest
from report_of import SETTINGS, far_copy, judged, nearest, page
from texts import article

from dedup.methods import SimHash
from dedup.record import PageRecord
from dedup.report import Summary
from dedup.report.kept_pages import KeptPages
from dedup.url_advice import Contents

FAR = far_copy(1)


def test_the_same_are_drawn_whatever_the_order_and_each_is_as_likely(monkeypatch):
    monkeypatch.setattr("dedup.report.kept_pages._PAGES", 20)
    keys, drawn, early = [f"http://a/{n}" for n in range(1000)], [], 0
    for seed in range(3):
        random.Random(seed).shuffle(keys)
        kept = KeptPages()
        for key in keys:
            kept.add(PageRecord(key))
        drawn.append([record.key for record in kept._sample])
    assert drawn[0] == drawn[1] == drawn[2]
    assert len(set(drawn[0])) == 20
    for crawl in range(200):
        kept = KeptPages()
        for n in range(100):
            kept.add(PageRecord(f"http://{crawl}/{n}"))
        early += sum(int(record.key.rpartition("/")[2]) < 50 for record in kept._sample)
    assert 0.45 < early / 4000 < 0.55


def distance_of(*texts):
    first, second = (SimHash().from_bytes(page(text).record.sketch) for text in texts)
    return (first ^ second).bit_count()


def test_near_misses_are_pages_just_beyond_the_threshold(summary, detector):
    judged(summary, detector, article(1), FAR, article(2))
    report = summary.finish(detector.follower.view, detector.store)
    (pair,) = report.near_misses
    assert {pair.url, pair.other} == {"http://a/0", "http://a/1"}
    assert 3 < pair.distance == distance_of(article(1), FAR)
    assert report.nearest_kept == nearest(3, 3, {f"{pair.distance}": 2})


def test_what_is_farther_than_twice_the_threshold_is_counted_and_not_named(stats, detector):
    summary = Summary(stats, {**SETTINGS, "DEDUP_MAX_DISTANCE": 1}, contents=Contents())
    judged(summary, detector, article(1), FAR)
    report = summary.finish(detector.follower.view, detector.store)
    assert (report.near_misses, sum(report.nearest_kept.distances.values())) == ([], 2)


@pytest.mark.parametrize(("scope", "found"), [("one", 1), ("another", 0)])
def test_near_misses_are_sought_in_their_own_scope(summary, detector, scope, found):
    judged(summary, detector, article(1), scope="one")
    judged(summary, detector, article(2), FAR, scope=scope)
    assert len(summary.finish(detector.follower.view, detector.store).near_misses) == found


def test_the_sample_stands_for_the_pages_that_are_long_enough(detector, monkeypatch, stats):
    monkeypatch.setattr("dedup.report.kept_pages._PAGES", 10)
    summary = Summary(stats, SETTINGS, contents=Contents())
    judged(summary, detector, *(text for n in range(30) for text in (article(n), f"short {n}")))
    kept = summary.finish(detector.follower.view, detector.store).nearest_kept
    assert 0 < kept.sample < 10
    assert kept.pages == 60 * kept.sample / 10


def test_near_misses_that_there_was_no_time_for_stand_for_pages_too(summary, detector, monkeypatch):
    monkeypatch.setattr("dedup.report.kept_pages._SECONDS", 0)
    judged(summary, detector, *map(article, range(20)))
    kept = summary.finish(detector.follower.view, detector.store).nearest_kept
    assert kept.sample <= 1
    assert kept.pages == 20
