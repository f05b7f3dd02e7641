"""A script: one crawl on the reactor that is named, its stats as JSON on standard output.

Arguments: the reactor, the number of workers, other settings as JSON, and the URLs.

Not guarded by ``if __name__ == "__main__"``, like many scripts that run Scrapy: a pool that ran the
main script again in its workers would crawl twice.
"""

import json
import sys

from scrapy import Request, Spider
from scrapy.crawler import AsyncCrawlerProcess, CrawlerProcess

from dedup.scrapy_plugin import limits

MODES = {
    "asyncio": (AsyncCrawlerProcess, {}),
    "select": (
        CrawlerProcess,
        {"TWISTED_REACTOR": "twisted.internet.selectreactor.SelectReactor"},
    ),
    "none": (AsyncCrawlerProcess, {"TWISTED_REACTOR_ENABLED": False}),
}


class TestSpider(Spider):
    name = "test"
    start_urls = sys.argv[4:]

    async def parse(self, response):
        item = {"url": response.url}
        if self.settings.getbool("WITH_REVIEWS"):
            reviews = await self.crawler.engine.download_async(Request(f"{response.url}/reviews"))
            item["reviews"] = reviews.css("p::text").get()
        yield item


class Copies:
    """A pipeline that passes another object on."""

    def process_item(self, item):
        return dict(item)


class WithTexts(TestSpider):
    """Items from start(), of which each text is there twice."""

    async def start(self):
        for number, text in enumerate(start_texts * 2):
            yield {"url": str(number), "text": text}


start_texts = json.loads(sys.argv[3]).get("START_TEXTS", [])
limits.CHECKPOINT_INTERVAL = json.loads(sys.argv[3]).get("CHECKPOINT_INTERVAL", 1.0)
process_class, reactor_settings = MODES[sys.argv[1]]
process = process_class(
    {
        "ADDONS": {"dedup.scrapy_plugin.Addon": 500},
        "DEDUP_WORKERS": int(sys.argv[2]),
        "CONCURRENT_REQUESTS": 1,
        "LOG_LEVEL": "ERROR",
        "ITEM_PIPELINES": {Copies: 300},
        "TELNETCONSOLE_ENABLED": False,
        **reactor_settings,
        **json.loads(sys.argv[3]),
    }
)
crawler = process.create_crawler(WithTexts if start_texts else TestSpider)
process.crawl(crawler)
process.start()
json.dump({k: v for k, v in crawler.stats.get_stats().items() if isinstance(v, int)}, sys.stdout)
