"""What is found in a report, by reports that have it and others that have not."""

import ast
import re

import pytest
from cases import each
from report_of import SETTINGS, changed, names, nearest, no_text, report_of

from dedup.report.events import Copy
from dedup.report.findings import findings, lines_of
from dedup.report.html import as_html
from dedup.report.kept_pages import priority
from dedup.url_advice import url_advice

EMPTY = report_of([])
PAGES = changed(EMPTY.pages, judged=1000, near_duplicates=100)
HOSTILE = "http://a.example/</script><b>\u202e\x1b[31m{0}"


def group(count, *verdicts):
    return {
        "pages": PAGES,
        "largest_groups": [
            {
                "original": HOSTILE,
                "duplicates": count,
                "first": [
                    {"url": f"http://b/{v}", "verdict": v, "distance": 0, "title": None}
                    for v in verdicts
                ],
            }
        ],
    }


def distances(dropped, kept, threshold=3, sample=100):
    return {
        "settings": {**SETTINGS, "DEDUP_MAX_DISTANCE": threshold},
        "distances": dropped,
        "nearest_kept": nearest(sample, sample, kept),
    }


def waiting(seconds, workers=2, pages=1000):
    return {
        "settings": {**SETTINGS, "DEDUP_WORKERS": workers},
        "seconds_per_page": {"waiting": {"pages": pages, "sum": seconds * pages}},
    }


SHOP = [
    (f"http://a.example/{n}{query}", n if query in ("", "?ref=home") else query)
    for n in range(9)
    for query in ("", "?ref=home")
]
# Name, a report that has it, its setting, where it is shown; reports that have not.
VIEWS = {"name": "views", "pages": 12, "value": "12"}


def differences(pages, in_fields):
    return {
        "pages": pages, "in_fields": in_fields, "fields": [VIEWS],
        "url": "http://a/1", "original": "http://a/2",
    }  # fmt: skip


def dropped(exact, near, judged=100):
    return {**PAGES, "judged": judged, "exact_duplicates": exact, "near_duplicates": near}


FOUND = {
    "alarm": (
        {"pages": dropped(80, 11)},
        "",
        "groups",
        [
            {"pages": dropped(80, 10)},
            {"pages": dropped(90, 9, 99)},
            {"pages": dropped(80, 11), "settings": {**SETTINGS, "DEDUP_ACTION": "mark"}},
        ],
    ),
    "items": (
        {"item_differences": differences(12, 12)},
        'DEDUP_IGNORE_FIELDS = ["views"]',
        "items",
        [
            {"item_differences": None},
            {"item_differences": differences(99, 4)},
        ],
    ),
    "one_text": (
        group(60, *["exact-duplicate"] * 20),
        "",
        f"group-{priority(HOSTILE):016x}",
        [group(19, "exact-duplicate"), group(49, "exact-duplicate"), group(60, "near-duplicate")],
    ),
    "no_valley": (
        distances({0: 50, 1: 30, 2: 20, 3: 20}, {4: 15, 9: 60}),
        'DEDUP_ACTION = "mark"',
        "near-misses",
        [
            distances({0: 50, 3: 50}, {4: 2, 9: 60}),
            distances({3: 50}, {4: 50}, threshold=None),
            distances({3: 50}, {}, sample=0),
        ],
    ),
    "weak": (
        {"pages": PAGES, "weak": {"links": 50, "little": 30}},
        "",
        "evidence",
        [{"pages": PAGES, "weak": {"links": 49}}, {"weak": {"little": 4}}],
    ),
    "copies_only": (
        {"url_patterns": names(2, ("a.example/*", 50, 5), ("a.example/print/*.html", 5, 5))},
        "",
        "url_patterns",
        [
            {"url_patterns": names(1, ("a.example/print/*", 9, 8))},
            {"url_patterns": names(1, ("a.example/print/*?page", 5, 5))},
        ],
    ),
    "scripts": (
        {"chinese_scripts": {"simplified": 90, "traditional": 80}},
        "DEDUP_METHOD = {'name': 'simhash', 'simplify_chinese': True}",
        "near-misses",
        [{"chinese_scripts": {"simplified": 90, "traditional": 4}}, {"chinese_scripts": None}],
    ),
    "url_parts": (
        {"url_advice": url_advice(SHOP)},
        "DEDUP_SKIP_URLS = True",
        "advice",
        [
            {"url_advice": url_advice(SHOP[:6])},
            {"url_advice": None},
            {"url_advice": url_advice(SHOP), "settings": {**SETTINGS, "DEDUP_SKIP_URLS": True}},
        ],
    ),
    "cleaner": (
        {"preferred": 2},
        'DEDUP_PREFER = ["clean-url"]',
        "groups",
        [{"preferred": 0}],
    ),
    "preferred": (
        {
            "settings": {"DEDUP_PREFER": ["clean-url"]},
            "preferred": 2,
        },
        'DEDUP_DUPLICATES = "dropped.jsonl"',
        "groups",
        [{"preferred": 0}],
    ),
    "waiting": (
        waiting(1.5),
        "DEDUP_WORKERS = 3",
        "stages",
        [waiting(0.9), waiting(1.5, pages=99), {"seconds_per_page": {}}],
    ),
}


