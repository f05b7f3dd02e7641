"""The folder of reports: its files of numbers, and the page of all crawls."""

import json
import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from browsers import chromium, console, show
from report_of import changed, dropped_text, names, report_of

from dedup.report.folder import add_to_index, write_json

EMPTY = report_of([])
NEWS = changed(EMPTY, spider="news", started="2026-01-02T03:04:05+00:00")


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
        file.write('{"file": "x"}\n[]\n{"file": ')
    page = add_to_index(crawl_of("c.example", 3, spider=hostile), tmp_path / "2.html")
    assert [row[2] for row in rows_of(page)] == ["3", "2 +1", "1"]
    source = page.read_text("utf-8")
    assert "<script>window" not in source
    assert "\u202e" not in source


def test_it_shows_the_last_500(tmp_path, monkeypatch):
    monkeypatch.setattr("dedup.report.folder._SHOWN", 3)
    page = added(tmp_path, *(crawl_of("a.example", number) for number in range(1, 6)))
    assert [row[2] for row in rows_of(page)] == ["5 +1", "4 +1", "3"]


def test_crawls_that_end_at_once_are_all_listed(tmp_path):
    with ThreadPoolExecutor(3) as crawls:
        list(crawls.map(lambda _: added(tmp_path, crawl_of("a.example", 1)), range(12)))
    assert len(rows_of(tmp_path / "index.html")) == 12


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


@pytest.mark.parametrize("spider", ["../a b", "x" * 300, "爬虫" * 200, ""])
def test_any_name_of_a_spider_makes_a_name_of_a_file_in_the_folder(tmp_path, spider):
    path = write_json(changed(NEWS, spider=spider), tmp_path)
    assert path.parent == tmp_path
    assert json.loads(path.read_text("utf-8"))["spider"] == spider


def test_a_url_that_cannot_be_encoded_is_written_escaped(tmp_path):
    path = write_json(changed(NEWS, duplicates_by_host={"http://a/é\ud800": 1}), tmp_path)
    assert json.loads(path.read_text("utf-8"))["duplicates_by_host"] == {"http://a/é\ud800": 1}
