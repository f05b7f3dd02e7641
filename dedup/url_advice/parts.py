"""What is left when a part of URLs is left out, or replaced, and had the same content or not."""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from heapq import nlargest
from itertools import chain, combinations, islice, starmap
from typing import Any, NamedTuple

from dedup.url_advice.advice import LEAST_COMPARED, Advice, confidence, is_advised
from dedup.url_advice.pages import Pages
from dedup.url_advice.rules import Rule, discarder_rule, www_rule
from dedup.url_advice.urls import (
    Part,
    Url,
    in_any_folder,
    parts_with_values,
    without,
    without_parts,
)

# Of siblings, such as the versions of a documentation, each is compared with each by its texts,
# and by its sketches with those that have most texts in common with it.
_MOST_SIBLINGS = 64
_MOST_RIVALS = 4
# Where examples are sought.
_PAIRS_OF_A_CLASS = 100
# Of each part there is a URL without it: hostile sites could make more than there is time for.
_MOST_PARTS = 20
_MOST_PARTS_OF_ALL = 1_000_000
_NUMBERS = re.compile(r"(\d+)")


class Found(NamedTuple):
    """A part with its advice, and what a rule would bar: *members*, if it *may_bar* them."""

    part: Part
    advice: Advice
    members: set[Url]
    may_bar: bool

    @property
    def rank(self) -> tuple[Any, ...]:
        advice = self.advice
        return (not advice.is_advised, -advice.agreed, *self.part, advice.other or "")


_Bases = Mapping[Url, list[Url]]
"""What is left when a part is left out, and the URLs that have it."""


