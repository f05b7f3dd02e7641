"""The demonstration site, crawled with the project's own settings: every verdict."""

import json
import os
import re
import signal
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

pytestmark = pytest.mark.slow

PROJECT = Path(__file__).parents[2]
SCRIPT = """
import json, sys
from scrapy import signals
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.utils.project import get_project_settings
from crawler.demo import server, site

pages = {}

class Remembered(server.DemoServer):
    def start(self):
        super().start()
        main = site.pages(self.url, self.mirror_url)
        mirror = site.mirror_pages(self.url)
        for root, part in ((self.url, main), (self.mirror_url, mirror)):
            pages.update((root.rstrip("/") + path, page) for path, page in part.items())
        return self

import crawler.spiders.site
crawler.spiders.site.DemoServer = Remembered
stored, dropped = [], []
def scraped(item):
    stored.append(dict(item))
def item_dropped(item, exception):
    dropped.append([item["url"], exception.verdict.kind.value, exception.verdict.original])
settings = get_project_settings()
settings.set("DEDUP_REPORT", sys.argv[1])
process = AsyncCrawlerProcess(settings)
c = process.create_crawler("site")
c.signals.connect(scraped, signals.item_scraped)
c.signals.connect(item_dropped, signals.item_dropped)
process.crawl(c)
process.start()
stats = {k: v for k, v in c.stats.get_stats().items() if isinstance(v, (int, float, str))}
contents = {url: page.content for url, page in pages.items()}
json.dump([stored, dropped, stats, contents], sys.stdout)
"""


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What was stored, dropped, counted, and the content of every page of the site."""
    folder = tmp_path_factory.mktemp("reports")
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(folder)],
        cwd=PROJECT,
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
        stdout=subprocess.PIPE,
        check=True,
        timeout=120,
    )
    [report] = folder.glob("*.json")
    return (*json.loads(done.stdout), json.loads(report.read_text()))


def test_every_content_is_stored_once(outcome: Any):
    stored, _, _, contents, _ = outcome
    judged = sorted({content for content in contents.values() if content} - {"editors"})
    kept = sorted(filter(None, (contents[item["url"]] for item in stored)))
    assert kept == judged  # "editors" is what robots.txt disallows


WORSE = re.compile(r"sid=|sessionid=|/print/|reprint|%3Bjsess")


def test_no_url_of_a_session_a_print_view_or_a_reprint_is_kept(outcome: Any):
    stored, dropped, *_ = outcome
    assert [item["url"] for item in stored if WORSE.search(item["url"])] == []
    assert len([url for url, *_ in dropped if WORSE.search(url)]) == 11


def test_every_duplicate_is_dropped_for_a_page_of_its_own_content(outcome: Any):
    _, dropped, _, contents, _ = outcome
    assert len(dropped) == 22
    assert [
        (url, original) for url, _, original in dropped if contents[url] != contents[original]
    ] == []


NEAR = {"seed-library", "railway", "woodcuts", "lock-keeper", "ferry"}


def test_every_page_gets_the_verdict_that_was_meant(outcome: Any):
    stored, dropped, _, contents, _ = outcome
    groups = defaultdict(list)
    for url, content in contents.items():
        if content not in (None, "editors"):  # "editors" is what robots.txt disallows
            groups[content].append(url)
    verdicts = {item["url"]: "kept" for item in stored} | {url: kind for url, kind, _ in dropped}
    for content, urls in groups.items():
        copies = "near-duplicate" if content in NEAR else "exact-duplicate"
        meant = sorted(["kept"] + [copies] * (len(urls) - 1))
        assert sorted(verdicts[url] for url in urls) == meant, content


def test_reprints_that_name_their_original_give_way_to_it_whatever_their_title(outcome: Any):
    _, dropped, _, contents, report = outcome
    reprints = [(contents[url], original) for url, _, original in dropped if "reprint" in url]
    assert sorted(content for content, _ in reprints) == ["ferry", "lock-keeper"]
    assert all(original.endswith(f"/article/{content}.html") for content, original in reprints)
    assert report["objections"] == {}


def test_empty_pages_are_kept_and_what_is_not_html_is_new(outcome: Any):
    stored, _, stats, _, _ = outcome
    without_text = {item["url"].rpartition("/")[2] for item in stored if not item["text"]}
    assert {"levels.json", "sitemap.xml", "walk"} <= without_text
    assert stats["dedup/skipped/empty"] == 2
    assert [name for name in stats if name.startswith("dedup/skipped/")] == ["dedup/skipped/empty"]


def test_the_numbers_add_up(outcome: Any):
    stored, dropped, stats, _, report = outcome
    pages = report["pages"]
    assert pages["judged"] == len(stored) + len(dropped) == stats["dedup/pages"]
    assert pages["new"] + sum(pages["skipped"].values()) == len(stored)
    assert pages["exact_duplicates"] + pages["near_duplicates"] == len(dropped)
    assert stats["item_dropped_count"] == report["items"]["dropped"] == len(dropped)
    # The page that answers 500 on purpose, given up by Scrapy.
    assert stats["log_count/ERROR"] == stats["retry/max_reached"] == 1


def test_items_hold_clean_text_title_and_language(outcome: Any):
    stored, _, _, contents, _ = outcome
    [item] = [item for item in stored if contents[item["url"]] == "tea"]
    assert item["language"] == "zh"
    assert item["title"]
    assert "广告" not in item["text"]
    fields = {"url", "title", "text", "language", "coverage", "canonical", "fetched"}
    assert set(item) == fields


@pytest.mark.slow
def test_it_can_be_served_for_crawls_of_ones_own_until_ctrl_c():
    root = Path(__file__).parents[2]
    with subprocess.Popen(
        [sys.executable, "-m", "crawler.demo", "--edition", "2"], cwd=root,
        env={**os.environ, "PYTHONPATH": str(root)}, stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stdout
        told = process.stdout.readline()
        url = next(word for word in told.split() if word.startswith("http://127.0.0.1:"))
        with urlopen(f"{url}article/horse-tram.html", timeout=10) as answer:
            assert "horse" in answer.read().decode()
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 0
