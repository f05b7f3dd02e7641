"""The end of a crawl: whatever fails there, the ledger is written, and all that can be is told."""

import logging
from pathlib import Path
from typing import Any

import pytest
from crawls import crawl_paths, crawl_site, known_site, query
from scrapy.statscollectors import MemoryStatsCollector
from texts import article, edited, page

pytestmark = pytest.mark.slow  # together
SITE = {
    "/a": page(article(1)),
    "/b": page(edited(article(1))),
    "/c": page(article(1)),
    "/other": page(article(2)),
}
KEPT = ["/a", "/other"]


@pytest.fixture
def paths(tmp_path: Path) -> dict[str, Path]:
    return {
        "DEDUP_INDEX": tmp_path / "pages.sqlite",
        "DEDUP_REPORT": tmp_path / "reports",
        "DEDUP_DUPLICATES": tmp_path / "dropped.jsonl",
    }


def run(paths: dict[str, Path], site: dict[str, str] = SITE, **options: Any) -> Any:
    if "DEDUP_INDEX" in paths:
        feed = str(paths["DEDUP_INDEX"].with_name("feed.jsonl"))
        options["FEEDS"] = {feed: {"format": "jsonlines"}}
    return crawl_site(site, **paths, **options)


TABLES = ("pages", "texts")


def ended(paths: dict[str, Path]) -> tuple[int, Any, bool, int]:
    """What the ledger says: pages, how the last crawl has ended, whether with a report, texts."""
    ledger = paths["DEDUP_INDEX"]
    [pages], [texts] = (query(ledger, f"SELECT count(*) FROM {name}")[0] for name in TABLES)
    reason, report = query(ledger, "SELECT reason, report FROM crawls")[0]
    return pages, reason, report is not None, texts


def reports(paths: dict[str, Path]) -> list[str]:
    """What there is of the report: the ends of its files."""
    names = (path.name for path in paths["DEDUP_REPORT"].glob("*"))
    return sorted(name[name.index("Z.") + 1 :] for name in names)


def failing(*_: Any, **__: Any) -> Any:
    raise RuntimeError("a fault of dedup")


ALL = [".copies.jsonl", ".html", ".json"]


def test_a_crawl_that_met_no_page_leaves_the_reports_and_says_so(paths):
    result = crawl_paths("http://127.0.0.1:9", "/a", **paths)
    [told] = [message for message in result.messages(logging.INFO) if "no report" in message]
    assert told.endswith("No page that gave items was met, so no report is written")
    assert not paths["DEDUP_REPORT"].exists()


# What fails, and what is missing for it: numbers of the ledger, files of reports.
FAULTS = {
    "dedup.report.events.PageEvents.add": ((2, "finished", True, 0), [".html", ".json"]),
    "dedup.report.kept_pages.KeptPages.add": ((2, "finished", True, 0), ALL),
    "dedup.report.events.PageEvents.add_text": ((2, "finished", True, 0), ALL),
    "dedup.url_advice.Contents.add": ((2, "finished", True, 0), ALL),
    "dedup.url_advice.Contents.advice": ((2, "finished", True, 3), ALL),
    "dedup.report.kept_pages.KeptPages.near_misses": ((2, "finished", True, 3), ALL),
    "dedup.scrapy_plugin.ending.as_text": ((2, "finished", True, 3), ALL),
    "dedup.scrapy_plugin.ending.write_json": ((2, "finished", True, 3), []),
    "dedup.scrapy_plugin.ending.write_html": ((2, "finished", True, 3), [".copies.jsonl", ".json"]),
    "dedup.stores.tables.insert_texts": ((2, None, False, 0), ALL),
    "dedup.report.Summary.finish": ((2, "finished", False, 3), []),
    "dedup.stores.SqliteStore.leave": ((2, None, False, 0), ALL),
    "dedup.scrapy_plugin.checkpoints.Checkpoints.finish": ((0, "finished", True, 3), ALL),
    "dedup.stores.SqliteStore.publishing": ((0, "finished", True, 3), ALL),
    "dedup.workers.InlinePool.close": ((2, "finished", True, 3), ALL),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_fails_in_figures_and_reports_costs_no_item_and_nothing_else(
    paths, fault, monkeypatch
):
    with monkeypatch.context() as patched:
        patched.setattr(fault, failing)
        result = run(paths, limits={"CHECKPOINT_INTERVAL": 600})
    assert result.stored == KEPT
    assert result.stats["item_dropped_count"] == 2
    assert len(paths["DEDUP_DUPLICATES"].read_text().splitlines()) == 2
    assert (ended(paths), reports(paths)) == FAULTS[fault]
    if not fault.endswith((".leave", ".insert_texts", ".close")):  # these are only told of
        assert result.stats["dedup/errors"] >= 1
        assert len(result.messages(logging.ERROR)) == 1
    # The ledger is given back, whatever is in it.
    assert run(paths).stored == ([] if FAULTS[fault][0][0] else KEPT)


class Failing(MemoryStatsCollector):
    """Of somebody else, over a network that is gone."""

    def inc_value(self, key: str, *arguments: Any, **options: Any) -> None:
        if key.startswith("dedup/"):
            raise ConnectionError("the stats are not there")
        super().inc_value(key, *arguments, **options)


def test_stats_that_fail_cost_no_item(paths):
    result = run(paths, STATS_CLASS=Failing)
    assert result.stored == KEPT
    assert result.stats["item_dropped_count"] == 2
    assert len([record for record in result.log if record.levelno >= logging.ERROR]) == 1
    assert ended(paths)[:2] == (2, "finished")
    [message] = result.messages(logging.ERROR)
    assert "failed to count" in message


@pytest.mark.parametrize(("pages", "is_alarming"), [(100, True), (99, False)])
def test_a_crawl_of_which_nearly_all_is_dropped_ends_with_a_warning(pages: int, is_alarming: bool):
    site = {f"/{number}": page(article(1)) for number in range(pages)}
    result = crawl_site(site, keep_items=False)
    assert result.stats.get("dedup/alarm", 0) == is_alarming
    warnings = [one for one in result.messages() if f"{pages - 1} of {pages} pages repeat" in one]
    assert ["or is what is extracted a notice" in one for one in warnings] == [True] * is_alarming


@pytest.mark.parametrize(
    ("limit", "changed", "seen", "reason"),
    [
        (3, [], 3, "dedup_unchanged"),
        (3, [2], 6, "dedup_unchanged"),  # 0, 1, a changed one, 3, 4, 5
        (3, [0, 1, 2, 3, 5], 10, "dedup_unchanged"),  # 7, 8, 9 at last; 4 and 6 stand alone
        (11, [], 10, "finished"),
        (0, [], 10, "finished"),
    ],
)
def test_so_many_unchanged_pages_in_a_row_end_the_crawl(
    limit: int, changed: list[int], seen: int, reason: str, tmp_path: Any
):
    feeds = {str(tmp_path / "items.jl"): {"format": "jsonlines"}}
    pages = {f"/{number}": page(article(number)) for number in range(10)}
    with known_site(pages, tmp_path) as site:
        site.crawl(FEEDS=feeds)
        site.pages |= {f"/{number}": page(article(number + 100)) for number in changed}
        result = site.crawl(FEEDS=feeds, DEDUP_CLOSE_UNCHANGED=limit, DOWNLOAD_DELAY=0.05)
    assert result.stats["finish_reason"] == reason
    assert "log_count/ERROR" not in result.stats
    counts = result.dedup_stats
    # What is under way when the crawl is closed is still judged.
    assert seen <= counts["unchanged"] + counts.get("changed", 0) <= seen + (limit == 3)
