"""The JSON form of reports: others read it, so each key, and its place, stays."""

import json
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from cases import each
from report_of import SETTINGS, page
from texts import article, edited

from dedup.detector import Detector
from dedup.methods import METHODS, SimHash
from dedup.page import PageReader
from dedup.report import Details, Report, Summary, write_html
from dedup.report.counts import Counters
from dedup.report.json_form import from_json
from dedup.report.report import DroppedText, LossyPage
from dedup.rule import Kind, Verdict
from dedup.stores import StoreState
from dedup.url_advice import Contents

EXAMPLE = Path(__file__).with_name("report.json").read_text("utf-8")
FAR = " ".join(
    "other" if place % 25 == 0 else word for place, word in enumerate(article(1).split())
)


def record_a_crawl(summary, detector):
    """Have *summary* count something of everything."""
    texts = [(f"http://a/{n}{q}", article(n)) for n in range(5) for q in ("", "?print=1")]
    texts += [("http://b/1", edited(article(1))), ("http://b/far", FAR)]
    for url, text in texts:
        summary.record(detector.judge(page(text).record.under(url)), url, len(text), page(text))
    for kind, distance in ((Kind.CHANGED, 5), (Kind.UNCHANGED, None), (Kind.REPEATED, None)):
        summary.record(Verdict(kind, "simhash", None, distance), f"http://c/{kind}", 9)
    summary.record(Verdict(Kind.NEAR, "simhash", "http://c/", 0.123), "http://c/share", 9)
    better = Verdict(Kind.EXACT, "simhash", "http://c/", 0, preferred="http://c/clean")
    summary.record(better, "http://c/clean", 9)
    summary.record(Verdict(Kind.SKIPPED, "simhash", reason="too_short"), "http://d/", 9)
    for name in ("items/dropped", "links_held_back", "unread/timeout", "claims/committed"):
        summary.count(name)
    summary.count("seconds_saved", 0.25)
    summary.record_time("extraction", 0.01)


def report_of_a_crawl():
    detector = Detector(SimHash())
    summary = Summary(Counters(), SETTINGS, details=Details(contents=Contents(SimHash())))
    record_a_crawl(summary, detector)
    ledger = StoreState("pages.sqlite", run=2, is_resumed=False, unpublished=1)
    report = summary.finish(detector, 100, ledger, spider="news")
    return replace(
        report,
        started="2026-01-02T03:04:05+00:00",
        seconds=2.5,
        pages=replace(report.pages, per_second=6.4),
        index=replace(report.index, bytes=12345),
    )


def test_its_json_is_the_documented_one():
    assert json.dumps(report_of_a_crawl().as_json(), indent=1) + "\n" == EXAMPLE


def test_it_is_read_back_from_its_json():
    report = report_of_a_crawl()
    assert Report.from_json(json.loads(EXAMPLE)) == report
    assert Report.from_json(report.as_json()) == report


def test_the_text_of_dropped_pages_is_read_back():
    text = DroppedText(3, 1, 500, 0.02, 0, False, (LossyPage("http://b/", "http://a/", 10, 200),))
    report = replace(report_of_a_crawl(), dropped_text=text)
    assert Report.from_json(json.loads(json.dumps(report.as_json()))) == report
    old = json.loads(EXAMPLE)
    del old["dropped_text"]
    assert Report.from_json(old).dropped_text is None


@each("name", METHODS)
def test_reports_with_every_method_are_read_back(name):
    method = METHODS[name]()
    reader, detector = PageReader(lambda html: html, method), Detector(method)
    details = Details(contents=Contents(method))
    summary = Summary(Counters(), SETTINGS, details=details)
    for number, text in enumerate([article(1), edited(article(1)), FAR, article(2)]):
        url, read = f"http://a/{number}", reader.read_html(text)
        summary.record(detector.judge(read.record.under(url)), url, 9, read)
    report = summary.finish(detector)
    assert Report.from_json(json.loads(json.dumps(report.as_json()))) == report


def test_every_key_is_documented():
    described = (Path(__file__).parents[2] / "docs" / "stats.md").read_text("utf-8")
    table = described.partition("# The JSON report")[2]
    assert [key for key in json.loads(EXAMPLE) if f"`{key}`" not in table] == []


def change(*path, to):
    def changed(form):
        *parents, last = path
        for key in parents:
            form = form[key]
        form[last] = to

    return changed


@each(
    ("damage", "message"),
    [
        (lambda form: form.pop("pages"), "Report lacks pages"),
        (lambda form: form["lengths"][0].pop("from"), r"Report.lengths lacks from"),
        (change("pages", "judged", to="3"), r"Report.pages.judged .* wrong type: '3'"),
        (change("index", to=[]), r"Report.index .* wrong type: \[\]"),
        (change("near_misses", to={}), r"Report.near_misses .* wrong type"),
        (change("saved", "seconds", to=None), r"Report.saved.seconds .* wrong type: None"),
        (change("distances", to={"x": 1}), "could not convert"),
        (change("url_advice", "advice", 0, "examples", 0, to=["one"]), "must have 2 values, got 1"),
    ],
)
def test_what_is_no_report_is_refused(damage, message):
    form = json.loads(EXAMPLE)
    damage(form)
    with pytest.raises(ValueError, match=message):
        Report.from_json(form)


def test_what_nobody_knows_is_null_and_not_missing(tmp_path, open_store):
    report = Summary(Counters(), SETTINGS).finish(None)
    report = replace(report, saved=None, pages=replace(report.pages, per_second=None))
    form = json.loads(json.dumps(report.as_json()))
    assert form.keys() == json.loads(EXAMPLE).keys()
    assert (form["url_advice"], form["saved"], form["ledger"]) == (None, None, None)
    assert Report.from_json(form) == report
    write_html(Report.from_json(form), open_store(0), tmp_path / "report.html")


def test_a_field_that_an_older_report_lacks_has_its_default():
    @dataclass(frozen=True, kw_only=True)
    class Newer:
        pages: int
        figure: int = 0
        names: tuple[str, ...] = field(default_factory=tuple)

    assert from_json(Newer, {"pages": 1}) == Newer(pages=1)
    assert from_json(Newer, {"pages": 1, "names": ["a"]}) == Newer(pages=1, names=("a",))
    with pytest.raises(ValueError, match="Newer lacks pages"):
        from_json(Newer, {"figure": 1})
