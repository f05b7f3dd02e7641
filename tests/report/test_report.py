import json
from datetime import datetime

import pytest
from report_of import page
from texts import article

from dedup.detector import Detector
from dedup.methods import SimHash
from dedup.page import Page, PageReader
from dedup.report import Summary, as_text
from dedup.rule import Kind, Verdict
from dedup.url_advice import Contents

SETTINGS = {"DEDUP_METHOD": "simhash", "DEDUP_MAX_DISTANCE": 3, "DEDUP_SCOPE": "crawl"}
EMPTY_PAGES = {
    "judged": 0,
    "new": 0,
    "exact_duplicates": 0,
    "near_duplicates": 0,
    "unchanged": 0,
    "changed": 0,
    "repeated": 0,
    "skipped": {},
    "per_second": 0.0,
}


class Stats:
    """Counters in a dict, as Scrapy's stats collector keeps them."""

    def __init__(self):
        self.values = {}

    def inc_value(self, key, count=1, start=0):
        self.values[key] = self.values.get(key, start) + count

    def set_value(self, key, value):
        self.values[key] = value

    def get_value(self, key, default=None):
        return self.values.get(key, default)

    def get_stats(self):
        return self.values


@pytest.fixture
def stats():
    return Stats()


@pytest.fixture
def summary(stats):
    return Summary(stats, SETTINGS)


@pytest.fixture
def detector():
    return Detector(SimHash())


def new():
    return Verdict(Kind.NEW, "simhash")


def exact(original):
    return Verdict(Kind.EXACT, "simhash", original, 0)


def near(original, distance):
    return Verdict(Kind.NEAR, "simhash", original, distance)


def row(table, label):
    """The value beside *label*, the lines of it joined."""
    cells = [line.split("|")[1:3] for line in table.splitlines() if line.count("|") == 3]
    start = next(i for i, (name, _) in enumerate(cells) if name.strip() == label)
    value = [cells[start][1].strip()]
    for name, text in cells[start + 1 :]:
        if name.strip():
            break
        value.append(text.strip())
    return "\n".join(value)


def test_verdicts_are_counted_in_the_stats(summary, stats):
    summary.record(new(), "http://a/1", 100)
    summary.record(exact("http://a/1"), "http://a/2", 20)
    summary.record(near("http://a/1", 2), "http://b/3", 30)
    summary.record(near("http://a/1", 2), "http://b/4", 40)
    summary.record(Verdict(Kind.SKIPPED, "simhash", reason="too_short"), "http://a/5", 5)
    assert stats.values == {
        "dedup/pages": 5,
        "dedup/new": 1,
        "dedup/exact_duplicates": 1,
        "dedup/near_duplicates": 2,
        "dedup/bytes_saved": 90,
        "dedup/distance/2": 2,
        "dedup/skipped/too_short": 1,
    }


def test_the_report_of_an_empty_crawl_has_all_parts(summary, detector):
    numbers = summary.finish(detector)
    assert datetime.fromisoformat(numbers.pop("started")).utcoffset() is not None
    assert 0 <= numbers.pop("seconds") < 5
    assert numbers.pop("index") == {"pages": 0, "bytes": detector.nbytes}
    assert numbers == {
        "settings": SETTINGS,
        "pages": EMPTY_PAGES,
        "items": {"dropped": 0, "marked": 0, "unmarked": 0, "unknown": 0},
        "links_held_back": 0,
        "revisits": {"unchanged": [], "changed": []},
        "ledger": None,
        "claims": {},
        "distances": {},
        "groups": 0,
        "largest_groups": [],
        "duplicates_by_host": {},
        "hosts": {"names": 0, "largest": []},
        "url_patterns": {"names": 0, "largest": []},
        "url_advice": {
            "pages": 0,
            "advice": [],
            "with_deny": {"pages": 0, "contents": 0},
            "with_discarder": {"pages": 0, "contents": 0},
        },
        "nearest_kept": {"sample": 0, "pages": 0, "within": 16, "distances": {}},
        "near_misses": [],
        "timeline": {
            "kinds": [kind.value for kind in Kind],
            "pages_per_bucket": 1,
            "buckets": [],
        },
        "lengths": [],
        "saved": {"bytes": 0, "pages_not_read_again": 0, "seconds": 0},
        "seconds_per_page": {},
        "unread": {},
        "errors": 0,
        "texts_lost": 0,
    }