class Parts:
    """The parts of the URLs of a crawl, and what its pages say of them."""

    def __init__(self, pages: Pages) -> None:
        self._pages = pages
        self._urls = _with_few_parts(pages.urls)

    def found(self) -> Iterator[Found]:
        """Yield all parts of which enough URLs can be compared; the advice has no ``deny`` yet."""
        yield from self._removals()
        yield from self._values()
        yield from self._siblings()

    def _removals(self) -> Iterator[Found]:
        """Yield what URLs can be without."""
        found: dict[Part, dict[Url, list[Url]]] = defaultdict(lambda: defaultdict(list))
        pages: Counter[Part] = Counter()
        for url in self._urls:
            for part, base in without_parts(url):
                pages[part] += 1
                # Of most parts, each URL leaves another base: those that nobody has tell nothing.
                if base in self._pages.urls:
                    found[part][base].append(url)
        for part, bases in found.items():
            yield from self._judged(part, bases, pages[part])

    def _values(self) -> Iterator[Found]:
        """Yield parameters, and the places where any version may stand, with all their values."""
        found: dict[Part, list[Url]] = defaultdict(list)
        for url in self._urls:
            for part in parts_with_values(url):
                found[part].append(url)
        for part, urls in found.items():
            if len(urls) >= LEAST_COMPARED:
                bases: dict[Url, list[Url]] = defaultdict(list)
                for url in urls:
                    bases[without(url, part)].append(url)
                yield from self._judged(part, bases, len(urls))

    def _judged(self, part: Part, bases: _Bases, pages: int) -> Iterator[Found]:
        """Yield the part, unless too few of its URLs can be compared."""
        known = self._pages.urls
        classes = [[*urls, base] if base in known else urls for base, urls in bases.items()]
        if sum(map(len, classes)) - len(classes) < LEAST_COMPARED:
            return
        compared, agreed = self._pages.evidence(classes)
        alone = pages - sum(len(urls) for base, urls in bases.items() if base in known)
        advised = is_advised(agreed, compared)
        members = {url for urls in bases.values() for url in urls}
        rule = discarder_rule(part, members) if advised else None
        pairs = (
            pair for urls in classes for pair in islice(combinations(urls, 2), _PAIRS_OF_A_CLASS)
        )
        advice = self._advice(part, None, pages, compared, agreed, alone, pairs, rule)
        # A page that differs from what is left over would be lost.
        yield Found(part, advice, members, advised and not alone and agreed == compared)

    def _siblings(self) -> Iterator[Found]:
        """Yield folders and hosts that repeat another one, page by page."""
        members: dict[Part, dict[Url, Url]] = defaultdict(dict)
        for url in self._pages.urls:
            for part, base in in_any_folder(url):
                members[part][base] = url
        # More pages, then https, then the later version.
        parts = sorted(
            (part for part, found in members.items() if len(found) >= LEAST_COMPARED),
            key=lambda part: (
                len(members[part]),
                part.name.startswith("https:"),
                _natural(part.name),
                part,
            ),
        )
        pages = [members[part] for part in parts]
        for number, other in self._best_rivals(pages):
            both = [(url, pages[other][b]) for b, url in pages[number].items() if b in pages[other]]
            yield self._judged_sibling(parts[number], parts[other], both, pages[number].values())

    def _best_rivals(self, pages: Sequence[Mapping[Url, Url]]) -> Iterator[tuple[int, int]]:
        """Yield which of *pages* repeats which later one most."""
        times = Counter(chain.from_iterable(pages))
        several = (base for base, count in times.items() if count > 1)
        numbers = {base: number for number, base in enumerate(several)}
        of_urls = self._pages.contents
        contents = [
            {numbers[base]: of_urls[url] for base, url in found.items() if base in numbers}
            for found in pages
        ]
        shared: list[list[int]] = [[] for _ in numbers]
        for number, found in enumerate(contents):
            for base in found:
                shared[base].append(number)
        compared: Counter[tuple[int, int]] = Counter()
        equal: Counter[tuple[int, int]] = Counter()
        for base, sharing in enumerate(shared):
            by_content: dict[int, list[int]] = defaultdict(list)
            for number in sharing[-_MOST_SIBLINGS:]:
                by_content[contents[number][base]].append(number)
            compared.update(combinations(sharing[-_MOST_SIBLINGS:], 2))
            for alike in by_content.values():
                equal.update(combinations(alike, 2))
        rivals: dict[int, list[int]] = defaultdict(list)
        for (number, other), count in compared.items():
            if count >= LEAST_COMPARED:
                rivals[number].append(other)
        for number, others in sorted(rivals.items()):
            agreed: Counter[int] = Counter()
            for other in nlargest(_MOST_RIVALS, others, key=lambda o: (equal[number, o], o)):
                both = contents[number].keys() & contents[other].keys()
                pairs = [(contents[number][base], contents[other][base]) for base in both]
                self._pages.sameness.compare(pairs)
                agreed[other] = sum(starmap(self._pages.sameness.same, pairs))
            # Whatever the best one repeats itself, the better one repeats too: it is that one.
            yield number, max(agreed, key=lambda other: (agreed[other], other))

    def _judged_sibling(
        self, part: Part, other: Part, both: Sequence[tuple[Url, Url]], urls: Collection[Url]
    ) -> Found:
        agreed = sum(self._pages.same(*pair) for pair in both)
        rule = None
        if part.kind == "host" and is_advised(agreed, len(both)):
            rule = www_rule(part.name, other.name)
        alone = len(urls) - len(both)
        advice = self._advice(part, other.name, len(urls), len(both), agreed, alone, both, rule)
        return Found(part, advice, set(urls), advice.is_advised and agreed == len(urls))

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
        for one, another in pairs:
            examples[self._pages.same(one, another)].append(
                (self._pages.urls[one], self._pages.urls[another])
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
    """Return *urls*, but for those with most parts if they have too many of them."""
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
        # Not as an int, of which Python reads no more than 4,300 digits.
        (False, len(part.lstrip("0")), part.lstrip("0")) if part.isdecimal() else (True, 0, part)
        for part in _NUMBERS.split(name)
    )
