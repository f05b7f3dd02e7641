"""The page of all reports: the crawls over time, and what changed."""

import re
import subprocess
import sys

import pytest
from browsers import chromium, console, show
from report_of import changed, dropped_text, names, report_of

from dedup.report import index_page
from dedup.report.index_page import add_to_index

EMPTY = report_of([])


def crawl_of(host, judged, *, spider="site", near=0, day=1, lost=None):
    pages = changed(EMPTY.pages, judged=judged, new=judged - near, near_duplicates=near)
    text = None if lost is None else dropped_text(1, 0, 100, lost, 0.01, False)
    return changed(
        EMPTY,
        spider=spider,
        pages=pages,
        hosts=names(1, (host, judged, 0)),
        started=f"2026-01-{day:02}T03:04:05+00:00",
        dropped_text=text,
    )


def added(folder, *reports):
    for number, report in enumerate(reports):
        path = folder / f"{number}.html"
        path.touch()
        page = add_to_index(report, path)
    return page


def rows_of(page):
    """The texts of the cells of each row."""
    body = page.read_text("utf-8").partition("<tbody>")[2]
    return [
        [
            " ".join(re.sub(r"<[^>]+>", " ", cell).split())
            for cell in re.split(r"</t[hd]>", row)[:-1]
        ]
        for row in body.split("</tr>")[:-1]
    ]


def test_crawls_are_listed_with_the_change_since_the_last_of_the_same_site(tmp_path):
    page = added(
        tmp_path,
        crawl_of("a.example", 1000, near=100, day=1),
        crawl_of("b.example", 5, day=2, lost=0.0123),
        crawl_of("a.example", 1200, near=60, day=3),
        crawl_of("a.example", 7, spider="other", day=4),
    )
    assert page == tmp_path / "index.html"
    rows = rows_of(page)
    assert [row[0] for row in rows] == [f"2026-01-0{day} 03:04" for day in (4, 3, 2, 1)]
    assert rows[1][1:7] == [
        "a.example site", "1,200 +200", "1,140 +240", "0", "60 −40", "5.0 % −5.0",
    ]  # fmt: skip
    assert [row[2] for row in rows] == ["7", "1,200 +200", "5", "1,000"]
    assert [row[7] for row in rows] == ["–", "–", "1.23 %", "–"]


def test_a_report_that_is_gone_has_no_link(tmp_path):
    added(tmp_path, crawl_of("a.example", 1), crawl_of("a.example", 2))
    (tmp_path / "0.html").unlink()
    page = add_to_index(crawl_of("a.example", 3), tmp_path / "1.html")
    assert re.findall('<a href="([^#"]+)"', page.read_text()) == ["1.html"] * 2


def test_lines_that_are_torn_and_names_that_are_hostile_do_no_harm(tmp_path):
    hostile = "<script>window.pwned=1</script>\u202e"
    added(tmp_path, crawl_of("a.example", 1), crawl_of("a.example", 2))
    with (tmp_path / "index.jsonl").open("a") as file:
        file.write('{"file": "x"}\n[]\n{"file": \n')
    page = add_to_index(crawl_of("c.example", 3, spider=hostile), tmp_path / "2.html")
    assert [row[2] for row in rows_of(page)] == ["3", "2 +1", "1"]
    source = page.read_text("utf-8")
    assert "<script>window" not in source
    assert "\u202e" not in source


def test_it_shows_the_last_500(tmp_path, monkeypatch):
    monkeypatch.setattr(index_page, "_SHOWN", 3)
    page = added(tmp_path, *(crawl_of("a.example", number) for number in range(1, 6)))
    assert [row[2] for row in rows_of(page)] == ["5 +1", "4 +1", "3"]


@pytest.mark.slow
def test_crawls_that_end_at_once_are_all_listed(tmp_path):
    script = (
        "import sys; from pathlib import Path; sys.path[:0] = sys.argv[2:];"
        "from test_index_page import added, crawl_of;"
        "[added(Path(sys.argv[1]), crawl_of('a.example', 1)) for _ in range(20)]"
    )
    command = [sys.executable, "-c", script, str(tmp_path), *sys.path]
    crawls = [subprocess.Popen(command) for _ in range(3)]
    assert [crawl.wait(60) for crawl in crawls] == [0, 0, 0]
    assert len(rows_of(tmp_path / "index.html")) == 60


@pytest.mark.slow
def test_it_opens_in_both_languages_on_a_phone_and_without_a_word_from_the_console(tmp_path):
    page = added(tmp_path, *(crawl_of("a.example", 1000 * n, near=n) for n in range(1, 4)))
    with chromium() as browser:
        for dark in (False, True):
            show(browser, page, width=390, dark=dark)
            assert console(browser) == []
            assert browser.execute_script("return document.documentElement.scrollWidth") <= 390
        assert browser.find_element("tag name", "h1").text == "Crawls and their duplicates"
        browser.find_element("css selector", "[data-language=zh]").click()
        assert browser.find_element("tag name", "h1").text == "历次抓取与重复内容"
        assert console(browser) == []