def test_the_report_tells_groups_hosts_and_distances(summary, detector):
    summary.record(exact("http://a/1"), "http://a/2", 20)
    summary.record(near("http://a/1", 3), "http://B:81/3", 30)
    summary.record(near("http://c/", 1), "http://b:81/4", 40)
    numbers = summary.finish(detector)
    first = [
        {"url": "http://a/2", "verdict": "exact-duplicate", "distance": 0},
        {"url": "http://B:81/3", "verdict": "near-duplicate", "distance": 3},
    ]
    other = [{"url": "http://b:81/4", "verdict": "near-duplicate", "distance": 1}]
    assert numbers["largest_groups"] == [
        {"original": "http://a/1", "duplicates": 2, "first": first},
        {"original": "http://c/", "duplicates": 1, "first": other},
    ]
    assert numbers["duplicates_by_host"] == {"b:81": 2, "a": 1}
    assert numbers["distances"] == {1: 1, 3: 1}
    assert numbers["groups"] == 2


def test_other_counters_reach_the_report(summary, detector):
    for name in (
        "items/dropped",
        "items/marked",
        "items/unmarked",
        "items/unknown",
        "links_held_back",
        "errors",
    ):
        summary.count(name)
    summary.count("unread/timeout", 2)
    summary.count("bodies_repeated")
    summary.count("seconds_saved", 0.25)
    numbers = summary.finish(detector)
    assert numbers["items"] == {"dropped": 1, "marked": 1, "unmarked": 1, "unknown": 1}
    assert numbers["saved"] == {"bytes": 0, "pages_not_read_again": 1, "seconds": 0.25}
    assert (numbers["links_held_back"], numbers["errors"]) == (1, 1)
    assert numbers["unread"] == {"timeout": 2}


def test_the_times_of_stages_are_summed(summary, detector):
    for milliseconds in range(1, 101):
        summary.record_time("extraction", milliseconds / 1000)
    times = summary.finish(detector)["seconds_per_page"]
    expected = {"pages": 100, "median": 0.05, "p95": 0.095, "sum": 5.05}
    assert times == {"extraction": pytest.approx(expected, rel=0.02)}


def test_the_size_of_the_index_is_in_report_and_stats(summary, stats, detector):
    page = PageReader(lambda html: html, SimHash()).read_html("a page of some words " * 20)
    detector.judge("http://a/", page)
    numbers = summary.finish(detector)
    assert numbers["index"] == {"pages": 1, "bytes": detector.nbytes}
    assert stats.values["dedup/index/pages"] == 1
    assert stats.values["dedup/index/bytes"] == detector.nbytes > 0


def test_memory_outside_the_detector_is_counted_too(summary, stats, detector):
    numbers = summary.finish(detector, other_bytes=1000)
    assert numbers["index"] == {"pages": 0, "bytes": detector.nbytes + 1000}
    assert stats.values["dedup/index/bytes"] == detector.nbytes + 1000


def test_the_report_can_be_written_as_json(summary, detector):
    summary.record(near("http://a/\ud800", 3), "http://例子.测试/[b]", 30)
    summary.record(Verdict(Kind.SKIPPED, "simhash", reason="empty"), "", 0)
    summary.record_time("sketch", 0.5)
    numbers = summary.finish(detector)
    read_again = json.loads(json.dumps(numbers))
    assert read_again.pop("distances") == {"3": 1}
    assert read_again == {key: value for key, value in numbers.items() if key != "distances"}


def test_an_empty_crawl_has_a_table(summary, detector):
    table = as_text(summary.finish(detector))
    assert "Duplicates in this crawl" in table
    assert row(table, "pages") == "0 (0.0 a second)"
    assert row(table, "method") == "simhash, distance at most 3"
    assert row(table, "other settings") == "scope=crawl"


def test_the_table_shows_the_settings_that_are_not_the_defaults(summary, detector):
    numbers = {**summary.finish(detector)}
    defaults = {**SETTINGS, "DEDUP_WORKERS": 1, "DEDUP_REPORT": "reports"}
    numbers["settings"] = {**defaults, "DEDUP_SCOPE": "host", "DEDUP_REPORT": ""}
    assert row(as_text(numbers, defaults), "other settings") == "scope=host, report="
    assert row(as_text(numbers, numbers["settings"]), "other settings") == "the defaults"


