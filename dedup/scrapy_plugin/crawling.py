"""What is a crawl, and what of Scrapy only builds a crawler to look at something."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

_COMMANDS = "scrapy.commands."


def is_crawl(crawler: "Crawler") -> bool:
    """Return whether *crawler* crawls, whatever has begun it: a command, a script, a service.

    Not in ``scrapy shell``, ``fetch``, ``view``, ``parse``, ``check`` and ``bench``, which build a
    crawler with all components.
    """
    # The shell opens its engine by itself. The others crawl, but from a start of their own: they
    # put it in the place of the spider's.
    start = getattr(crawler.spidercls, "start", None)
    return crawler.crawling and not str(getattr(start, "__module__", "")).startswith(_COMMANDS)
