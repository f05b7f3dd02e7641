"""URLs without a part, or with another in its place: do they have the same content?"""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import combinations, islice
from typing import Any, NamedTuple

from dedup.url_advice.advice import LEAST_COMPARED, Advice, Rule, confidence, is_advised
from dedup.url_advice.pages import Pages
from dedup.url_advice.rules import discarder_rule, www_rule
from dedup.url_advice.siblings import best_rivals
from dedup.url_advice.urls import (
    Part,
    Url,
    in_any_folder,
    parts_with_values,
    without,
    without_parts,
)

# Where to look for examples.
_PAIRS_OF_A_CLASS = 100
# Each part costs time, and a hostile site could have any number.
_MOST_PARTS = 20
_MOST_PARTS_OF_ALL = 1_000_000
_NUMBERS = re.compile(r"(\d+)")


class Finding(NamedTuple):
    """A part with its advice, and the URLs that have it; a rule *may_bar* these *members*."""

    part: Part
    advice: Advice
    members: set[Url]
    may_bar: bool

    @property
    def rank(self) -> tuple[Any, ...]:
        advice = self.advice
        return (not advice.is_advised, -advice.agreed, *self.part, advice.other or "")


_Bases = Mapping[Url, list[Url]]
"""URLs by what remains of them without a part."""


class Parts:
    """The parts of the URLs of a crawl, and the evidence about them."""

    def __init__(self, pages: Pages, least: int = LEAST_COMPARED) -> None:
        """Create it; parts of fewer comparable URLs than *least* are no findings."""
        self._pages = pages
        self._least = least
        self._urls = _with_few_parts(pages.urls)

    def findings(self) -> Iterator[Finding]:
        """Yield the parts with enough comparable URLs; the advice has no ``deny`` yet."""
        yield from self._removals()
        yield from self._values()
        yield from self._siblings()

    def _removals(self) -> Iterator[Finding]:
        """Yield the parts that a URL can do without."""
        bases_of: dict[Part, dict[Url, list[Url]]] = defaultdict(lambda: defaultdict(list))
        pages: Counter[Part] = Counter()
        for url in self._urls:
            for part, base in without_parts(url):
                pages[part] += 1
                # A base that is no page of the crawl gives no evidence.
                if base in self._pages.urls:
                    bases_of[part][base].append(url)
        for part, bases in bases_of.items():
            yield from self._finding(part, bases, pages[part])

    def _values(self) -> Iterator[Finding]:
        """Yield the parts that have values: parameters, and places of versions."""
        urls_of: dict[Part, list[Url]] = defaultdict(list)
        for url in self._urls:
            for part in parts_with_values(url):
                urls_of[part].append(url)
        for part, urls in urls_of.items():
            if len(urls) >= self._least:
                bases: dict[Url, list[Url]] = defaultdict(list)
                for url in urls:
                    bases[without(url, part)].append(url)
                yield from self._finding(part, bases, len(urls))

    def _finding(self, part: Part, bases: _Bases, pages: int) -> Iterator[Finding]:
        """Yield the finding about *part*, unless too few of its URLs can be compared."""
        crawl = self._pages.urls
        classes = [[*urls, base] if base in crawl else urls for base, urls in bases.items()]
        if sum(map(len, classes)) - len(classes) < self._least:
            return
        compared, agreed = self._pages.evidence(classes)
        alone = pages - sum(len(urls) for base, urls in bases.items() if base in crawl)
        gives_rule = is_advised(agreed, compared)
        members = {url for urls in bases.values() for url in urls}
        rule = discarder_rule(part, members) if gives_rule else None
        pairs = (
            pair for urls in classes for pair in islice(combinations(urls, 2), _PAIRS_OF_A_CLASS)
        )
        advice = self._advice(part, None, pages, compared, agreed, alone, pairs, rule)
        # Barring a page without an equal counterpart would lose its content.
        yield Finding(part, advice, members, gives_rule and not alone and agreed == compared)

    def _siblings(self) -> Iterator[Finding]:
        """Yield the folders and hosts that repeat another one, page by page."""
        members: dict[Part, dict[Url, Url]] = defaultdict(dict)
        for url in self._pages.urls:
            for part, base in in_any_folder(url):
                members[part][base] = url
        # Few pages first, http before https, old versions before new ones.
        parts = sorted(
            (part for part, urls in members.items() if len(urls) >= self._least),
            key=lambda part: (
                len(members[part]),
                part.name.startswith("https:"),
                _natural(part.name),
                part,
            ),
        )
        pages = [members[part] for part in parts]
        for number, other in best_rivals(pages, self._pages.contents, self._pages.sameness):
            both = [(url, pages[other][b]) for b, url in pages[number].items() if b in pages[other]]
            yield self._sibling_finding(parts[number], parts[other], both, pages[number].values())

    def _sibling_finding(
        self, part: Part, other: Part, both: Sequence[tuple[Url, Url]], urls: Collection[Url]
    ) -> Finding:
        agreed = sum(self._pages.are_same(*pair) for pair in both)
        rule = None
        if part.kind == "host" and is_advised(agreed, len(both)):
            rule = www_rule(part.name, other.name)
        alone = len(urls) - len(both)
        advice = self._advice(part, other.name, len(urls), len(both), agreed, alone, both, rule)
        return Finding(part, advice, set(urls), advice.is_advised and agreed == len(urls))

    def _advice(
        self,
        part: Part,
        other: str | None,
        pages: int,
        compared: int,
        agreed: int,
        alone: int,
        pairs: Iterable[tuple[Url, Url]],
        rule: Rule | None,
    ) -> Advice:
        examples: tuple[list[tuple[str, str]], list[tuple[str, str]]] = [], []
        for pair in pairs:
            examples[self._pages.are_same(*pair)].append(
                (self._pages.urls[pair[0]], self._pages.urls[pair[1]])
            )
            if min(map(len, examples)) > 1:
                break
        differing, agreeing = examples
        return Advice(
            part.kind,
            part.name,
            other,
            part.host_alone,
            pages,
            compared,
            agreed,
            alone,
            round(confidence(agreed, compared), 4),
            is_advised(agreed, compared),
            tuple(agreeing[:2]),
            tuple(differing[:2]),
            rule,
            None,
        )


def _with_few_parts(urls: Collection[Url]) -> list[Url]:
    """Return *urls* without those with most parts, if all parts together are too many."""
    counts = Counter(url.number_of_parts for url in urls)
    most = total = 0
    for number, count in sorted(counts.items()):
        total += number * count
        if number > _MOST_PARTS or total > _MOST_PARTS_OF_ALL:
            break
        most = number
    return [url for url in urls if url.number_of_parts <= most]


def _natural(name: str) -> tuple[tuple[bool, int, str], ...]:
    """Return a key by which v1.10 comes after v1.9."""
    return tuple(
        # Not as an int: Python refuses to parse more than 4,300 digits.
        (False, len(part.lstrip("0")), part.lstrip("0")) if part.isdecimal() else (True, 0, part)
        for part in _NUMBERS.split(name)
    )
