"""The add-on: the whole layer with one line."""

from scrapy.settings import BaseSettings

EXTENSION_ORDER = 500
# Outermost: it sees what all other middlewares have left of a page's items.
SPIDER_MIDDLEWARE_ORDER = 10
# First: no other pipeline works for an item that is dropped, or replaces it before.
ITEM_PIPELINE_ORDER = 0
# The last to see a response before the spider does.
DOWNLOADER_MIDDLEWARE_ORDER = 10


class Addon:
    """Adds the extension, the two middlewares and the item pipeline.

    ``ADDONS = {"dedup.scrapy_plugin.Addon": 500}``
    """

    def update_settings(self, settings: BaseSettings) -> None:
        from dedup.scrapy_plugin.backpressure import DownloaderMiddleware
        from dedup.scrapy_plugin.extension import Extension
        from dedup.scrapy_plugin.middleware import SpiderMiddleware
        from dedup.scrapy_plugin.pipeline import ItemPipeline

        for setting, component, order in (
            ("EXTENSIONS", Extension, EXTENSION_ORDER),
            ("SPIDER_MIDDLEWARES", SpiderMiddleware, SPIDER_MIDDLEWARE_ORDER),
            ("ITEM_PIPELINES", ItemPipeline, ITEM_PIPELINE_ORDER),
            ("DOWNLOADER_MIDDLEWARES", DownloaderMiddleware, DOWNLOADER_MIDDLEWARE_ORDER),
        ):
            settings.setdefault_in_component_priority_dict(setting, component, order)
