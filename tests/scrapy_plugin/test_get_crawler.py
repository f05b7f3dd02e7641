"""Scrapy's helper for tests of spiders builds a crawler before anybody knows that it will crawl."""

import asyncio
from typing import Any

from crawls import ADDON, spider_over
from scrapy.utils.test import get_crawler
from texts import article, page
from web import served


def test_a_crawler_of_scrapys_test_helper_crawls_and_drops(tmp_path: Any):
    settings = {"ADDONS": ADDON, "TWISTED_REACTOR_ENABLED": False, "DEDUP_WORKERS": 0}
    with served({path: page(article(1)) for path in ("/a", "/b")}) as url:
        crawler = get_crawler(spider_over(f"{url}/a", f"{url}/b"), settings)
        asyncio.run(crawler.crawl_async())
    assert crawler.stats.get_value("item_scraped_count") == 1
    assert crawler.stats.get_value("dedup/exact_duplicates") == 1


def test_a_crawler_that_never_crawls_builds_nothing(tmp_path: Any):
    ledger = tmp_path / "pages.sqlite"
    get_crawler(settings_dict={"ADDONS": ADDON, "DEDUP_INDEX": str(ledger)})
    assert not ledger.exists()
