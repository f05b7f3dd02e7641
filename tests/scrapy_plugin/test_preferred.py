"""What was stored under a worse URL than a later copy has is known under the better one."""

import json
import sqlite3
from contextlib import closing

import pytest
from crawls import crawl, spider_over
from texts import article, edited, page
from web import served

TEXT = article(1)
PRINT, CLEAN = "/tea;jsessionid=1", "/tea"


@pytest.fixture
def site():
    pages = {path: page(TEXT) for path in (PRINT, CLEAN, "/tea?utm_source=x")}
    with served(pages) as url:
        yield pages, url


def run(site, *paths, ledger="", **settings):
    """A crawl over *paths*, one after the other."""
    _, url = site
    settings = {"DEDUP_PREFER": ["canonical", "clean-url"], **settings}
    spider = spider_over(*(url + path for path in paths))
    result = crawl(spider, DEDUP_INDEX=ledger, **settings)
    result.stored = [item["url"].removeprefix(url) for item in result.items]
    assert "dedup/errors" not in result.stats
    return result


def preferred_in(ledger):
    with closing(sqlite3.connect(ledger)) as file:
        return [url for (url,) in file.execute("SELECT preferred FROM pages ORDER BY id")]


def test_the_mark_of_a_duplicate_names_the_better_url(site):
    _, url = site
    result = run(site, PRINT, CLEAN, "/tea?utm_source=x", DEDUP_ACTION="mark")
    marks = [item["dedup"] for item in result.items]
    assert [mark["original"] for mark in marks] == [None, url + PRINT, url + PRINT]
    assert [mark["preferred"] for mark in marks] == [None, url + CLEAN, None]
    assert result.stats["dedup/preferred"] == 1


def test_without_the_setting_cleaner_urls_are_named_too(site):
    _, url = site
    result = run(site, PRINT, CLEAN, DEDUP_ACTION="mark", DEDUP_PREFER=[])
    assert [item["dedup"]["preferred"] for item in result.items] == [None, url + CLEAN]
    result = run(site, CLEAN, PRINT, DEDUP_ACTION="mark", DEDUP_PREFER=[])
    assert [item["dedup"]["preferred"] for item in result.items] == [None, None]
    assert "dedup/preferred" not in result.stats


def test_the_log_says_how_cleaner_urls_come_first(site):
    table = run(site, PRINT, CLEAN, DEDUP_PREFER=[]).messages(20)[-1]
    [found] = [line for line in table.splitlines() if "cleaner" in line]
    assert found.endswith('Try DEDUP_PREFER = ["clean-url"]')


def test_a_canonical_page_that_came_too_late_is_preferred_to_the_page_that_names_it(site):
    pages, url = site
    canonical = f'<head><link rel="canonical" href="{CLEAN}">'
    pages["/a"] = page(TEXT).replace("<head>", canonical)
    run_ = {"limits": {"WAIT_TIMEOUT": 0}, "DEDUP_ACTION": "mark", "DEDUP_PREFER": ["canonical"]}
    marks = [item["dedup"] for item in run(site, "/a", CLEAN, **run_).items]
    assert marks[1]["preferred"] == url + CLEAN


def test_the_reports_list_what_is_kept_and_not_preferred(site, tmp_path):
    _, url = site
    result = run(site, PRINT, CLEAN, DEDUP_REPORT=str(tmp_path))
    [report] = tmp_path.glob("*.json")
    found = {"original": url + PRINT, "url": url + CLEAN}
    assert json.loads(report.read_text())["preferred"] == {"duplicates": 1, "first": [found]}
    html = report.with_suffix(".html").read_text()
    assert "Kept under URLs that are not the preferred ones" in html
    [table] = [line for line in result.messages(20) if line.startswith("Dedup report")]
    assert "1 (50.0%) with better URLs than is stored" in table


def test_the_ledger_keeps_the_best_url_that_was_met(site, tmp_path):
    _, url = site
    ledger = tmp_path / "pages.sqlite"
    run(site, PRINT, "/tea?utm_source=x", ledger=ledger)
    assert preferred_in(ledger) == [None]
    run(site, CLEAN, "/tea?utm_source=x", ledger=ledger)
    assert preferred_in(ledger) == [url + CLEAN]
    run(site, PRINT, "/tea?utm_source=x", ledger=ledger)
    assert preferred_in(ledger) == [url + CLEAN]


def test_a_page_is_unchanged_under_the_better_url_in_the_next_crawl(site, tmp_path):
    ledger = tmp_path / "pages.sqlite"
    assert run(site, PRINT, CLEAN, ledger=ledger).stored == [PRINT]
    result = run(site, CLEAN, PRINT, ledger=ledger)
    assert result.stored == []
    assert result.stats["dedup/unchanged"] == 2
    result = run(site, CLEAN, PRINT, "/tea?utm_source=x", ledger=ledger, DEDUP_REVISITS="keep")
    assert result.stored == [PRINT]


def test_a_page_that_has_changed_is_stored_under_the_better_url(site, tmp_path):
    pages, _ = site
    ledger = tmp_path / "pages.sqlite"
    run(site, PRINT, CLEAN, ledger=ledger)
    pages[PRINT] = pages[CLEAN] = page(article(2))
    assert run(site, CLEAN, PRINT, ledger=ledger).stored == [CLEAN]
    pages[CLEAN] = page(TEXT)
    # The first crawl has stored that text, and nothing has taken its place.
    assert run(site, PRINT, ledger=ledger).stored == []
    assert run(site, CLEAN, ledger=ledger).stored == []


def test_a_near_copy_under_the_better_url_stays_a_duplicate(site, tmp_path):
    pages, _ = site
    ledger = tmp_path / "pages.sqlite"
    pages[CLEAN] = page(edited(TEXT))
    assert run(site, PRINT, CLEAN, ledger=ledger).stored == [PRINT]
    result = run(site, CLEAN, PRINT, ledger=ledger)
    assert result.stored == []
    assert result.stats["dedup/near_duplicates"] == result.stats["dedup/unchanged"] == 1
