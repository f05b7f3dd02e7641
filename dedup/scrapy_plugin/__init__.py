"""The plug-in for Scrapy: the only part of the package that imports it.

Components are imported when they are first used: Scrapy loads the ``dedup`` command from here
whenever one of its own commands starts, even in projects without dedup.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dedup.scrapy_plugin.addon import Addon as Addon
    from dedup.scrapy_plugin.middleware import DownloaderMiddleware as DownloaderMiddleware
    from dedup.scrapy_plugin.middleware import InnerSpiderMiddleware as InnerSpiderMiddleware
    from dedup.scrapy_plugin.middleware import SpiderMiddleware as SpiderMiddleware
    from dedup.scrapy_plugin.order import PreferenceQueue as PreferenceQueue
    from dedup.scrapy_plugin.pipeline import DuplicatePage as DuplicatePage
    from dedup.scrapy_plugin.pipeline import ExactDuplicate as ExactDuplicate
    from dedup.scrapy_plugin.pipeline import ItemPipeline as ItemPipeline
    from dedup.scrapy_plugin.pipeline import NearDuplicate as NearDuplicate
    from dedup.scrapy_plugin.pipeline import RepeatedPage as RepeatedPage
    from dedup.scrapy_plugin.pipeline import UnchangedPage as UnchangedPage
    from dedup.scrapy_plugin.plugin import Extension as Extension

_MODULES = {
    "Addon": "addon",
    "DownloaderMiddleware": "middleware",
    "DuplicatePage": "pipeline",
    "ExactDuplicate": "pipeline",
    "Extension": "plugin",
    "InnerSpiderMiddleware": "middleware",
    "ItemPipeline": "pipeline",
    "NearDuplicate": "pipeline",
    "PreferenceQueue": "order",
    "RepeatedPage": "pipeline",
    "SpiderMiddleware": "middleware",
    "UnchangedPage": "pipeline",
}
__all__ = list(_MODULES)


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
