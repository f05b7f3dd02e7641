"""DEDUP_PREFER: better URLs are fetched first, so they are kept; nothing else changes."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from crawls import crawl_paths, crawl_site, follow_links, path_of
from scrapy import Request
from texts import article, page
from web import served

from dedup.preference import Preference, newest_version
from dedup.scrapy_plugin import PreferenceQueue

CRITERIA = ["canonical", "https", "clean-url", "newest-version"]
# The same three articles in every version, and a front page that names the oldest first and last.
VERSIONS = ("v1.0", "latest", "v1.10", "dev", "v1.9")
LINKS = [f"/{version}/{number}" for version in VERSIONS for number in range(3)]
BEST_FIRST = ["latest", "v1.10", "v1.9", "v1.0", "dev"]
SITE = {
    "/": page(article(99), *LINKS),
    **{path: page(article(int(path[-1])), footer=path) for path in LINKS},
}
IN_SCRAPYS_ORDER = ["/", *reversed(LINKS)]


def run(site: Any = SITE, **options: Any) -> tuple[list[str], Any]:
    """The paths in the order in which they were fetched, and the crawl."""
    result = crawl_site(site, "/", **{"parse": follow_links, "DEDUP_PREFER": CRITERIA, **options})
    return list(map(path_of, result.fetched)), result


def test_the_best_copy_of_each_page_is_kept():
    fetched, result = run()
    assert result.stored == ["/", "/latest/2", "/latest/1", "/latest/0"]
    assert [path.split("/")[1] for path in fetched[1::3]] == BEST_FIRST
    assert result.messages() == []
    assert "log_count/ERROR" not in result.stats


def test_a_layer_that_is_off_orders_judges_and_remembers_nothing_but_fills_fields(tmp_path: Any):
    ledger, fields = tmp_path / "pages.sqlite", {"text": "text"}
    fetched, result = run(DEDUP_ENABLED="0", DEDUP_FIELDS=fields, DEDUP_INDEX=ledger)
    assert fetched == result.stored == IN_SCRAPYS_ORDER
    assert result.dedup_stats["skipped/switched_off"] == 16
    assert "new" not in result.dedup_stats
    assert result.messages() == []
    assert not ledger.exists()
    assert all("text" in item for item in result.items)


def test_priorities_of_the_spider_decide_first():
    priorities = {"/v1.9/0": 0, "/latest/0": 0, "/latest/1": -1, "/v1.0/1": 5, "/dev/0": 1}

    def parse(self: Any, response: Any) -> Iterator[Any]:
        yield {"url": response.url}
        if response.url.endswith("/"):
            for path, priority in priorities.items():
                yield Request(self.root + path, priority=priority)

    fetched, _ = run(parse=parse)
    assert fetched == ["/", "/v1.0/1", "/dev/0", "/latest/0", "/v1.9/0", "/latest/1"]


@pytest.mark.slow
def test_a_job_goes_on_in_the_same_order(tmp_path: Any):
    options = {
        "JOBDIR": str(tmp_path / "job"),
        "SCHEDULER_DISK_QUEUE": "scrapy.squeues.PickleLifoDiskQueue",
        "CLOSESPIDER_PAGECOUNT": 6,
        "DEDUP_PREFER": CRITERIA,
    }
    linked: list[str] = []
    with served(SITE) as url:
        for _ in range(20):
            result = crawl_paths(url, "/", parse=follow_links, **options)
            # Where each run starts anew.
            linked += [path for path in map(path_of, result.fetched) if path != "/"]
            if result.stats["finish_reason"] == "finished":
                break
    assert len(linked) == 15
    assert [path.split("/")[1] for path in linked[::3]] == BEST_FIRST
    assert "log_count/ERROR" not in result.stats


def test_a_site_cannot_have_any_number_of_queues():
    prefer = Preference([("newest-version", newest_version)])
    plugin: Any = SimpleNamespace(settings=SimpleNamespace(prefer=prefer))
    queue: Any = SimpleNamespace(pqueues={})
    levels: set[int] = set()
    for version in (f"{major}.{minor}" for major in range(10, 28) for minor in range(15)):
        PreferenceQueue._level(queue, plugin, levels, Request(f"http://a.example/{version}/"))
    # One more for those that find no other.
    assert len(levels) == 257


def test_a_criterion_that_fails_is_told_of_and_loses_no_page():
    def failing(copy: Any) -> int:
        raise RuntimeError("no idea")

    fetched, result = run(DEDUP_PREFER=[failing])
    assert len(fetched) == 16
    # Of each request, and of each duplicate.
    assert result.dedup_stats["errors"] == 16 + len(result.dropped)
    [message] = result.messages()
    assert "the preference of <" in message


def test_a_queue_of_the_project_stays_and_the_log_says_so():
    fetched, result = run(SCHEDULER_PRIORITY_QUEUE="scrapy.pqueues.ScrapyPriorityQueue")
    assert result.messages() == [
        "SCHEDULER_PRIORITY_QUEUE lacks dedup.scrapy_plugin.PreferenceQueue"
    ]
    assert fetched == IN_SCRAPYS_ORDER
