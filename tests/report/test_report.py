"""The JSON form of reports, and its file: others read it, so each key, and its place, stays."""

import json
from pathlib import Path

import pytest
from cases import each
from report_of import SETTINGS, changed, far_copy, names, no_text, page, report_of
from texts import article, edited

from dedup.detector import Detector
from dedup.methods import SimHash
from dedup.report import Report, Summary
from dedup.report.counts import Counters
from dedup.report.html import as_html
from dedup.report.report import write_json
from dedup.rule import Kind, Verdict
from dedup.stores import StoreState
from dedup.url_advice import Contents

EXAMPLE = Path(__file__).with_name("report.json").read_text("utf-8")


def record_a_crawl(summary, detector):
    """Have *summary* count something of everything."""
    texts = [(f"http://a/{n}{q}", article(n)) for n in range(5) for q in ("", "?print=1")]
    texts += [("http://b/1", edited(article(1))), ("http://b/far", far_copy(1))]
    for url, text in texts:
        summary.record(detector.judge(page(text).record.under(url)), url, len(text), page(text))
    for kind, distance in ((Kind.CHANGED, 5), (Kind.UNCHANGED, None), (Kind.REPEATED, None)):
        summary.record(Verdict(kind, "simhash", None, distance), f"http://c/{kind}", 9)
    summary.record(Verdict(Kind.NEAR, "simhash", "http://c/", 0.123), "http://c/share", 9)
    better = Verdict(Kind.EXACT, "simhash", "http://c/", 0, preferred="http://c/clean")
    summary.record(better, "http://c/clean", 9)
    summary.record(Verdict(Kind.SKIPPED, "simhash", reason="too_short"), "http://d/", 9)
    summary.record(Verdict(Kind.NEAR, "simhash", "http://a/1", 3), "http://B:81/3", 9)
    for number, name in enumerate(
        (
            "items/dropped", "items/marked", "items/unmarked", "items/unknown", "links_held_back",
            "errors", "unread/timeout", "claims/committed", "bodies_read_again", "bodies_repeated",
        ),
        start=1,
    ):  # fmt: skip
        summary.count(name, number)
    summary.count("seconds_saved", 0.25)
    summary.record_time("extraction", 0.01)


def report_of_a_crawl():
    detector = Detector(SimHash())
    summary = Summary(Counters(), SETTINGS, contents=Contents(SimHash()))
    record_a_crawl(summary, detector)
    ledger = StoreState("pages.sqlite", run=2, is_resumed=False, unpublished=1)
    report = summary.finish(detector.follower.view, detector.store, ledger, spider="news")
    return changed(
        report,
        started="2026-01-02T03:04:05+00:00",
        seconds=2.5,
        pages={**report.pages, "per_second": 6.4},
        index={**report.index, "bytes": 12345},
    )


def test_its_json_is_the_documented_one_and_is_read_back():
    report = Report.from_json(json.loads(EXAMPLE))
    assert report_of_a_crawl() == json.loads(EXAMPLE) == report
    assert report.pages.judged == 19
    as_html(report, no_text, ())


def test_one_of_an_older_version_is_read_and_shown():
    old = json.loads(EXAMPLE)
    for key in ("dropped_text", "weak", "chinese_scripts", "preferred"):
        del old[key]
    report = Report.from_json(old)
    assert (report.dropped_text, report.preferred, report.weak) == (None, 0, {})
    as_html(report, no_text, ())


def test_every_key_is_documented():
    described = (Path(__file__).parents[2] / "docs" / "report.md").read_text("utf-8")
    table = described.partition("# The JSON report")[2]
    assert [key for key in json.loads(EXAMPLE) if f"`{key}`" not in table] == []


@pytest.mark.parametrize("values", [[], "pages", None, {}, {"pages": {}}])
def test_what_is_no_report_is_refused(values):
    with pytest.raises(ValueError, match=r"Report (?:lacks .*groups|must be an object)"):
        Report.from_json(values)


def test_what_nobody_knows_is_null_and_not_missing():
    report = Summary(Counters(), SETTINGS).finish()
    assert report.keys() == json.loads(EXAMPLE).keys()
    assert (report.url_advice, report.ledger) == (None, None)


NEWS = changed(report_of([]), spider="news", started="2026-01-02T03:04:05+00:00")


def test_it_is_named_after_the_site_and_the_start_and_overwrites_nothing(tmp_path):
    paths = [write_json(changed(NEWS, errors=n), tmp_path / "new") for n in range(3)]
    start = "news-2026-01-02T030405Z"
    assert [path.name for path in paths] == [f"{start}.json", f"{start}-2.json", f"{start}-3.json"]
    assert [json.loads(path.read_text())["errors"] for path in paths] == [0, 1, 2]


def test_the_site_is_the_host_of_most_pages_or_else_the_spider(tmp_path):
    def name(*hosts):
        counts = names(len(hosts), *((*host, 0) for host in hosts))
        pages = changed(NEWS.pages, judged=sum(pages for _, pages in hosts))
        path = write_json(changed(NEWS, hosts=counts, pages=pages), tmp_path)
        return path.name.partition("-2026")[0]

    assert name(("shop.example:8000", 9), ("b.example", 2)) == "shop.example_8000"
    assert name(("a.example", 2), ("b.example", 2), ("c.example", 2)) == "news"
    assert name(("..", 2)) == "news"
    assert name() == "news"


@each("spider", ["../a b", "x" * 300, "爬虫" * 200, "", "\ud800"])
def test_any_name_of_a_spider_makes_a_name_of_a_file_in_the_folder(tmp_path, spider):
    path = write_json(changed(NEWS, spider=spider), tmp_path)
    assert path.parent == tmp_path
    assert json.loads(path.read_text("utf-8"))["spider"] == spider