def test_the_table_shows_counts_with_their_shares(summary, detector):
    for verdict in [new()] * 1500 + [exact("http://a/")] * 300 + [near("http://a/", 2)] * 200:
        summary.record(verdict, "http://b/", 10)
    table = as_text(summary.finish(detector))
    assert row(table, "new") == "1,500 (75.0%)"
    assert row(table, "exact duplicates") == "300 (15.0%)"
    assert row(table, "near-duplicates") == "200 (10.0%)"
    assert row(table, "duplicates by host") == "b: 500"


def test_the_table_shows_skipped_and_unread_pages_by_reason(summary, detector):
    summary.record(Verdict(Kind.SKIPPED, "simhash", reason="too_short"), "http://a/", 5)
    summary.count("unread/timeout", 3)
    table = as_text(summary.finish(detector))
    assert row(table, "skipped (kept)") == "1 (100.0%): too short: 1"
    assert row(table, "pages not read") == "timeout: 3"


STEPS = ("0 to 0.05", "0.05 to 0.1", "0.1 to 0.15", "0.35 to 0.4")


def test_shares_and_wide_distances_are_counted_in_steps(summary, detector):
    for distance in (0.0, 0.123, 0.125, 0.35):
        summary.record(near("http://a/", distance), "http://b/", 10)
    numbers = summary.finish(detector)
    assert numbers["distances"] == {0: 1, 0.13: 2, 0.35: 1}
    table = as_text(numbers)
    assert [row(table, f"distance {step}")[-1] for step in STEPS] == list("1021")
    for distance in (3, 59):
        summary.record(near("http://a/", distance), "http://b/", 10)
    table = as_text(summary.finish(detector))
    assert [row(table, f"distance {s} to {s + 3}")[-1] for s in (0, 3, 57)] == list("411")


def test_whole_distances_are_counted_in_steps_if_they_are_many(summary, detector):
    for distance in (0, 1, 30):
        summary.record(near("http://a/", distance), "http://b/", 10)
    table = as_text(summary.finish(detector))
    assert [row(table, f"distance {s} to {s + 2}")[-1] for s in (0, 2, 30)] == list("201")


@pytest.mark.parametrize(
    ("size", "shown"),
    [
        (999, "999 bytes"),
        (1000, "1.0 kB"),
        (999_900, "999.9 kB"),
        (1_000_000, "1.0 MB"),
        (12_300_000_000, "12.3 GB"),
    ],
)
def test_what_is_saved_is_told_in_a_fitting_unit(summary, detector, size, shown):
    summary.record(near("http://a/", 1), "http://b/", size)
    assert row(as_text(summary.finish(detector)), "saved").startswith(f"{shown} not stored")


def test_a_page_that_is_met_twice_is_a_duplicate_and_no_group(summary, detector):
    summary.record(new(), "http://a/", 10)
    summary.record(exact("http://a/"), "http://a/", 10)
    numbers = summary.finish(detector)
    assert (numbers["pages"]["exact_duplicates"], numbers["saved"]["bytes"]) == (1, 10)
    assert (numbers["groups"], numbers["largest_groups"]) == (0, [])


def test_nothing_is_saved_where_duplicates_are_stored(stats, detector):
    summary = Summary(stats, SETTINGS, drops=False)
    summary.record(exact("http://a/"), "http://b/", 10)
    assert summary.finish(detector)["saved"]["bytes"] == 0


def test_bodies_that_were_read_again_are_not_saved(summary, detector):
    summary.count("bodies_repeated", 5)
    summary.count("bodies_read_again", 2)
    assert summary.finish(detector)["saved"]["pages_not_read_again"] == 3


def test_no_more_than_1000_changed_pages_are_named(summary, detector):
    for number in range(1001):
        summary.record(Verdict(Kind.CHANGED, "simhash"), f"http://a/{number}", 1)
    numbers = summary.finish(detector)
    assert numbers["pages"]["changed"] == 1001
    assert len(numbers["revisits"]["changed"]) == 1000


def test_the_bars_of_distances_are_as_long_as_their_counts(summary, detector):
    for distance, count in [(1, 30), (3, 1)]:
        for _ in range(count):
            summary.record(near("http://a/", distance), "http://b/", 10)
    table = as_text(summary.finish(detector))
    bars = [row(table, f"distance {distance}") for distance in range(4)]
    assert bars == ["0", "#" * 30 + " 30", "0", "# 1"]


