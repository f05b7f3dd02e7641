"""Sites that know what was asked of them, and a spider for them."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from hashlib import md5
from pathlib import Path
from typing import Any

from crawls import Crawl, crawl_paths
from texts import article, page
from web import Answer, served


class Site:
    """A site that answers by a function of the path, with validators, and knows what was asked."""

    def __init__(self, answer: Callable[[str], str | None]) -> None:
        self.answer = answer
        self.asked: list[tuple[str, int]] = []
        self.lies = False
        self.redirects: dict[str, str] = {}

    def __call__(self, path: str, headers: Mapping[str, str]) -> Answer:
        body = (self.answer(path) or "").encode()
        tag = f'"{md5(body).hexdigest()}"'
        given = headers.get("If-None-Match")
        answer = Answer(body, 200 if body else 404, "text/html")
        if given and (self.lies or given == tag):
            answer = Answer(b"", 304, "text/html")
        if path in self.redirects:
            answer = Answer(b"", 302, "text/html", {"Location": self.redirects[path]})
        answer.headers["ETag"] = tag
        self.asked.append((path, answer.status))
        return answer

    def fetched(self) -> list[str]:
        """The paths that were sent whole since the last call."""
        asked, self.asked = self.asked, []
        return sorted(path for path, status in asked if status == 200)

    def served(self) -> AbstractContextManager[str]:
        return served(self)


def parse_shop(self: Any, response: Any) -> Any:
    """Follow all links, and make an item of each page that is no list."""
    if title := response.css("h1::text").get():
        yield {"url": response.url, "title": title, "price": response.css("i::text").get()}
    for link in response.css("a::attr(href)").getall():
        yield response.follow(link, meta=dict(self.meta))


def of(number: int, *links: str, price: int = 5) -> str:
    """The page of a product."""
    body = f"<h1>Product {number}</h1><i>{price}</i>{listing(*links)}</body>"
    return page(article(number), title=f"Product {number}").replace("</body>", body)


def listing(*links: str) -> str:
    return " ".join(f'<a href="{link}">more</a>' for link in links)


def crawl_shop(url: str, folder: Path, **options: Any) -> Crawl:
    """Crawl a whole site with a ledger in *folder*."""
    ledger = folder / "pages.sqlite"
    options = {"parse": parse_shop, "meta": {}, "DEDUP_INDEX": ledger, **options}
    result = crawl_paths(url, "/", **options)
    assert "errors" not in result.dedup_stats
    return result


def run(site: Site, folder: Path, **options: Any) -> Crawl:
    """Serve *site*, and crawl it."""
    with site.served() as url:
        result = crawl_shop(url, folder, **options)
    assert not result.messages(40)
    return result


def contents(result: Crawl) -> list[str]:
    """The titles that were stored, each once."""
    return sorted({item["title"] for item in result.items})
