"""The feeds of a crawl: exports items to them, and knows when they are safe there."""

from dedup.scrapy_plugin.feeds.export import Exported as Exported
from dedup.scrapy_plugin.feeds.export import Feeds as Feeds
