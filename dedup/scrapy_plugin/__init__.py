"""The layer inside Scrapy: the only part of the package that imports it."""

from dedup.scrapy_plugin.addon import Addon
from dedup.scrapy_plugin.backpressure import DownloaderMiddleware
from dedup.scrapy_plugin.exceptions import (
    DuplicatePage,
    ExactDuplicate,
    NearDuplicate,
    UnchangedPage,
)
from dedup.scrapy_plugin.extension import Extension
from dedup.scrapy_plugin.middleware import SpiderMiddleware
from dedup.scrapy_plugin.pipeline import ItemPipeline

__all__ = [
    "Addon",
    "DownloaderMiddleware",
    "DuplicatePage",
    "ExactDuplicate",
    "Extension",
    "ItemPipeline",
    "NearDuplicate",
    "SpiderMiddleware",
    "UnchangedPage",
]
