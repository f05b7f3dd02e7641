"""The add-on: one line of settings adds the whole plug-in."""

from scrapy.settings import BaseSettings

EXTENSION_ORDER = 500
# Outermost: it sees the items of a page after all other middlewares, with what these have set.
SPIDER_MIDDLEWARE_ORDER = -1000
# Innermost: no other middleware handles an exception of a callback before it.
INNER_SPIDER_MIDDLEWARE_ORDER = 10_000
# First: no other pipeline works on an item that is dropped, or replaces it beforehand.
ITEM_PIPELINE_ORDER = 0
# It is the last to see a response before the spider.
DOWNLOADER_MIDDLEWARE_ORDER = 10


class Addon:
    """Adds the extension, the middlewares and the item pipeline.

    If DEDUP_PREFER is set, it also sets the queue of requests, unless the project sets its own.

    ``ADDONS = {"dedup.scrapy_plugin.Addon": 500}``
    """

    def update_settings(self, settings: BaseSettings) -> None:
        from dedup.scrapy_plugin import (
            DownloaderMiddleware,
            Extension,
            InnerSpiderMiddleware,
            ItemPipeline,
            PreferenceQueue,
            SpiderMiddleware,
        )

        for setting, component, order in (
            ("EXTENSIONS", Extension, EXTENSION_ORDER),
            ("SPIDER_MIDDLEWARES", SpiderMiddleware, SPIDER_MIDDLEWARE_ORDER),
            ("SPIDER_MIDDLEWARES", InnerSpiderMiddleware, INNER_SPIDER_MIDDLEWARE_ORDER),
            ("ITEM_PIPELINES", ItemPipeline, ITEM_PIPELINE_ORDER),
            ("DOWNLOADER_MIDDLEWARES", DownloaderMiddleware, DOWNLOADER_MIDDLEWARE_ORDER),
        ):
            settings.setdefault_in_component_priority_dict(setting, component, order)
        if settings.get("DEDUP_PREFER"):
            settings.set("SCHEDULER_PRIORITY_QUEUE", PreferenceQueue, "addon")