@pytest.mark.parametrize(
    "hostile", ["[bold]x[/bold]", "[/]", "[/red]", "[link=http://evil/]", "\\[b]", ":smile:", "{0}"]
)
def test_markup_in_urls_is_shown_as_it_is(summary, detector, hostile):
    url = f"http://a{hostile}/{hostile}"
    summary.record(near(url, 2), f"{url}2", 10)
    table = as_text(summary.finish(detector))
    assert row(table, "group of 2") == f"{url}\n= {url}2 (distance 2)"
    assert "\x1b" not in table


def test_the_table_tells_exact_copies_from_near_ones(summary, detector):
    summary.record(exact("http://a/"), "http://b/", 10)
    summary.record(near("http://a/", 0), "http://c/", 10)
    lines = row(as_text(summary.finish(detector)), "group of 3").splitlines()
    assert lines == ["http://a/", "= http://b/ (exact)", "= http://c/ (distance 0)"]


def test_only_some_copies_and_hosts_are_shown(summary, detector):
    for number in range(9):
        summary.record(exact("http://a/"), f"http://host{number}/", 10)
    table = as_text(summary.finish(detector))
    assert row(table, "group of 10").endswith("and 6 more")
    assert row(table, "duplicates by host").endswith("and 4 more")


def test_the_table_is_ascii_and_fits_its_width(summary, detector):
    summary.record(near("http://a/" + "x" * 480, 2), "http://b/" + "y" * 5000, 10**9)
    summary.record_time("extraction", 0.01)
    table = as_text(summary.finish(detector))
    assert table.isascii()
    assert max(map(len, table.splitlines())) <= 100
    assert table.count("x") >= 480
    assert table.count("y") < 500  # what is longer is cut in its middle


FAR = " ".join(
    "other" if place % 25 == 0 else word for place, word in enumerate(article(1).split())
)
"""A copy of article(1) that is just no near-duplicate."""


def judged(summary, detector, *texts, scope=""):
    for number, text in enumerate(texts):
        read = page(text)
        verdict = detector.judge(f"http://a/{number}", read, scope)
        summary.record(verdict, f"http://a/{number}", len(text), read, scope)


def test_near_misses_are_pages_just_beyond_the_threshold(summary, detector):
    judged(summary, detector, article(1), FAR, article(2))
    numbers = summary.finish(detector)
    (pair,) = numbers["near_misses"]
    assert {pair["url"], pair["other"]} == {"http://a/0", "http://a/1"}
    assert 3 < pair["distance"] == (page(article(1)).sketch ^ page(FAR).sketch).bit_count()
    assert numbers["nearest_kept"] == {
        "sample": 3,
        "pages": 3,
        "within": 16,
        "distances": {pair["distance"]: 2},
    }


def test_near_misses_are_sought_in_their_own_scope(summary, detector):
    judged(summary, detector, article(1), FAR, scope="one")
    assert len(summary.finish(detector)["near_misses"]) == 1


def test_near_misses_are_not_sought_in_other_scopes(summary, detector):
    judged(summary, detector, article(1), scope="one")
    judged(summary, detector, FAR, scope="another")
    assert summary.finish(detector)["near_misses"] == []


def test_near_misses_of_a_large_crawl_are_sought_for_a_sample(detector, monkeypatch, stats):
    monkeypatch.setattr("dedup.report.summary._NEAR_MISSES_SOUGHT", 10)
    summary = Summary(stats, SETTINGS)
    judged(summary, detector, *(article(n) for n in range(30)), "too short")
    nearest = summary.finish(detector)["nearest_kept"]
    assert nearest["sample"] in (9, 10)
    assert nearest["pages"] in (28, 31)


def test_the_sample_stands_for_the_pages_that_are_long_enough(detector, monkeypatch, stats):
    monkeypatch.setattr("dedup.report.summary._NEAR_MISSES_SOUGHT", 10)
    summary = Summary(stats, SETTINGS)
    judged(summary, detector, *(text for n in range(30) for text in (article(n), f"short {n}")))
    nearest = summary.finish(detector)["nearest_kept"]
    assert 0 < nearest["sample"] < 10
    assert nearest["pages"] == 60 * nearest["sample"] / 10


def test_near_misses_that_there_was_no_time_for_stand_for_pages_too(summary, detector, monkeypatch):
    monkeypatch.setattr("dedup.report.summary._NEAR_MISSES_SECONDS", 0)
    judged(summary, detector, *map(article, range(20)))
    nearest = summary.finish(detector)["nearest_kept"]
    assert nearest["sample"] <= 1
    assert nearest["pages"] == 20


