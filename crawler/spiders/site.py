"""Crawls a whole site."""

from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from inspect import getfullargspec
from typing import Any
from urllib.parse import urljoin, urlsplit

from scrapy import Request
from scrapy.http import HtmlResponse, Response
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import SitemapSpider
from scrapy.utils.defer import deferred_from_coro

from crawler.demo.server import DemoServer
from crawler.items import PageItem


class SiteSpider(SitemapSpider):
    """Follows every link within the domains and stores a `PageItem` for every page.

    Without a URL it crawls the demonstration site that comes with the project.

    Arguments (``-a name=value``):

    url         where to start; several separated by commas
    domains     the domains to stay in, separated by commas; default: the hosts of the URLs
    sitemap     yes: also start from /sitemap.xml and the sitemaps that robots.txt names;
                or the URLs of sitemaps, separated by commas
    max_pages   visit at most this many pages; requests already under way are still downloaded
    max_depth   follow links at most this many clicks from the start; 0: none
    save_html   yes: store the HTML too
    edition     2: crawl the demonstration site some days later
    dedup_reset yes: forget what earlier crawls stored (with DEDUP_INDEX)
    """

    name = "site"

    def __init__(
        self,
        *,
        url: str | None = None,
        domains: str = "",
        sitemap: str = "",
        max_pages: str | int | None = None,
        max_depth: str | int | None = None,
        save_html: str = "",
        edition: str | int | None = None,
        dedup_reset: str | None = None,
        **others: Any,
    ) -> None:
        """Check the arguments; raises ValueError for a wrong or unknown one."""
        super().__init__()
        for name in others:
            if not name.startswith("_"):  # such as those that schedulers add
                raise ValueError(
                    f"unknown argument {name!r}; the arguments are {', '.join(_ARGUMENTS)}"
                )
        self.start_urls = [_parse_url(part) for part in _parts(url or "")]
        if url is not None and not self.start_urls:
            raise ValueError("url is empty; leave it out to crawl the demonstration site")
        self.max_pages = _whole_number("max_pages", max_pages, at_least=1)
        self.max_depth = _whole_number("max_depth", max_depth, at_least=0)
        self.save_html = _yes_or_no("save_html", save_html)
        if edition is not None and url is not None:
            raise ValueError("edition is for the demonstration site only, without a url")
        self.edition = _whole_number("edition", edition, at_least=1) or 1
        if self.edition > 2:
            raise ValueError(f"edition must be 1 or 2, got {edition!r}")
        if dedup_reset is not None:  # else the setting decides
            self.dedup_reset = _yes_or_no("dedup_reset", dedup_reset)
        self.sitemap_urls = self._sitemaps(sitemap)
        starts = [*self.start_urls, *self.sitemap_urls]
        if domains and not starts:
            raise ValueError("domains needs a url or a sitemap")
        # Not allowed_domains: Scrapy's filter would also drop the robots.txt of a start host
        # outside of them, and the crawl would ignore that host's robots.txt.
        self.domains = [_parse_domain(part) for part in _parts(domains)]
        self._origins = {_origin(start) for start in starts}
        self._links = LinkExtractor()
        self._pages = 0
        self._demo: DemoServer | None = None

    async def start(self) -> AsyncIterator[Any]:
        if not self.start_urls and not self.sitemap_urls:
            self._demo = DemoServer(self.edition)
            self._demo.start()
            self.start_urls = [self._demo.url]
            self._origins = {_origin(self._demo.url), _origin(self._demo.mirror_url)}
            self.logger.info(
                "No url was given: crawling the demonstration site, "
                "where some pages are missing or broken on purpose"
            )
        async for request in super().start():
            yield request
        for url in self.start_urls:
            yield Request(url, meta={"is_start": True})

    def closed(self, reason: str) -> None:
        if self._demo:
            self._demo.stop()

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Any]:
        if self.max_pages and self._pages >= self.max_pages:
            return
        if response.meta.get("is_start"):
            self._origins.add(_origin(response.url))  # the target of a redirect
        elif not self._is_of_site(response.url):
            self.logger.debug("Redirected off the site: %r", response.url)
            return
        self._pages += 1
        yield self._item(response)
        if self._pages == self.max_pages:
            # Not by CloseSpider: a page whose callback raises is not remembered as stored.
            deferred_from_coro(self.crawler.engine.close_spider_async(reason="max_pages"))
            return
        clicks = response.meta.get("clicks", 0)
        if self.max_depth is not None and clicks >= self.max_depth:
            return
        for url in self._links_of(response):
            if self._is_of_site(url):
                yield Request(url, meta={"clicks": clicks + 1})

    def _links_of(self, response: Response) -> list[str]:
        if not isinstance(response, HtmlResponse):
            return []
        try:
            return [link.url for link in self._links.extract_links(response)]
        except (ValueError, AttributeError):  # lxml finds no tree in it
            return []

    def _is_of_site(self, url: str) -> bool:
        """Return whether *url* is within the domains, or has the host and port of a start URL.

        Another port of the host is another service, often on the user's own machine.
        """
        origin = host, _ = _origin(url)
        if not self.domains or any(host == start for start, _ in self._origins):
            return origin in self._origins
        return any(host == domain or host.endswith(f".{domain}") for domain in self.domains)

    def _item(self, response: Response) -> PageItem:
        item = PageItem(
            url=response.url,
            **dict.fromkeys(("title", "text", "language", "coverage", "canonical")),  # by dedup
            fetched=datetime.now(UTC).isoformat(timespec="seconds"),
        )
        if self.save_html and isinstance(response, HtmlResponse):
            item["html"] = response.text
        return item

    def _sitemaps(self, sitemap: str) -> list[str]:
        if "." in sitemap or ":" in sitemap:  # only a URL has these
            return [_parse_url(part) for part in _parts(sitemap)]
        if not _yes_or_no("sitemap", sitemap):
            return []
        if not self.start_urls:
            raise ValueError("sitemap=yes needs a url")
        places = ("/robots.txt", "/sitemap.xml")
        return list(dict.fromkeys(urljoin(u, path) for u in self.start_urls for path in places))


_ARGUMENTS = getfullargspec(SiteSpider.__init__).kwonlyargs


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _parse_url(text: str) -> str:
    url = text if "://" in text else f"https://{text}"
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"expected a URL such as https://example.com/, got {text!r}")
    return url


def _parse_domain(text: str) -> str:
    if "/" in text or ":" in text:
        raise ValueError(f"domains must be names such as example.com, got {text!r}")
    return text.lower()


def _origin(url: str) -> tuple[str, int | None]:
    """Return the host of *url* and its port, by default that of the scheme."""
    try:
        parts = urlsplit(url)
        port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    except ValueError:  # an unclosed bracket, a port that is not a number
        return "", None
    return parts.hostname or "", port


def _whole_number(name: str, value: str | int | None, *, at_least: int) -> int | None:
    text = "" if value is None else str(value)
    if not text:
        return None
    if not text.isdecimal() or int(text) < at_least:
        raise ValueError(f"{name} must be a whole number of at least {at_least}, got {text!r}")
    return int(text)


def _yes_or_no(name: str, text: str) -> bool:
    if text.lower() in ("1", "yes", "true", "on"):
        return True
    if text.lower() in ("", "0", "no", "false", "off"):
        return False
    or_what = " or URLs" if name == "sitemap" else ""
    raise ValueError(f"{name} must be yes or no{or_what}, got {text!r}")
