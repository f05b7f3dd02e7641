"""What is counted in a crawl."""

import tracemalloc
from contextlib import closing
from datetime import datetime

import pytest
from cases import each
from report_of import SETTINGS, exact, judged, new, page
from texts import CHINESE, TRADITIONAL_CHINESE, article

from dedup.detector import Detector
from dedup.evidence import Evidence
from dedup.methods import SimHash
from dedup.page import Page
from dedup.record import PageRecord
from dedup.report import Summary, as_text
from dedup.report.counts import Counters
from dedup.rule import Kind, Verdict
from dedup.url_advice import Contents


def test_the_report_of_an_empty_crawl_has_nothing_but_zeros(summary, detector):
    report = summary.finish(detector.follower.view, detector.store, spider="mine")
    assert datetime.fromisoformat(report.started).utcoffset() is not None
    assert 0 <= report.pop("seconds") < 5
    size = detector.store.nbytes + detector.follower.view.nbytes
    assert report.index == {"pages": 0, "bytes": size}
    assert report.nearest_kept == {"sample": 0, "pages": 0, "within": 16, "distances": {}}
    assert (report.spider, report.settings) == ("mine", SETTINGS)
    told = {"started", "index", "nearest_kept", "spider", "settings"}

    def is_empty(value):
        return not value or (isinstance(value, dict) and all(map(is_empty, value.values())))

    assert {key for key, value in report.items() if not is_empty(value)} == told


def test_the_fields_are_told_in_which_items_of_kept_pages_differ(summary):
    for number in range(12):
        differing = {"views": "12", f"f{number:02}": "x"}
        summary.record(new(), f"http://a/{number}", 1, differences=differing)
    found = summary.finish().item_differences
    assert (found.pages, found.in_fields, found.url) == (12, 9, "http://a/0")
    assert found.fields[:2] == [
        {"name": "views", "pages": 12, "value": "12"},
        {"name": "f00", "pages": 1, "value": "x"},
    ]
    assert [field.name for field in found.fields[2:]] == [f"f{n:02}" for n in range(1, 9)]


def test_the_times_of_stages_are_summed_and_the_index_is_weighed(summary, stats, detector):
    for milliseconds in range(1, 101):
        summary.record_time("extraction", milliseconds / 1000)
    detector.judge(page("a page of some words " * 20).record.under("http://a/"))
    report = summary.finish(detector.follower.view, detector.store)
    [(stage, time)] = report.seconds_per_page.items()
    assert (stage, time.pages) == ("extraction", 100)
    assert time.sum == pytest.approx(5.05)
    size = detector.store.nbytes + detector.follower.view.nbytes
    assert (report.index.pages, report.index.bytes) == (1, size)
    assert stats.get_stats()["dedup/index/pages"] == 1
    assert stats.get_stats()["dedup/index/bytes"] == report.index.bytes


def test_a_page_that_is_met_twice_is_a_duplicate_and_no_group(stats, detector):
    summary = Summary(stats, SETTINGS, drops=False)
    summary.record(new(), "http://a/", 10)
    summary.record(exact("http://a/"), "http://a/", 10)
    for number in range(1001):
        summary.record(Verdict(Kind.CHANGED, "simhash"), f"http://a/{number}", 1)
    report = summary.finish(detector.follower.view, detector.store)
    assert (report.pages.exact_duplicates, report.groups, report.largest_groups) == (1, 0, [])
    assert report.saved.bytes == 0  # where duplicates are stored
    # No more than 1,000 pages are named.
    assert (report.pages.changed, len(report.revisits.changed)) == (1001, 1000)


def test_where_nobody_sees_a_report_only_the_table_is_gathered(stats, detector):
    tables = []
    for has_report in (False, True):
        summary = Summary(stats, SETTINGS, has_report=has_report)
        with closing(summary.events):
            judged(summary, detector, article(1), article(1), article(2))
            report = summary.finish(detector.follower.view, detector.store)
            assert bool([*summary.events.texts()]) == has_report
        assert (report.nearest_kept.sample > 0) == has_report
        tables.append(as_text(report).partition("group")[2])
        detector, stats = Detector(SimHash()), Counters()
    assert tables[0] == tables[1]


NEAR = (
    [(number << 8).to_bytes(8) for number in range(6)],
    [(number << 8 | 1).to_bytes(8) for number in range(6)],
)


@each(
    ("skipped", "min_tokens", "weak", "is_advised"),
    [
        (False, 20, False, True),
        (True, 20, False, False),  # what was not compared is like no other
        (False, 500, False, False),  # short texts are not near others
        (False, 20, True, False),  # a main text that is no evidence
    ],
)
def test_url_advice_is_of_what_was_compared(stats, skipped, min_tokens, weak, is_advised):
    summary = Summary(stats, SETTINGS, contents=Contents(SimHash()), min_tokens=min_tokens)
    for query, sketches in zip(("", "?ref=home"), NEAR, strict=True):
        for number, sketch in enumerate(sketches):
            evidence = Evidence(0.1 if weak else 1, f"{number}{query:9}".encode()[:16], 1000)
            digest = f"{number}{query:15}".encode()
            record = PageRecord("", "", 300, digest, sketch, evidence.to_bytes())
            verdict = Verdict(Kind.SKIPPED, "simhash", reason="error") if skipped else new()
            summary.record(verdict, f"http://a/{number}{query}", 1, Page(record))
    assert bool(summary.finish().url_advice.advice) == is_advised


def test_a_crawl_that_simplifies_chinese_needs_no_advice_to(stats):
    pytest.importorskip("opencc")
    for method, is_told in ((SimHash(), True), (SimHash().simplifying_chinese(), False)):
        summary, detector = Summary(stats, SETTINGS), Detector(method)
        judged(summary, detector, CHINESE, TRADITIONAL_CHINESE)
        report = summary.finish(detector.follower.view, detector.store)
        assert bool(report.chinese_scripts) == is_told


@pytest.mark.slow
def test_a_page_takes_no_memory(stats):
    summary = Summary(stats, SETTINGS, has_report=False)

    def record(numbers):
        for number in numbers:
            sketch = SimHash().to_bytes(number << 8)
            read = Page(PageRecord("", "", 300, number.to_bytes(16), sketch), "text")
            summary.record(new(), f"http://a/{number}", 100, read)

    record(range(1000))
    tracemalloc.start()
    record(range(1000, 11_000))
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept < 10 * 10_000
