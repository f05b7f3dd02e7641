"""Sites whose contents are known, and a server that notes which of their pages it gave."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from random import Random, uniform
from threading import Thread
from urllib.parse import urldefrag, urlsplit

LINKS, WORDS_OF_A_TEXT = 20, 160
WORDS = [f"{first}{last}" for first in "brcdfghklm" for last in "ake ill one ust end".split()]
REVIEWS = (
    "There are no reviews of this product yet, so be the first who writes one and tells other "
    'customers what they ask for: "Does it hold what it promises, and for how long?" Reviews, once '
    "sent, are read by our staff before they appear below, which takes up to three working days."
)
TROUBLES = (
    "callback-first", "callback-item", "callback-midway", "callback-last", "pipeline", "export",
    "drop", "replace", "refused",
)  # fmt: skip
Troubles = Sequence[str]
Key = tuple[str, str]
"""An item: the path of its page, and the unit of content that it holds."""


@dataclass
class Contents:
    """The pages of a site, and what is to be made of them."""

    pages: dict[str, str] = field(default_factory=dict)
    texts: dict[Key, str] = field(default_factory=dict)
    """The text of each item."""
    items_of: dict[str, set[Key]] = field(default_factory=dict)
    """The items that are stored if a ledger says that the page at this path is."""
    troubles: dict[str, str] = field(default_factory=dict)
    """Where a callback, a pipeline, an exporter or a feed fails, by the path of the page."""

    @property
    def units(self) -> set[str]:
        return {unit for _, unit in self.texts}

    def is_refused(self, key: Key) -> bool:
        """Return whether feeds refuse the item."""
        return self.troubles.get(urldefrag(key[0])[0]) == "refused"

    def add(
        self,
        path: str,
        articles: Sequence[tuple[str, Sequence[str]]],
        trouble: str = "",
        **options: str,
    ) -> str:
        """Add a page of *articles*, the unit of content of each and its paragraphs; return *path*.

        Each article is an item.
        """
        self.pages[path] = html(articles, trouble=trouble, **options)
        self.troubles |= {path: trouble} if trouble else {}
        for unit, text in articles:
            item = f"{path}#{unit}" if "fragments" in options else path
            self.expect(item, unit, "\n".join(text), item, path)
        return path

    def expect(self, path: str, unit: str, text: str, *pages: str) -> None:
        """Expect an item; *pages*: the paths under which a ledger may have it."""
        key = (path, unit)
        self.texts[key] = text
        for page in pages:
            self.items_of.setdefault(page, set()).add(key)

    def add_lists(self, paths: Sequence[str]) -> None:
        """Add the pages that lead to *paths*."""
        lists = {
            f"/list/{start // LINKS}": paths[start : start + LINKS]
            for start in range(0, len(paths), LINKS)
        }
        for path, links in {"/": list(lists), **lists}.items():
            self.pages[path] = html((), links=" ".join(links))


def html(
    articles: Sequence[tuple[str, Sequence[str]]],
    *,
    links: str = "",
    following: str = "",
    trouble: str = "",
    fragments: str = "",
) -> str:
    body = "".join(
        f'<article data-unit="{unit}">{"".join(f"<p>{escape(text)}</p>" for text in paragraphs)}'
        "</article>"
        for unit, paragraphs in articles
    )
    items = "".join(f'<li><a class="link" href="{link}">{link}</a>' for link in links.split())
    body += f"<ul>{items}</ul>" if items else ""
    body += f'<a class="next" href="{following}">more</a>' if following else ""
    attributes = f'data-trouble="{trouble}" data-fragments="{fragments}"'
    title = escape(" ".join(unit for unit, _ in articles) or "A page")  # copies have the same
    return f"<html><head><title>{title}</title></head><body {attributes}>{body}</body></html>"


def words_of(unit: str) -> list[str]:
    chooser = Random(unit)
    words = (f"{chooser.choice(WORDS)}{chooser.randrange(100)}" for _ in range(WORDS_OF_A_TEXT))
    return [unit, *words]


def paragraphs(words: Sequence[str]) -> list[str]:
    """Return a text with all that a CSV file has to quote."""
    half = len(words) // 2
    return [f'{" ".join(words[:half])}, "{words[half]}";', f"{' '.join(words[half + 1 :])}."]


@cache
def nearly(unit: str) -> list[str]:
    """Return the words of a unit with one replaced, so that they are 2 bits away at most."""
    from dedup.methods import SimHash
    from dedup.text import Document

    method, words = SimHash(), words_of(unit)
    original = method.sketch(Document("\n".join(paragraphs(words))))
    nearest: tuple[float, list[str]] = (64, words)
    for place in range(1, len(words)):
        text = [*words[:place], "edited", *words[place + 1 :]]
        distance = method.distance(original, method.sketch(Document("\n".join(paragraphs(text)))))
        nearest = min(nearest, (distance, text), key=lambda near: near[0])
        if distance <= 2:
            break
    return nearest[1]


def texts_of(unit: str) -> list[list[str]]:
    """Return the paragraphs of two equal texts, and of one that is nearly so."""
    same = paragraphs(words_of(unit))
    return [same, same, paragraphs(nearly(unit))]


def copies_of(unit: str, rng: Random, troubles: Troubles) -> Iterator[tuple[int, list[str], str]]:
    """Yield the number of each copy, its text and its trouble, often none, and none of one."""
    texts = texts_of(unit)
    untroubled = rng.randrange(len(texts))
    for copy, text in enumerate(texts):
        has_trouble = troubles and copy != untroubled and rng.random() < 0.6
        yield copy, text, rng.choice(troubles) if has_trouble else ""


Shape = Callable[[Contents, Random, int, Troubles], Iterator[str]]
"""Adds the pages of so many units of content; yields the paths that lists lead to."""


def plain(site: Contents, rng: Random, count: int, troubles: Troubles) -> Iterator[str]:
    """Each content is on two equal pages and on one that is nearly so."""
    for unit in (f"unit{number}" for number in range(count)):
        for copy, text, trouble in copies_of(unit, rng, troubles):
            yield site.add(f"/page/{unit}/{copy}", [(unit, text)], trouble)


def items(site: Contents, rng: Random, count: int, troubles: Troubles) -> Iterator[str]:
    """Pages of four items, each of which is on other pages, too, at times among other ones."""
    units = [f"unit{number}" for number in range(count)]
    for copy in range(3):
        if rng.random() < 0.5:
            rng.shuffle(units)
        for start in range(0, count, 4):
            articles = [(unit, texts_of(unit)[copy]) for unit in units[start : start + 4]]
            # The first copies are without trouble, so that each content can be stored.
            trouble = rng.choice(troubles) if copy and troubles and rng.random() < 0.5 else ""
            yield site.add(f"/page/{copy}/{start}", articles, trouble, fragments="1")


def chains(site: Contents, rng: Random, count: int, troubles: Troubles) -> Iterator[str]:
    """Products whose items are complete after a page of reviews that is equal everywhere."""
    for unit in (f"unit{number}" for number in range(count)):
        for copy, text, trouble in copies_of(unit, rng, troubles):
            path, reviews = f"/product/{unit}/{copy}", f"/product/{unit}/{copy}/reviews"
            site.pages[path] = html([(unit, text)], following=reviews)
            site.pages[reviews] = html([(unit, [REVIEWS])], trouble=trouble)
            site.troubles |= {path: trouble, reviews: trouble} if trouble else {}
            site.expect(path, unit, "\n".join([*text, REVIEWS]), path, reviews)
            yield path


def hubs(site: Contents, rng: Random, count: int, troubles: Troubles) -> Iterator[str]:
    """Hubs of equal text whose links are equal; some callbacks raise before they yield any."""
    for start in range(0, count, 4):
        links = [
            site.add(f"/page/{unit}/{copy}", [(unit, text)])
            for unit in (f"unit{number}" for number in range(start, min(start + 4, count)))
            for copy, text in enumerate(texts_of(unit)[:2])
        ]
        hub = f"hub{start}"
        for copy, text, trouble in copies_of(hub, rng, troubles):
            yield site.add(f"/hub/{start}/{copy}", [(hub, text)], trouble, links=" ".join(links))


SHAPES: dict[str, Shape] = {shape.__name__: shape for shape in (plain, items, chains, hubs)}


def contents_of(shape: str, rng: Random, count: int, troubles: Troubles = ()) -> Contents:
    """Return a site of a shape, with lists that lead to its pages in random order."""
    site = Contents()
    paths = list(SHAPES[shape](site, rng, count, troubles))
    rng.shuffle(paths)
    site.add_lists(paths)
    return site


def path_of(url: str) -> str:
    """Return the path of a URL, with its fragment."""
    parts = urlsplit(url)
    return parts.path + (f"#{parts.fragment}" if parts.fragment else "")


class Server(ThreadingHTTPServer):
    """Gives the pages, each after a random moment, and notes which it gave, and to whom."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, contents: Contents, slowest: float = 0.02) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.contents = contents
        self.slowest = slowest
        self.url = f"http://127.0.0.1:{self.server_port}/"
        self.given: list[tuple[str, str]] = []
        """Who asked (the user agent), and the path."""

    def wait_for(
        self, number: int, goes_on: Callable[[], bool], seconds: float = float("inf")
    ) -> None:
        """Wait until so many pages were given in all, as long as *goes_on*, and so long at most."""
        end = time.monotonic() + seconds
        while len(self.given) < number and goes_on() and time.monotonic() < end:
            time.sleep(0.01)

    def handle_error(self, *_: object) -> None: ...  # clients are killed


class _Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:  # the name that http.server calls
        page = self.server.contents.pages.get(self.path)
        time.sleep(uniform(0, self.server.slowest))
        body = (page or "").encode()
        self.send_response(404 if page is None else 200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()
        if page is not None:
            self.server.given.append((self.headers.get("User-Agent", ""), self.path))

    def log_message(self, *_: object) -> None: ...


@contextmanager
def served(contents: Contents, slowest: float = 0.02) -> Iterator[Server]:
    server = Server(contents, slowest)
    thread = Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
