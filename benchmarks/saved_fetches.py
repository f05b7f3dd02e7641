"""How many downloads are saved where URLs are known to be copies, and that nothing is lost.

    python benchmarks/saved_fetches.py [SITE] [--pages 500] [--orders 20]

SITE is a folder of HTML files; without it, pages are generated. Each page has four URLs: its own,
and three with a part that means nothing, by ten schemes (a session id, a tracking parameter and a
print view; others with each order of the queue). In the last two, such a part chooses another page
on the second half of the site. Prints for each order of the queue how many pages were downloaded
with and without DEDUP_SKIP_URLS, and which contents are stored without it only.
"""

import argparse
import multiprocessing
import random
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

SCHEMES = [
    ["sid={id}x", "utm_source=mail", "print=yes"],
    ["PHPSESSID={id}x", "fbclid={id}x", "view=print"],
    ["ref=home-page", "utm_medium=feed&utm_source=mail", "amp=true-ish"],
    ["s={id}x", "trk=side-bar", "sort=by-name"],
    ["jsessionid={id}x", "gclid={id}x", "print=true"],
    ["theme=dark-mode", "ref=top-menu", "sid={id}x"],
    ["cache={id}x", "tab=all-of-it", "utm_campaign=may-day"],
    ["visitor={id}x&seen=yes-yes", "ref=foot-note", "print=yes"],
    ["sid={id}x", "colour=red-one", "utm_source=mail"],
    ["kind=first-one", "sid={id}x", "ref=foot-note"],
]
_FIFO = "scrapy.squeues.FifoMemoryQueue"
BREAKING = {8: "colour", 9: "kind"}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("site", type=Path, nargs="?")
    parser.add_argument("--pages", type=int, default=500)
    parser.add_argument("--orders", type=int, default=20)
    arguments = parser.parse_args()
    pages = list(_pages(arguments.site, arguments.pages))
    lost = 0
    for order in range(arguments.orders):
        scheme = order % len(SCHEMES)
        with served(pages, scheme, order) as (url, asked):
            contents, told = [], []
            settings: dict[str, Any] = {}
            if scheme in BREAKING:  # the rule comes before what breaks it
                settings = {"DEPTH_PRIORITY": 10_000, "SCHEDULER_MEMORY_QUEUE": _FIFO}
            for skips in (False, True):
                asked.clear()
                found, stats = crawl(url, order, {"DEDUP_SKIP_URLS": skips, **settings})
                contents.append(found)
                told.append((len(asked), stats))
        missing = contents[0] - contents[1]
        lost += len(missing)
        (all_of_them, _), (fetched, stats) = told
        broken = stats.get("dedup/saved_requests/contradictions/url-rule", 0)
        tests = stats.get("dedup/saved_requests/tests/url-rule", 0)
        print(
            f"order {order:2}, scheme {scheme}: {fetched} of {all_of_them} downloads "
            f"({fetched / all_of_them:.0%}), {tests} tests, {broken} rules broken, "
            f"{len(contents[0])} contents, {len(missing)} lost",
            flush=True,
        )
    return int(lost > 0)


def _pages(folder: Path | None, most: int) -> Iterator[str]:
    if folder:
        for path in sorted(folder.rglob("*.htm*"))[:most]:
            yield path.read_text("utf-8", "replace")
        return
    words = [f"{a}{b}{c}" for a in "bdfgklmnprst" for b in "aeiou" for c in ("ran", "lis", "mot")]
    for number in range(most):
        chooser = random.Random(number)
        text = ". ".join(" ".join(chooser.choices(words, k=12)) for _ in range(20))
        yield (
            f"<html><head><title>Page {number}</title></head><body><main><article>"
            f"<h1>Page {number}</h1><p>{text}.</p></article></main></body></html>"
        )


@contextmanager
def served(pages: list[str], scheme: int, seed: int) -> Iterator[tuple[str, list[str]]]:
    """Serve *pages*; yield the URL, and the list to which each path is added that is asked for."""
    chooser, asked, size = random.Random(seed), list[str](), len(pages)
    links = []
    for number in range(size):
        own: list[str] = []
        for other in range(3 * number + 1, min(3 * number + 4, size)):
            own.append(f"/{other}")
            for part in SCHEMES[scheme]:
                own.append(f"/{other}?{part.format(id=f'{chooser.randrange(16**8):x}')}")
        chooser.shuffle(own)
        links.append("".join(map(_link, own)))

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            name = parts.path[1:] or "0"
            status, body = 404, b""
            if name.isdigit() and int(name) < size:
                number, shown = int(name), int(name)
                asked.append(self.path)
                if scheme in BREAKING and 2 * number >= size and BREAKING[scheme] in parts.query:
                    shown = size - 1 - number  # another page, under another number
                content = f'<i id="content">{number if shown == number else -number}</i>'
                body = ended_by(pages[shown], content + links[number]).encode("utf-8", "replace")
                status = 200
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        server.server_close()


def ended_by(page: str, html: str) -> str:
    """Return *page* with *html* at the end of its body."""
    before, end, after = page.rpartition("</body>")
    return f"{before}{html}{end}{after}" if end else page + html


def _link(path: str) -> str:
    return f'<a class="link" href="{path.replace("&", "&amp;")}">.</a>'


def crawl(url: str, order: int, settings: dict[str, Any]) -> tuple[set[str], dict[str, Any]]:
    """Crawl *url* in a process of its own; return the contents that are stored, and the stats."""
    context = multiprocessing.get_context("spawn")
    results = context.SimpleQueue()
    process = context.Process(target=_crawl, args=(url, order, settings, results))
    process.start()
    found: tuple[set[str], dict[str, Any]] = results.get()
    process.join()
    return found


def _crawl(url: str, order: int, settings: dict[str, Any], results: Any) -> None:
    from scrapy import Spider, signals
    from scrapy.crawler import CrawlerProcess

    chooser, stored = random.Random(order), set[str]()

    class Site(Spider):
        name = "site"
        start_urls = (url + "/",)

        def parse(self, response: Any) -> Any:
            if not response.url.endswith(("/", "/index.html")):
                yield {"url": response.url, "content": response.css("#content::text").get()}
            for link in response.css("a.link::attr(href)").getall():
                yield response.follow(link, priority=chooser.randrange(1000))

    process = CrawlerProcess(
        {
            "ADDONS": {"dedup.scrapy_plugin.Addon": 500},
            "LOG_LEVEL": "ERROR", "DEDUP_WORKERS": 0, "TELNETCONSOLE_ENABLED": False, **settings,
        }
    )  # fmt: skip
    crawler = process.create_crawler(Site)
    crawler.signals.connect(
        lambda item: stored.add(str(item["content"])), signals.item_scraped, weak=False
    )
    process.crawl(crawler)
    process.start()
    stats = crawler.stats.get_stats() if crawler.stats else {}
    results.put((stored, {name: value for name, value in stats.items() if "dedup" in name}))


if __name__ == "__main__":
    sys.exit(main())
