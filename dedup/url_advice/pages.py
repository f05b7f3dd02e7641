"""The URLs of a crawl, and which of them have the same content."""

import re
from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from itertools import chain, product
from operator import itemgetter

from dedup.url_advice.sameness import Near, Sameness
from dedup.url_advice.urls import Part, Url


class Pages:
    """The URLs of a crawl in alphabetical order, and their contents.

    *urls* has each URL as written, *contents* its content as a number; *sameness* compares those.
    """

    def __init__(self, pages: Iterable[tuple[str, Hashable]], near: Near) -> None:
        """Take pairs of a URL and its content, ``None`` if that is unknown; *near*: see `Near`."""
        self.urls: dict[Url, str] = {}
        self.contents: dict[Url, int] = {}
        self._by_host: dict[str, list[Url]] = defaultdict(list)
        self._texts: dict[str, list[str]] = defaultdict(list)
        self._by_parameter: dict[tuple[str, str], list[Url]] = defaultdict(list)
        contents: list[Hashable] = []
        numbers: dict[Hashable, int] = {}
        for text, content in sorted(pages, key=itemgetter(0)):
            if not (url := Url.parse(text)):
                continue
            number = (
                len(contents) if content is None else numbers.setdefault(content, len(contents))
            )
            if number == len(contents):
                contents.append(content)
            if url not in self.urls:
                self.urls[url] = text
                self.contents[url] = number
                self._by_host[url.host].append(url)
                self._texts[url.host].append(text)
                for name in {pair.partition("=")[0] for pair in url.query}:
                    self._by_parameter[url.host, name].append(url)
            elif self.contents[url] != number:  # written in two ways, with two contents
                self.contents[url] = len(contents)
                contents.append(None)

        def near_numbers(pairs: Collection[tuple[int, int]]) -> Iterator[tuple[int, int]]:
            by_contents = {
                (contents[a], contents[b]): (a, b)
                for a, b in pairs
                if contents[a] is not None and contents[b] is not None
            }
            return (by_contents[pair] for pair in near(by_contents.keys()))

        self.sameness = Sameness(near_numbers)

    def are_same(self, a: Url, b: Url) -> bool:
        """Return whether two URLs have the same content, as far as `sameness` has compared them."""
        return self.sameness.are_same(self.contents[a], self.contents[b])

    def evidence(self, classes: Iterable[Sequence[Url]]) -> tuple[int, int]:
        """Return how many URLs of *classes* a crawl could skip, and how many of these agreed.

        It would fetch one URL of each class.
        """
        contents = [[self.contents[url] for url in urls] for urls in classes if len(urls) > 1]
        self.sameness.compare_within(contents)
        return sum(map(len, contents)) - len(contents), sum(
            map(self.sameness.count_agreeing, contents)
        )

    def bars_only(self, deny: str, part: Part, members: Collection[Url]) -> bool:
        """Return whether *deny* bars *members*, and no other URL of their host.

        *deny* is a regular expression for *part*; a URL that it bars contains one of its names.
        """
        bars = re.compile(deny).search
        of_all, of_members = (
            # Searching for the names first spares most texts the regular expression.
            sum(map(bool, map(bars, _with_any(part.names, texts))))
            for texts in (self._texts[part.host_alone], [self.urls[url] for url in members])
        )
        return of_all == of_members == len(members)

    def urls_of(self, hosts: Iterable[str], parameters: Sequence[str]) -> Iterable[Url]:
        """Return the URLs of *hosts*; if *parameters* are named, those that have any of these."""
        if parameters:
            pairs = product(hosts, parameters)
            return {url: None for pair in pairs for url in self._by_parameter[pair]}
        return chain.from_iterable(self._by_host[host] for host in hosts)


def _with_any(names: Iterable[str], texts: Iterable[str]) -> set[str]:
    return {text for name in names for text in texts if name in text}
