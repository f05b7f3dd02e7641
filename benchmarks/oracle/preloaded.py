"""What each crawl needs, imported once: its processes are forked from one that has it."""

from importlib import import_module

import scrapy.core.downloader.handlers.http11
import scrapy.core.engine
import scrapy.core.scheduler
import scrapy.dupefilters
import scrapy.logformatter
import scrapy.pipelines
import scrapy.pqueues
import scrapy.squeues
import scrapy.statscollectors  # noqa: F401
from scrapy.settings import default_settings

import oracle.crawls  # noqa: F401
from dedup.extraction import EXTRACTORS
from dedup.methods import SimHash
from dedup.page import PageReader

for name in ("DOWNLOADER_MIDDLEWARES_BASE", "SPIDER_MIDDLEWARES_BASE", "EXTENSIONS_BASE"):
    for path in getattr(default_settings, name):
        import_module(path.rpartition(".")[0])
import_module("dedup.scrapy_plugin.middleware")
PageReader(EXTRACTORS["trafilatura"], SimHash()).warm_up()
