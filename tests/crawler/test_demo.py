"""The demonstration site, crawled with the project's own settings: every verdict."""

import os
import re
import signal
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any, Self
from urllib.request import urlopen

import pytest
from crawls import crawl, report_in

import crawler.settings
from crawler.demo import site
from crawler.demo.server import DemoServer
from crawler.spiders.site import SiteSpider

pytestmark = pytest.mark.slow

SETTINGS = {name: value for name, value in vars(crawler.settings).items() if name.isupper()}
QUICK = {"AUTOTHROTTLE_ENABLED": False, "RETRY_ENABLED": True, "CONCURRENT_REQUESTS": 16}


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What was stored, dropped, counted, and the content of every page of the site."""
    contents: dict[str, str | None] = {}

    class Remembered(DemoServer):
        def start(self) -> Self:
            super().start()
            pages = site.pages(self.url, self.mirror_url), site.mirror_pages(self.url)
            for root, part in zip((self.url, self.mirror_url), pages, strict=True):
                contents.update((root[:-1] + path, page.content) for path, page in part.items())
            return self

    folder = tmp_path_factory.mktemp("reports")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("crawler.spiders.site.DemoServer", Remembered)
        result = crawl(SiteSpider, **{**SETTINGS, **QUICK, "DEDUP_REPORT": folder})
    dropped = [
        (item["url"], error.verdict.kind.value, error.verdict.original)
        for item, error in result.dropped
    ]
    return list(map(dict, result.items)), dropped, result.stats, contents, report_in(folder)


WORSE = re.compile(r"sid=|sessionid=|/print/|reprint|%3Bjsess")


def test_no_url_of_a_session_a_print_view_or_a_reprint_is_kept(outcome: Any):
    stored, dropped, *_ = outcome
    assert [item["url"] for item in stored if WORSE.search(item["url"])] == []
    assert len([url for url, *_ in dropped if WORSE.search(url)]) == 11


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


def test_it_can_be_served_for_crawls_of_ones_own_until_ctrl_c():
    root = Path(crawler.settings.__file__).parents[1]
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