@pytest.mark.parametrize("name", FOUND)
def test_a_finding_has_figures_a_setting_and_a_link_to_its_evidence(name):
    has, setting, anchor, _ = FOUND[name]
    report = changed(EMPTY, **has)
    [found] = findings(report)
    assert (found.name, found.anchor) == (name, anchor)
    assert re.search(r"\d", str(found))
    ast.parse(found.setting)
    assert setting in (None, found.setting)
    copies = (
        Copy(group.original, copy.url, copy.verdict, copy.distance)
        for group in report.largest_groups
        for copy in group.first
    )
    html = as_html(report, no_text, copies)
    assert f'href="#{anchor}"' in html
    assert f'id="{anchor}"' in html
    assert html.count('id="setting-') == bool(found.setting)


@each(
    ("name", "number"), [(name, n) for name, found in FOUND.items() for n in range(len(found[3]))]
)
def test_a_report_that_has_it_not_does_not_say_so(name, number):
    report = changed(EMPTY, **FOUND[name][3][number])
    assert [found for found in findings(report) if found.name == name] == []


def test_an_empty_crawl_has_no_findings():
    assert findings(EMPTY) == []
    assert 'id="findings"' not in as_html(EMPTY, no_text, ())


@each("pages", [12, 99])
def test_fields_are_not_proposed_where_pages_may_be_other_things(pages):
    """They differ in two fields, in many, also in such that are not shown, or in numbers."""
    in_two = [VIEWS, {**VIEWS, "name": "price", "pages": 1}]
    in_many = [{**VIEWS, "name": name, "pages": 4} for name in ("views", "price", "name")]
    in_numbers = [{**VIEWS, "name": "numbers of text"}]
    for fields in (in_two, in_many, in_numbers):
        of_things = differences(pages, 12) | {"fields": fields}
        [found] = findings(changed(EMPTY, item_differences=of_things))
        assert (found.name, found.setting) == ("items", "")


@each("skips_urls", [False, True])
def test_of_folders_and_hosts_no_crawl_learns(skips_urls):
    pages = [(f"http://{host}.example/{n}", n) for n in range(9) for host in "ab"]
    settings = {**SETTINGS, "DEDUP_SKIP_URLS": skips_urls}
    [found] = findings(changed(EMPTY, url_advice=url_advice(pages), settings=settings))
    assert (found.name, found.setting) == ("url_parts", "")


def test_marking_is_not_proposed_to_a_crawl_that_marks():
    has, *_ = FOUND["no_valley"]
    settings = {**has["settings"], "DEDUP_ACTION": "mark"}
    [found] = findings(changed(EMPTY, **{**has, "settings": settings}))
    assert (found.name, found.setting) == ("no_valley", "")


def test_the_log_has_the_first_three_with_settings_and_nothing_that_steers_a_terminal():
    everything = {}
    for has, *_ in FOUND.values():
        everything |= has
    found = findings(changed(EMPTY, **everything))
    assert len(found) > 4
    lines = list(lines_of(found))
    assert len(lines) == 3
    assert lines[0].endswith('be left out. Try DEDUP_IGNORE_FIELDS = ["views"]')
    assert all(line.isprintable() for line in lines)
    assert "1,000" not in lines[0]
