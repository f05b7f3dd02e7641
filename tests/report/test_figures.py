"""What the figures of the HTML report show."""

import re
from dataclasses import replace

import pytest
from report_of import report_of

from dedup.report.figures import bars_of_stages
from dedup.report.html import as_html
from dedup.report.report import NameCount, NameCounts, NearestKept, StageTime, VerdictTimeline
from dedup.rule import Kind

EMPTY = report_of([])


@pytest.fixture
def html_of(open_store):
    return lambda report: as_html(report, open_store(0))


def pictured(html, name):
    """What a figure of a report says, and the rows of its table."""
    figure = re.search(rf'<figure class="card" id="{name}">.*?</figure>', html, re.DOTALL)[0]
    rows = re.findall(r'<th scope="row">(.*?)</th>((?:<td>.*?</td>)+)', figure)
    return figure, [(label, *re.findall("<td>(.*?)</td>", cells)) for label, cells in rows]


def test_waiting_does_not_make_the_bars_of_work_short():
    seconds = {"waiting": 500, "extract": 4, "sketch": 1}
    stages = bars_of_stages({name: StageTime(1, s, s, s) for name, s in seconds.items()})
    assert [stage.width for stage in stages] == [100, 100, 25]


def test_bars_of_a_sample_are_of_all_pages_and_said_to_be_estimated(html_of):
    nearest = NearestKept(sample=10, pages=30, within=16, distances={4: 5})

    def distances(nearest):
        return pictured(
            html_of(replace(EMPTY, distances={2: 7}, nearest_kept=nearest)), "distances"
        )

    figure, rows = distances(nearest)
    assert rows == [("2", "7", "0"), ("4", "0", "15")]
    assert "estimated from a sample of 10 of the kept pages" in figure
    assert ">16<" in figure
    figure, rows = distances(replace(nearest, pages=10))
    assert rows == [("2", "7", "0"), ("4", "0", "5")]
    assert "Kept pages looked at: 10." in figure
    figure, rows = distances(replace(nearest, distances={}))
    assert rows == [("2", "7", "0")]
    assert ">16<" not in figure  # where there is nothing to be seen


def test_the_course_of_a_crawl_has_revisits_only_where_there_were_some(html_of):
    kinds = tuple(kind.value for kind in Kind)

    def timeline(others, buckets):
        bucket = tuple(9 if kind is Kind.NEW else others for kind in Kind)
        course = VerdictTimeline(kinds, 500, buckets * (bucket,))
        figure, rows = pictured(html_of(replace(EMPTY, timeline=course)), "timeline")
        return re.findall('<li class="(.*?)">', figure), rows

    legend, rows = timeline(others=1, buckets=3)
    assert legend == ["new", "changed", "exact", "near", "unchanged", "repeated", "skipped"]
    assert rows == [(start, "9", *"111111") for start in ("0", "500", "1,000")]
    legend, rows = timeline(others=0, buckets=1)
    assert legend == ["new", "exact", "near", "skipped"]


@pytest.mark.slow
def test_hosts_and_patterns_are_listed_with_the_shares_of_their_duplicates(html_of):
    def listed(hosts, patterns):
        hosts, patterns = (
            NameCounts(count, tuple(NameCount(*row) for row in rows))
            for count, rows in (hosts, patterns)
        )
        html = html_of(replace(EMPTY, hosts=hosts, url_patterns=patterns))
        cells = r"<bdi[^>]*>(.*?)</bdi></th><td>(.*?)</td><td>(.*?)</td><td>(.*?)</td>"
        return re.findall(cells, html), re.findall(r"[\d,]+ of [\d,]+ shown", html)

    long = f"a/{'x' * 500}"
    one = (1, [("a", 4, 1)])
    assert listed(one, (2, [("a/*", 3, 1), (long, 1, 0)])) == (
        [  # a card for one host would say nothing
            ("/*", "3", "1", "33 %"),
            (f"/{'x' * 199}…{'x' * 199}", "1", "0", "0 %"),
        ],
        [],
    )
    two = (2, [("a", 4, 1), ("b", 2, 2)])
    many = (1500, [(f"a/{number}", 1000, 0) for number in range(13)])
    rows, counts = listed(two, many)
    assert rows[:3] == [
        ("a", "4", "1", "25 %"), ("b", "2", "2", "100 %"), ("a/0", "1,000", "0", "0 %"),
    ]  # fmt: skip
    assert (len(rows), counts) == (2 + 12, ["12 of 1,500 shown"])


def test_figures_say_what_they_count_and_nothing_is_told_of_what_was_not_saved(html_of):
    pages = replace(EMPTY.pages, per_second=22.89)
    times = {"waiting": StageTime(9, 3.06, 3.1, 963.0), "extraction": StageTime(9, 0.01, 0.1, 37.0)}
    html = html_of(replace(EMPTY, pages=pages, seconds_per_page=times))
    assert "22.9 pages a second" in html
    assert "22.9 页/秒" in html
    assert ("963 s" in html, "16.1 min" in html, "37 s" in html) == (False, False, True)
    assert "of reading saved</span>" not in html
    assert "not stored again</span>" not in html
    assert "largest of" not in html
