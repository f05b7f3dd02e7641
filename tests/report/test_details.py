"""What only a report shows, and the table does not."""

import pytest
from report_of import SETTINGS, exact, judged, near, new

from dedup.evidence import Evidence
from dedup.methods import SimHash
from dedup.page import Page
from dedup.record import PageRecord
from dedup.report import Details, Summary
from dedup.report.report import NameCount, NameCounts
from dedup.rule import Kind, Verdict
from dedup.url_advice import Contents, Effect


def test_lengths_are_counted_in_doubling_buckets(summary, detector):
    judged(summary, detector, "one", "two words", "three words here", *2 * ["w " * 8], "w " * 9)
    lengths = summary.finish(detector).lengths
    assert [bucket.from_ for bucket in lengths] == [0, 1, 2, 4, 8]
    assert [bucket.to for bucket in lengths] == [0, 1, 3, 7, 15]
    assert [bucket.kept for bucket in lengths] == [0, 1, 2, 0, 2]
    assert [bucket.duplicates for bucket in lengths] == [0, 0, 0, 0, 1]


def test_hosts_patterns_and_the_course_of_the_crawl_are_counted(summary, detector):
    summary.record(new(), "http://a/1.html", 20)
    summary.record(exact("http://a/1.html"), "http://a/2.html", 20)
    summary.record(near("http://a/1.html", 3), "http://b/v1.0/", 30)
    summary.record(Verdict(Kind.SKIPPED, "simhash", reason="empty"), "http://c/", 0)
    report = summary.finish(detector)
    assert report.timeline.buckets == (
        (1, 0, 0, 0, 0, 0, 0),
        (0, 1, 0, 0, 0, 0, 0),
        (0, 0, 1, 0, 0, 0, 0),
        (0, 0, 0, 0, 0, 0, 1),
    )
    assert report.hosts == NameCounts(2, (NameCount("a", 2, 1), NameCount("b", 1, 1)))
    assert [row.name for row in report.url_patterns.largest] == ["a/*.html", "b/{version}/"]


def test_urls_are_advised_on(summary, detector):
    for n in range(6):
        summary.record(new(), f"http://a/{n}", 20)
        summary.record(exact(f"http://a/{n}"), f"http://a/{n}?utm_source=x", 20)
    advice = summary.finish(detector).url_advice
    assert [(item.kind, item.name) for item in advice.advice] == [("parameter", "utm_source")]
    assert advice.with_deny == Effect(pages=6, contents=0)


@pytest.mark.parametrize(("coverage", "view", "is_advised"), [
    (0.9, 0, True), (0.1, 0, True), (0.1, 1, False),
])  # fmt: skip
def test_advice_does_not_rest_on_texts_that_are_no_evidence(
    summary, detector, coverage, view, is_advised
):
    """Pages with the text of a menu are the same only if they show the same."""
    for n in range(6):
        for place, query in enumerate(("", "?ref=home")):
            seen = bytes([n, place * view]) * 8
            evidence = Evidence(coverage, seen, 1000).to_bytes()
            digest = b"%16d" % (n if coverage > 0.5 else 0)
            known = Page(PageRecord(tokens=99, digest=digest, evidence=evidence))
            summary.record(new(), f"http://a/{n}{query}", 20, known)
    advice = summary.finish(detector).url_advice.advice
    assert [item.name for item in advice if item.is_advised] == ["ref"] * is_advised


def two_versions(summary, *, host="a", count=6):
    """Pages of /v2/ with their copies in /v1/, and nothing else."""
    for number in range(count):
        original = f"http://{host}/v2/{number}.html"
        summary.record(new(), original, 10)
        summary.record(exact(original), f"http://{host}/v1/{number}.html", 10)


def rules(summary, detector):
    advice = summary.finish(detector).url_advice.advice
    return [(one.deny, one.discarder) for one in advice if one.deny or one.discarder]


def test_what_is_a_copy_wherever_it_is_may_be_denied(summary, detector):
    two_versions(summary)
    assert rules(summary, detector)


def test_pages_that_were_not_compared_are_not_denied(summary, detector):
    two_versions(summary)
    skipped = Verdict(Kind.SKIPPED, "simhash", reason="empty")
    summary.record(skipped, "http://a/v1/gallery.html", 10)
    assert not [deny for deny, _ in rules(summary, detector) if deny and "v1" in deny]


def test_pages_of_which_an_item_is_unique_are_not_denied(summary, detector):
    two_versions(summary)
    for number in range(6):
        summary.record(new(), f"http://a/v1/{number}.html", 10)
    assert rules(summary, detector) == []


def test_of_hosts_whose_urls_are_not_all_known_nothing_is_denied(summary, detector, monkeypatch):
    monkeypatch.setattr("dedup.url_advice.contents.MOST_URLS", 24)
    two_versions(summary)
    two_versions(summary, host="b")
    known = rules(summary, detector)
    assert {deny for deny, _ in known} == {"^https?://a/v1/", "^https?://b/v1/", None}
    summary.record(new(), "http://c/v1/unique.html", 10)
    assert rules(summary, detector) == known
    summary.record(new(), "http://a/v1/unique.html", 10)
    assert [deny for deny, _ in rules(summary, detector)] == ["^https?://b/v1/", None]
    assert {a.host for a in summary.finish(detector).url_advice.advice} == {"a", "b"}


def test_pages_are_compared_with_each_other_whatever_they_repeat(stats, detector):
    """In one row, each next to the last: the outer ones are near others, not each other."""
    contents = Contents(SimHash(max_distance=1))
    summary = Summary(stats, SETTINGS, details=Details(contents=contents, min_tokens=20))
    for number in range(6):
        for folder, sketch in (("v1", 0b0), ("v2", 0b1), ("v3", 0b11)):
            data = SimHash().to_bytes(number << 8 | sketch)
            read = Page(PageRecord("", "", 50, f"{number}{folder}".encode(), data))
            summary.record(near("http://a/", 1), f"http://a/{folder}/{number}.html", 10, read)
    advice = {a.name: a for a in summary.finish(detector).url_advice.advice}
    assert advice["/v2/"].other == "/v3/"
    assert advice["/v1/"].other == "/v2/"
    # Without v1, v2 has to stay, and the other way round.
    assert [a.name for a in advice.values() if a.deny] == ["/v1/"]


@pytest.mark.parametrize(("tokens", "agreed"), [(19, []), (20, [6])])
def test_short_pages_are_the_same_only_if_their_texts_are(stats, detector, tokens, agreed):
    details = Details(contents=Contents(SimHash()), min_tokens=20)
    summary = Summary(stats, SETTINGS, details=details)
    for number in range(6):
        for folder in ("v1", "v2"):
            sketch = SimHash().to_bytes(number << 8)
            read = Page(PageRecord("", "", tokens, f"{number}{folder}".encode(), sketch))
            summary.record(new(), f"http://a/{folder}/{number}.html", 10, read)
    advice = summary.finish(detector).url_advice.advice
    assert [a.agreed for a in advice if a.name == "/v1/"] == agreed
