"""What a crawler does: whether it crawls, or only looks at something."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

_COMMANDS = "scrapy.commands."


def is_crawl(crawler: "Crawler") -> bool:
    """Return whether *crawler* crawls, no matter whether a command, a script or a service began it.

    It does not in ``scrapy shell``, ``fetch``, ``view``, ``parse``, ``check`` and ``bench``, which
    build a crawler with all components.
    """
    # The shell opens the engine itself. The others crawl, but replace the start of the spider by
    # one of their own.
    start = getattr(crawler.spidercls, "start", None)
    return crawler.crawling and not str(getattr(start, "__module__", "")).startswith(_COMMANDS)
