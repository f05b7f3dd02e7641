"""Crawls a whole site."""

import contextlib
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import CloseSpider
from scrapy.http import HtmlResponse, Response
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import SitemapSpider

from crawler.demo.server import DemoServer
from crawler.items import PageItem


class SiteSpider(SitemapSpider):
    """Follows every link within the domains and stores a `PageItem` for every page.

    Without a URL it crawls the demonstration site that comes with the project.

    Arguments (``-a name=value``):

    url         where to start; several separated by commas
    domains     the domains to stay in, separated by commas; default: the hosts of the URLs
    sitemap     yes: also start from the sitemaps that robots.txt names, or /sitemap.xml;
                or the URLs of sitemaps, separated by commas
    max_pages   visit at most so many pages
    max_depth   follow links at most so many clicks away from the start
    save_html   yes: store the HTML too
    """

    name = "site"

    def __init__(
        self,
        *,
        url: str = "",
        domains: str = "",
        sitemap: str = "",
        max_pages: str = "",
        max_depth: str = "",
        save_html: str = "",
        **others: Any,
    ) -> None:
        """Check the arguments; raises ValueError for a wrong or unknown one."""
        super().__init__()
        for name in others:
            if not name.startswith("_"):  # as those that schedulers add
                raise ValueError(f"there is no argument {name!r}, but {', '.join(_ARGUMENTS)}")
        self.start_urls = [_checked_url(part) for part in _parts(url)]
        self.max_pages = _positive("max_pages", max_pages)
        self.max_depth = _positive("max_depth", max_depth)
        self.save_html = _yes_or_no("save_html", save_html)
        self.sitemap_urls = self._sitemaps(sitemap)
        hosts = [urlsplit(start).hostname or "" for start in (*self.start_urls, *self.sitemap_urls)]
        self.allowed_domains = _parts(domains) or list(dict.fromkeys(hosts)) or ["127.0.0.1"]
        self._links = LinkExtractor()
        self._ports = {urlsplit(start).netloc for start in (*self.start_urls, *self.sitemap_urls)}
        self._pages = 0
        self._demo: DemoServer | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> "SiteSpider":
        spider = super().from_crawler(crawler, *args, **kwargs)
        assert isinstance(spider, cls)
        if spider.max_depth:
            crawler.settings.set("DEPTH_LIMIT", spider.max_depth, priority="spider")
        return spider

    async def start(self) -> AsyncIterator[Any]:
        if not self.start_urls and not self.sitemap_urls:
            self._demo = DemoServer()
            self._demo.start()
            self.start_urls = [self._demo.url]
            self._ports = {urlsplit(u).netloc for u in (self._demo.url, self._demo.mirror_url)}
            self.logger.info("No url was given: crawling the demonstration site")
        async for request in super().start():
            yield request
        for url in self.start_urls:
            yield Request(url, meta={"allow_offsite": True})

    def closed(self, reason: str) -> None:
        if self._demo:
            self._demo.stop()

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Any]:
        if self.max_pages and self._pages >= self.max_pages:
            raise CloseSpider("max_pages")
        self._pages += 1
        yield self._item(response)
        if isinstance(response, HtmlResponse):
            with contextlib.suppress(ValueError, AttributeError):  # lxml: not a tree at all
                for link in self._links.extract_links(response):
                    if self._is_of_site(link.url):
                        yield Request(link.url)

    def _is_of_site(self, url: str) -> bool:
        """Return False for another port of the host: another service, often on one's own machine.

        Which hosts are of the site, `allowed_domains` says.
        """
        netloc = urlsplit(url).netloc
        return netloc in self._ports or ":" not in netloc

    def _item(self, response: Response) -> PageItem:
        item = PageItem(
            url=response.url,
            title=None,
            text=None,
            language=None,
            fetched=datetime.now(UTC).isoformat(timespec="seconds"),
        )
        if self.save_html and isinstance(response, HtmlResponse):
            item["html"] = response.text
        return item

    def _sitemaps(self, sitemap: str) -> list[str]:
        if "." in sitemap:  # a switch has none, a URL has
            return [_checked_url(part) for part in _parts(sitemap)]
        if not _yes_or_no("sitemap", sitemap):
            return []
        if not self.start_urls:
            raise ValueError("sitemap=yes needs a url")
        roots = dict.fromkeys(
            "{0.scheme}://{0.netloc}".format(urlsplit(u)) for u in self.start_urls
        )
        return [root + path for root in roots for path in ("/robots.txt", "/sitemap.xml")]


_ARGUMENTS = ("url", "domains", "sitemap", "max_pages", "max_depth", "save_html")


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _checked_url(text: str) -> str:
    url = text if "://" in text else f"https://{text}"
    split = urlsplit(url)
    if split.scheme not in ("http", "https") or not split.hostname:
        raise ValueError(f"expected a URL such as https://example.com/, got {text!r}")
    return url


def _positive(name: str, text: str) -> int | None:
    if not text:
        return None
    if not text.isdecimal() or not int(text):
        raise ValueError(f"{name} must be a whole number of at least 1, got {text!r}")
    return int(text)


def _yes_or_no(name: str, text: str) -> bool:
    if text.lower() in ("1", "yes", "true", "on"):
        return True
    if text.lower() in ("", "0", "no", "false", "off"):
        return False
    raise ValueError(f"{name} must be yes or no, got {text!r}")