def test_lengths_are_counted_in_doubling_buckets(summary, detector):
    judged(summary, detector, "one", "two words", "three words here", *2 * ["w " * 8], "w " * 9)
    lengths = summary.finish(detector)["lengths"]
    assert [bucket["from"] for bucket in lengths] == [0, 1, 2, 4, 8]
    assert [bucket["to"] for bucket in lengths] == [0, 1, 3, 7, 15]
    assert [bucket["kept"] for bucket in lengths] == [0, 1, 2, 0, 2]
    assert [bucket["duplicates"] for bucket in lengths] == [0, 0, 0, 0, 1]


def test_hosts_patterns_and_the_course_of_the_crawl_are_counted(summary, detector):
    summary.record(new(), "http://a/1.html", 20)
    summary.record(exact("http://a/1.html"), "http://a/2.html", 20)
    summary.record(near("http://a/1.html", 3), "http://b/v1.0/", 30)
    summary.record(Verdict(Kind.SKIPPED, "simhash", reason="empty"), "http://c/", 0)
    numbers = summary.finish(detector)
    assert numbers["timeline"]["buckets"] == [
        [1, 0, 0, 0, 0, 0, 0],
        [0, 1, 0, 0, 0, 0, 0],
        [0, 0, 1, 0, 0, 0, 0],
        [0, 0, 0, 0, 0, 0, 1],
    ]
    assert numbers["hosts"] == {
        "names": 2,
        "largest": [
            {"name": "a", "pages": 2, "duplicates": 1},
            {"name": "b", "pages": 1, "duplicates": 1},
        ],
    }
    assert [row["name"] for row in numbers["url_patterns"]["largest"]] == [
        "a/*.html",
        "b/{version}/",
    ]


def test_urls_are_advised_on(summary, detector):
    for n in range(6):
        summary.record(new(), f"http://a/{n}", 20)
        summary.record(exact(f"http://a/{n}"), f"http://a/{n}?utm_source=x", 20)
    advice = summary.finish(detector)["url_advice"]
    assert [(item["kind"], item["name"]) for item in advice["advice"]] == [
        ("parameter", "utm_source")
    ]
    assert advice["with_deny"] == {"pages": 6, "contents": 0}


def two_versions(summary, *, host="a", count=6):
    """Pages of /v2/ with their copies in /v1/, and nothing else."""
    for number in range(count):
        original = f"http://{host}/v2/{number}.html"
        summary.record(new(), original, 10)
        summary.record(exact(original), f"http://{host}/v1/{number}.html", 10)


def rules(summary, detector):
    advice = summary.finish(detector)["url_advice"]["advice"]
    return [(one["deny"], one["discarder"]) for one in advice if one["deny"] or one["discarder"]]


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
    assert {a["host"] for a in summary.finish(detector)["url_advice"]["advice"]} == {"a", "b"}


def test_pages_are_compared_with_each_other_whatever_they_repeat(stats, detector):
    """In one row, each next to the last: the outer ones are near others, not each other."""
    contents = Contents(SimHash(max_distance=1))
    summary = Summary(stats, SETTINGS, contents=contents, min_tokens=20)
    for number in range(6):
        for folder, sketch in (("v1", 0b0), ("v2", 0b1), ("v3", 0b11)):
            read = Page(None, None, None, 50, f"{number}{folder}".encode(), number << 8 | sketch)
            summary.record(near("http://a/", 1), f"http://a/{folder}/{number}.html", 10, read)
    advice = {a["name"]: a for a in summary.finish(detector)["url_advice"]["advice"]}
    assert advice["/v2/"]["other"] == "/v3/"
    assert advice["/v1/"]["other"] == "/v2/"
    # Without v1, v2 has to stay, and the other way round.
    assert [a["name"] for a in advice.values() if a["deny"]] == ["/v1/"]


@pytest.mark.parametrize(("tokens", "agreed"), [(19, []), (20, [6])])
def test_short_pages_are_the_same_only_if_their_texts_are(stats, detector, tokens, agreed):
    summary = Summary(stats, SETTINGS, contents=Contents(SimHash()), min_tokens=20)
    for number in range(6):
        for folder in ("v1", "v2"):
            read = Page(None, None, None, tokens, f"{number}{folder}".encode(), number << 8)
            summary.record(new(), f"http://a/{folder}/{number}.html", 10, read)
    advice = summary.finish(detector)["url_advice"]["advice"]
    assert [a["agreed"] for a in advice if a["name"] == "/v1/"] == agreed
