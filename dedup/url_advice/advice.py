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
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, islice

from dedup.preference import version_rank
from dedup.url_advice.pages import Near, Pages
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
