"""The feeds of a crawl: items are exported to them, and known to be safe there or not."""

from dedup.scrapy_plugin.feeds.disk import Disk as Disk
from dedup.scrapy_plugin.feeds.export import Feeds as Feeds
