import json
from dataclasses import replace
from datetime import UTC, datetime

from report_of import SETTINGS, page, report_of
from texts import article, edited

from dedup.detector import Detector
from dedup.methods import SimHash
from dedup.report import PageVerdict, Report, as_text, replay, write_html, write_json
from dedup.url_advice import Contents

PAGES = [
    (f"http://a.example/{n}{query}", page(text))
    for n in range(8)
    for query, text in (("", article(n)), ("?print=1", article(n)), ("?old", edited(article(n))))
]
START = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def verdicts():
    detector = Detector(SimHash())
    for url, read in PAGES:
        verdict = detector.judge(read.record.under(url))
        original, distance, tokens = verdict.original, verdict.distance, read.record.tokens
        size = len(read.text)
        yield PageVerdict(url, verdict.kind, original, distance, tokens, size, verdict.reason)


def replayed(**options):
    return replay(verdicts(), SETTINGS, spider="test", started=START, **options)


def test_the_report_is_that_of_the_crawl():
    of_crawl = report_of(PAGES)
    report = replayed(seconds=10, contents=Contents())
    assert report.url_advice.advice
    assert report == replace(
        of_crawl,
        started="2026-01-02T03:04:05+00:00",
        seconds=10,
        pages=replace(of_crawl.pages, per_second=2.4),
        # What was not there to be seen.
        seconds_per_page={},
        index=report.index,
        nearest_kept=report.nearest_kept,
        near_misses=(),
    )


def test_its_reports_can_be_written(tmp_path, open_store):
    report = replayed(seconds=0)
    assert report.pages.per_second is None
    path = write_json(report, tmp_path)
    again = Report.from_json(json.loads(path.read_text("utf-8")))
    assert again == report
    write_html(again, open_store(0), path.with_suffix(".html"))
    assert "http://a.example/1" in path.with_suffix(".html").read_text("utf-8")
    assert "near-duplicates" in as_text(report)


def test_without_contents_there_is_no_url_advice():
    assert replayed(seconds=10).url_advice is None
