"""The plug-in for Scrapy: the only part of the package that imports it.

Components are imported when they are first used: Scrapy loads the ``dedup`` command from here
whenever one of its own commands starts, even in projects without dedup.
"""

from importlib import import_module
from typing import Any

_MODULES = {
    "Addon": "plugin",
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
