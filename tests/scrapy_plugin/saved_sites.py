"""Sites that know what was asked of them, and a spider for them."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import md5
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, ClassVar

from crawls import Crawl, crawl
from scrapy import Spider
from texts import article, page


class Site:
    """A site that answers by a function of the path, with validators, and knows what was asked."""

    def __init__(self, answer: Callable[[str], str | None]) -> None:
        self.answer = answer
        self.asked: list[tuple[str, int]] = []
        self.lies = False
        self.etags = True
        self.redirects: dict[str, str] = {}

    def fetched(self) -> list[str]:
        """The paths that were sent whole since the last call."""
        asked, self.asked = self.asked, []
        return sorted(path for path, status in asked if status == 200)

    @contextmanager
    def served(self) -> Iterator[str]:
        site = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1
            disable_nagle_algorithm = True

            def do_GET(self) -> None:
                body = (site.answer(self.path) or "").encode()
                tag = f'"{md5(body).hexdigest()}"'
                given = self.headers.get("If-None-Match")
                status = 200 if body else 404
                if given and (site.lies or given == tag):
                    status, body = 304, b""
                if self.path in site.redirects:
                    status, body = 302, b""
                site.asked.append((self.path, status))
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.send_header("Content-Type", "text/html")
                if status == 302:
                    self.send_header("Location", site.redirects[self.path])
                if site.etags:
                    self.send_header("ETag", tag)
                self.end_headers()
                self.wfile.write(body)

            def do_POST(self) -> None:
                self.do_GET()

            def log_message(self, *_: object) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            server.server_close()


class Shop(Spider):
    """Follows all links, and makes an item of each page that is no list."""

    name = "test"
    meta: ClassVar[dict[str, Any]] = {}

    def parse(self, response: Any) -> Any:
        if title := response.css("h1::text").get():
            yield {"url": response.url, "title": title, "price": response.css("i::text").get()}
        for link in response.css("a::attr(href)").getall():
            yield response.follow(link, meta=dict(self.meta))


def shop(url: str, **attributes: Any) -> type[Spider]:
    return type("TestSpider", (Shop,), {"start_urls": [f"{url}/"], **attributes})


def of(number: int, *links: str, price: int = 5) -> str:
    """The page of a product."""
    body = f"<h1>Product {number}</h1><i>{price}</i>{listing(*links)}</body>"
    return page(article(number), title=f"Product {number}").replace("</body>", body)


def listing(*links: str) -> str:
    return " ".join(f'<a href="{link}">more</a>' for link in links)


def run(site: Site, folder: Path, spider: dict[str, Any] | None = None, **settings: Any) -> Crawl:
    """Crawl *site* with a ledger in *folder*, by a `shop` with the attributes *spider*."""
    with site.served() as url:
        settings.setdefault("DEDUP_INDEX", folder / "pages.sqlite")
        result = crawl(shop(url, **(spider or {})), **settings)
    assert not result.messages(40)
    return result


def contents(result: Crawl) -> list[str]:
    """The titles that were stored, each once."""
    return sorted({item["title"] for item in result.items})
