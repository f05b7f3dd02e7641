"""A script: two crawls in one process, of which the first may not start.

Arguments: settings of both as JSON, and for each crawl its URLs as JSON.
"""

import json
import sys

from scrapy import Spider
from scrapy.crawler import AsyncCrawlerProcess


class TestSpider(Spider):
    def parse(self, response):
        yield {"url": response.url}


class Storage:
    """A pipeline that stores what it gets, or seems to."""

    def process_item(self, item):
        return item


class Broken:
    """A component that cannot be made for the first crawl."""

    @classmethod
    def from_crawler(cls, crawler):
        if crawler.spider.name == "spider1":
            raise ValueError("no such database")
        return cls()


process = AsyncCrawlerProcess(
    {
        "ADDONS": {"dedup.scrapy_plugin.Addon": 500},
        "LOG_LEVEL": "INFO",
        "ITEM_PIPELINES": {Storage: 300},
        **json.loads(sys.argv[1]),
    }
)
crawlers = []  # they live on when they have failed
for number, urls in enumerate(sys.argv[2:], 1):
    crawlers.append(process.create_crawler(TestSpider))
    process.crawl(crawlers[-1], name=f"spider{number}", start_urls=json.loads(urls))
process.start()
