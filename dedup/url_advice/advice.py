"""URLs and their contents -> the parts of URLs that never changed the content.

URL filters must be told which parts of a URL do not matter. This module learns it from a crawl: it
removes or replaces a part of a URL, and if the crawl visited the resulting URL too, it compares the
contents of both. What to do about it is left to people, and to DEDUP_SKIP_URLS.

The result depends neither on the order of the pages nor on which of them the crawl stored.

Source: Bar-Yossef, Keidar, Schonfeld, "Do Not Crawl in the DUST: Different URLs with Similar Text",
WWW 2007. They mine rules from a list of URLs and test them on sample pages; here the contents of
all pages are known.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, islice
from operator import itemgetter
from typing import Any

from dedup.preference import version_rank
from dedup.url_advice.urls import Part, Url, in_any_folder, parts_of, without
from dedup.wilson import wilson

# What advice needs: so many compared pages, and if any differs, this confidence.
_LEAST_COMPARED, _LEAST_CONFIDENCE = 5, 0.9
_MOST_ADVICE = 40
# Where to look for examples.
_PAIRS_OF_A_CLASS = 100
# Each part costs time, and a hostile site could have any number.
_MOST_PARTS = 20
_MOST_PARTS_OF_ALL = 1_000_000
_MOST_SIBLINGS = 64
_PAIRS_AT_ONCE = 1 << 16
# In a class of URLs with more contents than this, only equal contents are the same: such contents
# change with each visit, and there would be too many pairs.
_MOST_CONTENTS = 16

Near = Callable[[Collection[tuple[Any, Any]]], Iterable[tuple[Any, Any]]]
"""Takes pairs of different contents; returns those that are near each other."""


class Pages:
    """The URLs of a crawl in alphabetical order, each as written, and their contents.

    Nearness is not transitive: a may be near b and b near c, but a not near c.
    """

    def __init__(self, pages: Iterable[tuple[str, Hashable]], near: Near) -> None:
        """Take pairs of a URL and its content, ``None`` if that is unknown; *near*: see `Near`."""
        self.urls: dict[Url, str] = {}
        self.contents: dict[Url, Hashable] = {}
        self._near = near
        self._neighbours: dict[Hashable, set[Hashable]] = defaultdict(set)
        for text, content in sorted(pages, key=itemgetter(0)):
            if not (url := Url.parse(text)):
                continue
            # A URL that is written in two ways may have two contents.
            if content is None or self.contents.get(url, content) != content:
                content = object()  # unlike any other
            self.urls.setdefault(url, text)
            self.contents[url] = content

    def evidence(self, classes: Iterable[Sequence[Url]]) -> tuple[int, int]:
        """Return how many URLs of *classes* a crawl could skip, and how many of these agreed.

        It would fetch one URL of each class.
        """
        contents = [[self.contents[url] for url in urls] for urls in classes if len(urls) > 1]
        different = map(dict.fromkeys, contents)
        self.compare(
            pair
            for some in different
            if len(some) <= _MOST_CONTENTS
            for pair in combinations(some, 2)
        )
        return sum(map(len, contents)) - len(contents), sum(map(self._count_agreeing, contents))

    def compare(self, pairs: Iterable[tuple[Hashable, Hashable]]) -> None:
        """Find out which of *pairs* of contents are near each other."""
        known = ((a, b) for a, b in pairs if a != b and object not in (type(a), type(b)))
        while batch := dict.fromkeys(islice(known, _PAIRS_AT_ONCE)):
            for a, b in self._near(batch.keys()):
                self._neighbours[a].add(b)
                self._neighbours[b].add(a)

    def are_same(self, one: Url, other: Url) -> bool:
        """Return whether two URLs have the same content, as far as they were compared."""
        a, b = self.contents[one], self.contents[other]
        return a == b or b in self._neighbours.get(a, ())

    def _count_agreeing(self, contents: Sequence[Hashable]) -> int:
        """Return how many pages of a class agree with the one that a crawl would fetch.

        The result is averaged over the choice of the fetched page and rounded down, so it is all of
        the others only if every two contents are the same.
        """
        counts, pairs = Counter(contents), 0
        for content, count in counts.items():
            near = counts.keys() & self._neighbours.get(content, set())
            pairs += count * (count - 1 + sum(counts[other] for other in near))
        return pairs // len(contents)

    def examples(self, pairs: Iterable[tuple[Url, Url]]) -> Iterator[tuple[tuple[str, str], ...]]:
        """Return two pairs that are the same, and two that differ, as far as there are some."""
        found: tuple[list[tuple[str, str]], ...] = [], []
        for one, other in pairs:
            found[self.are_same(one, other)].append((self.urls[one], self.urls[other]))
            if min(map(len, found)) > 1:
                break
        differing, agreeing = found
        return iter((tuple(agreeing[:2]), tuple(differing[:2])))


@dataclass(frozen=True, slots=True)
class Advice:
    """A part of URLs that did not change the content of pages.

    *kind* says what *name* is: a "parameter" of the query, "parameters" that come together
    (separated by commas), an "index" page, a last "slash", a "value" (this folder in this place), a
    "host" (with its scheme). A URL is compared with the URL without the part; if the part is a
    value or host, with the URL that has *other* in its place.

    *pages*: the number of URLs with the part. *compared*: the number of URLs that a crawl could
    skip, since another URL differs in this part only. *agreed*: how many of these have the content
    of the URL that the crawl would fetch instead, averaged over the choice of that URL and rounded
    down. *confidence*: the lower bound of the share that agrees (95 %, Wilson). *examples*,
    *counterexamples*: pairs of URLs.
    """

    kind: str
    name: str
    other: str | None
    host: str
    pages: int
    compared: int
    agreed: int
    confidence: float
    examples: tuple[tuple[str, str], ...]
    counterexamples: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class UrlAdvice:
    """All advice from *pages* pages; the surest and most useful first."""

    pages: int
    advice: tuple[Advice, ...]


def url_advice(pages: Iterable[tuple[str, Hashable]], near: Near = lambda pairs: ()) -> UrlAdvice:
    """Return the parts of URLs that never changed the content, from pairs of URL and content.

    Pages are the same if their contents are equal, or near each other: *near* takes pairs of
    contents and returns those that are near. ``None`` is an unknown content, unlike any other.

    A part is advised if at least five URLs could be compared and none disagreed, or if the
    confidence is above 0.9.

    >>> shop = "http://shop.example/"
    >>> pages = [(f"{shop}{n}{query}", n) for n in range(9) for query in ("", "?ref=home")]
    >>> advice = url_advice(pages).advice[0]
    >>> advice.kind, advice.name, advice.agreed, advice.compared
    ('parameter', 'ref', 9, 9)
    """
    crawl = Pages(pages, near)
    found = sorted(
        filter(None, [*_advice_on_parts(crawl), *_advice_on_siblings(crawl)]),
        key=lambda each: (-each.agreed, each.kind, each.host, each.name),
    )
    return UrlAdvice(len(crawl.urls), tuple(found[:_MOST_ADVICE]))


def _advice_on_parts(crawl: Pages) -> Iterator[Advice | None]:
    urls_of: dict[Part, list[Url]] = defaultdict(list)
    for url in _with_few_parts(crawl.urls):
        for part in parts_of(url):
            urls_of[part].append(url)
    for part, urls in urls_of.items():
        bases: dict[Url, list[Url]] = defaultdict(list)
        for url in urls:
            bases[without(url, part)].append(url)
        # A base that is no page of the crawl gives no evidence.
        classes = [[*own, base] if base in crawl.urls else own for base, own in bases.items()]
        compared, agreed = crawl.evidence(classes)
        pairs = (p for own in classes for p in islice(combinations(own, 2), _PAIRS_OF_A_CLASS))
        yield _advice(crawl, part, None, len(urls), compared, agreed, pairs)


def _advice_on_siblings(crawl: Pages) -> Iterator[Advice | None]:
    """Yield advice on the folders and hosts that repeat another one, page by page."""
    members: dict[Part, dict[Url, Url]] = defaultdict(dict)
    for url in crawl.urls:
        for part, base in in_any_folder(url):
            members[part][base] = url
    # Few pages first, http before https, old versions before new ones.
    parts = sorted(
        (part for part, urls in members.items() if len(urls) >= _LEAST_COMPARED),
        key=lambda part: (
            len(members[part]), part.name.startswith("https:"),
            -version_rank(part.name.split("/")[-2]), part,
        ),
    )  # fmt: skip
    for number, other in _most_alike(crawl, [members[part] for part in parts]):
        own, others = members[parts[number]], members[parts[other]]
        both = [(url, others[base]) for base, url in own.items() if base in others]
        crawl.compare((crawl.contents[url], crawl.contents[its]) for url, its in both)
        agreed = sum(crawl.are_same(*pair) for pair in both)
        name = parts[other].name
        yield _advice(crawl, parts[number], name, len(own), len(both), agreed, both)


def _most_alike(crawl: Pages, members: Sequence[Mapping[Url, Url]]) -> list[tuple[int, int]]:
    """Return the numbers of *members*, each with the later one of most equal contents."""
    places: dict[Url, list[int]] = defaultdict(list)
    for number, urls in enumerate(members):
        for base in urls:
            places[base].append(number)
    common, equal = Counter[tuple[int, int]](), Counter[tuple[int, int]]()
    for base, numbers in places.items():
        contents = {n: crawl.contents[members[n][base]] for n in numbers[-_MOST_SIBLINGS:]}
        for one, other in combinations(contents, 2):
            common[one, other] += 1
            equal[one, other] += contents[one] == contents[other]
    best: dict[int, tuple[int, int]] = {}
    for (number, other), count in common.items():
        if count >= _LEAST_COMPARED:
            # On a tie the latest wins: it is the one that the others repeat.
            best[number] = max(best.get(number, (-1, -1)), (equal[number, other], other))
    return [(number, other) for number, (_, other) in sorted(best.items())]


def _advice(
    crawl: Pages,
    part: Part,
    other: str | None,
    pages: int,
    compared: int,
    agreed: int,
    pairs: Iterable[tuple[Url, Url]],
) -> Advice | None:
    """Return the advice that the figures give, ``None`` if they are too few or differ too much."""
    if compared < _LEAST_COMPARED:
        return None
    sure = wilson(agreed / compared, compared)[0]
    if agreed < compared and sure <= _LEAST_CONFIDENCE:
        return None
    numbers = pages, compared, agreed, round(sure, 4)
    host = part.host or part.name.partition("://")[2]
    return Advice(part.kind, part.name, other, host, *numbers, *crawl.examples(pairs))


def _with_few_parts(urls: Collection[Url]) -> list[Url]:
    sizes = {url: len(url.query) + url.path.count("/") for url in urls}
    most = total = 0
    for size, count in sorted(Counter(sizes.values()).items()):
        total += size * count
        if size > _MOST_PARTS or total > _MOST_PARTS_OF_ALL:
            break
        most = size
    return [url for url, size in sizes.items() if size <= most]
