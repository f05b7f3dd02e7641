"""Groups and copies in the HTML report: all can be found, in a file of bounded size."""

import csv
import json
import re
import time
from contextlib import closing

import pytest
from browsers import chromium, console, show
from report_of import SETTINGS, exact, near, new, page
from texts import article, edited

from dedup.report import CopyLog, Details, Summary, TextStore, write_html
from dedup.report.copies import CopyOf
from dedup.report.counts import Counters
from dedup.report.diffs import Diffs
from dedup.report.group_rows import GroupRows
from dedup.report.html import as_html
from dedup.report.report import Copy

RICE = "http://zh.example/%E7%B1%B3%E7%B2%89/"


def crawl_of(texts, log, *pages):
    """The report of pages: URL, verdict, text, title."""
    summary = Summary(Counters(), SETTINGS, details=Details(texts=texts, copies=log))
    for url, verdict, text, title in pages:
        summary.record(verdict, url, 9, page(text, title))
    return summary.finish(None)


def many_copies(count):
    """A page with *count* copies, more than the report itself names, and another group."""
    yield "http://a.example/", new(), article(1), "One"
    for number in range(count):
        host = "b.example" if number % 2 else "c.example"
        url = f"http://{host}/copies/{number}"
        if number % 5:
            yield url, exact("http://a.example/"), article(1), "One"
        else:
            yield url, near("http://a.example/", 1 + number % 3), edited(article(1)), "Another"
    yield RICE, new(), "米粉很好吃。\n| 一 | 二 |\n" * 20, "米粉"
    yield f"{RICE}2", exact(RICE), "米粉很好吃。\n| 一 | 二 |\n" * 20, "米粉"


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A report with all of its copies, and the path of the HTML file."""
    folder = tmp_path_factory.mktemp("report")
    with closing(TextStore(2000)) as texts, closing(CopyLog(folder)) as log:
        report = crawl_of(texts, log, *many_copies(206))
        path = folder / "report.html"
        write_html(report, texts, path, copies=log, copies_in="report.copies.jsonl")
        return report, path


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    folder = tmp_path_factory.mktemp("downloads")
    with chromium() as opened:
        opened.execute_cdp_cmd(
            "Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(folder)}
        )
        opened.downloads = folder
        yield opened


@pytest.fixture
def shown(browser, written):
    browser.get("about:blank")  # a hash alone would not load the page again
    show(browser, written[1])
    return browser


def data_of(html):
    return json.loads(re.search(r'id="data">(.*?)</script>', html, re.DOTALL)[1])


def urls_of(row):
    return [row["url"][: copy[0]] + copy[1] for copy in row["copies"]]


def results(browser):
    return browser.find_element("id", "results").text


def test_all_copies_are_in_the_file_with_titles_and_texts(written):
    report, path = written
    assert len(report.largest_groups[0].first) == 20
    data = data_of(path.read_text("utf-8"))
    first, second = data["groups"]
    assert urls_of(first) == [url for url, verdict, *_ in many_copies(206) if "copies" in url]
    assert (first["count"], first["title"]) == (206, "One")
    _, _, title, distance, diff, pattern = first["copies"][0]
    assert (title, distance, data["patterns"][pattern]) == ("Another", 1, "c.example/copies/*")
    assert any(part.startswith("+") for part in data["diffs"][diff])
    assert first["copies"][1][2:4] == [0, None]  # the title of the original, an exact duplicate
    assert data["diffs"][first["copies"][1][4]][0].startswith(f"≡{article(1)[:50]}")
    assert second["url"] == "http://zh.example/米粉/"
    assert "\n| 一 | 二 |\n" in data["diffs"][second["copies"][0][4]][0]
    assert "Every copy is listed here" in path.read_text("utf-8")


def test_what_finds_no_room_is_counted_and_the_file_is_named(monkeypatch, open_store, tmp_path):
    monkeypatch.setattr("dedup.report.group_rows._BYTES", 3_000)
    with closing(CopyLog(tmp_path)) as log:
        report = crawl_of(open_store(0), log, *many_copies(206))
        html = as_html(report, open_store(0), copies=log, copies_in="x.copies.jsonl")
    shown = sum(len(row["copies"]) for row in data_of(html)["groups"])
    assert 10 < shown < 60
    assert f"{207 - shown} copies are left out" in html
    assert "All copies are in" in html
    assert "x.copies.jsonl" in html


def test_groups_that_the_report_does_not_name_are_added_in_bounded_memory(monkeypatch, open_store):
    monkeypatch.setattr("dedup.report.group_rows._BYTES", 50_000)
    report = crawl_of(open_store(0), None, ("http://a/", new(), "a text", None))
    rows = GroupRows(report, open_store(0), Diffs(open_store(0)))
    copies = (
        CopyOf(f"http://a/{n}", Copy(f"http://a/{n}/{m}", "near-duplicate", 2))
        for n in range(2_000)
        for m in range(3)
    )
    rows.add_all(copies)
    assert 300 < len(rows.rows) < 700
    assert rows.copies_left_out + sum(len(row["copies"]) for row in rows.rows) == 6_000
    assert rows.rows[0]["count"] == 3


def test_urls_beyond_the_first_plane_are_put_together_by_scripts(open_store, tmp_path):
    original, copy = "http://a.example/🍜/1", "http://a.example/🍜/2"
    report = crawl_of(
        open_store(9), None, (original, new(), "one", None), (copy, exact(original), "one", None)
    )
    [group] = data_of(as_html(report, open_store(0)))["groups"]
    [[shared, rest, *_]] = group["copies"]
    units = original.encode("utf-16-le")[: 2 * shared]
    assert units.decode("utf-16-le") + rest == copy


@pytest.mark.slow
def test_every_copy_can_be_seen(shown):
    shown.find_element("css selector", "#group-table .open").click()
    items = "#group-table .copies-list > li:not(.more):not(.quiet)"
    for count in (50, 100, 150, 200, 206):
        assert len(shown.find_elements("css selector", items)) == 1 + count
        if count < 206:
            shown.find_element("css selector", ".copies-list .more button").click()
    assert not shown.find_element("css selector", ".copies-list .more").is_displayed()
    last = shown.find_elements("css selector", items)[-1]
    assert "http://c.example/copies/204" in shown.find_element("id", "group-table").text
    assert last.text.splitlines()[-2:] != []


@pytest.mark.slow
def test_an_exact_duplicate_shows_the_text_with_its_lines(shown):
    shown.find_element("id", "search").send_keys("米粉")
    shown.find_element("css selector", "#group-table .open").click()
    diff = shown.find_element("css selector", "#group-table .diff")
    assert diff.text.splitlines()[:3] == [
        "Both have this main text.",
        "米粉很好吃。",
        "| 一 | 二 |",
    ]


@pytest.mark.slow
def test_copies_are_filtered_by_verdict_host_pattern_distance_and_title(shown):
    from selenium.webdriver.support.ui import Select

    def choose(name, text):
        select = Select(shown.find_element("id", name))
        select.select_by_visible_text(text)

    assert results(shown) == "2 groups, 207 copies"
    choose("verdict", "near-duplicates")
    assert results(shown) == "1 group, 42 copies"
    choose("host", "b.example (103)")
    assert results(shown) == "1 group, 21 copies"
    shown.find_element("id", "least").send_keys("3")
    assert results(shown) == "1 group, 7 copies"
    shown.find_element("id", "clear").click()
    assert results(shown) == "2 groups, 207 copies"
    choose("pattern", "zh.example/米粉/* (1)")
    assert results(shown) == "1 group, 1 copy"
    shown.find_element("id", "clear").click()
    shown.find_element("id", "retitled").click()
    assert results(shown) == "1 group, 42 copies"
    shown.find_element("id", "most").send_keys("1")
    assert results(shown) == "1 group, 14 copies"
    shown.find_element("css selector", "[data-language=zh]").click()
    options = [o.text for o in Select(shown.find_element("id", "verdict")).options]
    assert options == ["全部", "完全重复", "近似重复"]


@pytest.mark.slow
def test_all_words_of_a_search_must_be_found_in_whatever_order(shown):
    search = shown.find_element("id", "search")
    search.send_keys("Another  /copies/20")
    assert results(shown) == "1 group, 3 copies"  # 20, 200 and 205
    search.clear()
    search.send_keys("粉/ zh.")
    assert results(shown) == "1 group, 1 copy"
    search.clear()
    search.send_keys("粉/ copies")
    assert results(shown) == "0 groups, 0 copies"


@pytest.mark.slow
def test_a_link_opens_a_group_whatever_is_filtered(shown):
    from selenium.webdriver.support.ui import WebDriverWait

    group = shown.find_elements("css selector", "#group-table tbody tr")[1].get_attribute("id")
    shown.find_element("id", "search").send_keys("nothing of this kind")
    shown.execute_script("location.hash = arguments[0]", group)
    opened = WebDriverWait(shown, 10).until(
        lambda page: page.find_elements("css selector", '.open[aria-expanded="true"]')
    )[0]
    assert "zh.example" in opened.text
    link = shown.find_element("css selector", ".here").get_attribute("href")
    assert link.endswith(f"#{group}")
    shown.get("about:blank")
    shown.get(link)
    opened = shown.find_element("css selector", '#group-table .open[aria-expanded="true"]')
    assert "zh.example" in opened.text
    shown.execute_script("location.hash = 'other-titles'")
    WebDriverWait(shown, 10).until(lambda page: results(page) == "1 group, 42 copies")
    assert console(shown) == []


@pytest.mark.slow
def test_what_is_filtered_is_saved_as_csv(shown):
    shown.find_element("id", "search").send_keys("another")
    shown.find_element("id", "csv").click()
    path, deadline = shown.downloads / "copies.csv", time.monotonic() + 10
    while not path.exists() and time.monotonic() < deadline:
        shown.execute_async_script("setTimeout(arguments[0], 20)")
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 42
    assert rows[0] == {
        "original": "http://a.example/",
        "original_title": "One",
        "copy": "http://c.example/copies/0",
        "title": "Another",
        "verdict": "near-duplicate",
        "distance": "1",
    }


@pytest.mark.slow
def test_groups_can_be_read_without_a_script(browser, written):
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        browser.get(f"{written[1].as_uri()}?plain")
        groups = browser.find_element("id", "groups").text
        assert "http://c.example/copies/0" in groups
        assert "+ 201 more copies" in groups
        assert "http://zh.example/米粉/" in groups
        assert browser.find_elements("id", "findings")
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
