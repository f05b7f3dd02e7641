"""URLs and which of them have equal content -> what in URLs never changed it.

The other way round than URL filters work, which are told what does not matter. Here pages that were
read say what did not: a part of a URL is left out, or another put in its place, and if that URL was
crawled too, the contents of both can be compared.

Nothing here depends on the order of the pages, nor on which of them a crawl kept.

Source: Bar-Yossef, Keidar, Schonfeld, "Do Not Crawl in the DUST: Different URLs with Similar Text",
WWW 2007. They mine the rules from a list of URLs and sample pages to test them; here every page has
been read.
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from heapq import nlargest
from itertools import chain, combinations, islice, starmap
from math import sqrt
from operator import itemgetter
from typing import Any, NamedTuple

from dedup.url_advice.rules import (
    Forms,
    Rule,
    deny_rule,
    discarder_rule,
    hosts_of,
    parameters_of,
    www_rule,
)
from dedup.url_advice.sameness import Near, Sameness
from dedup.url_advice.urls import Part, Url, in_any_folder, with_any_version, without_parts

LEAST_COMPARED = 5
"""How many pages must have been compared before anything is advised."""

LEAST_CONFIDENCE = 0.9
"""How sure it must be that content is equal, where a page was found that differs."""

# Of siblings, such as the versions of a documentation, each is compared with each by its texts,
# and by its sketches with those that have most texts in common with it.
_MOST_SIBLINGS = 64
_MOST_RIVALS = 4
_MOST_SHOWN = 40
# Where examples are sought.
_PAIRS_OF_A_CLASS = 100
# Below, contents depend on the part: that is what it is for.
_LEAST_TELLING = 0.5
# Parts that may have one value in one URL and another in the next one.
_HAVE_VALUES = {"parameter", "parameters", "path-parameter"}


@dataclass(frozen=True, slots=True)
class Advice:
    """A part of URLs, and how the content of pages depended on it.

    *kind* says what *name* is: a "parameter" of the query, "parameters" that come together
    (separated by commas), a "path-parameter" (``;sid=1``), a
    "segment" of the path, an "index" page, a last "slash", a "suffix" of the last segment, a
    "version" (any in this place), a "value" (this one in this place), a "host" (with its scheme).
    What it is compared with is the URL without it, or, of a value or host, with *other*.

    *pages*: how many URLs have it; *compared*: how many URLs could have been left out, since
    another one differs in this part only; *agreed*: how many of these had the content of the one
    that would have stayed, on average over which one that is, rounded down; *alone*: how many of
    the pages have no such URL; *confidence*: lower bound
    of the share that agrees (95 %, Wilson). *examples*, *counterexamples*: pairs of URLs.

    *discarder*: the rule for duplicate-url-discarder, *deny*: the regular expression for a link
    extractor, where one can be given.
    """

    kind: str
    name: str
    other: str | None
    host: str
    pages: int
    compared: int
    agreed: int
    alone: int
    confidence: float
    is_advised: bool
    examples: tuple[tuple[str, str], ...]
    counterexamples: tuple[tuple[str, str], ...]
    discarder: Rule | None
    deny: str | None


@dataclass(frozen=True, slots=True)
class Followed:
    """What it would have meant to crawl with all the rules.

    *pages* that would not have been fetched; *contents*: how many of these differ from the one
    fetched in their place, on average over which one that is, rounded up.
    """

    pages: int
    contents: int


@dataclass(frozen=True, slots=True)
class UrlAdvice:
    """All of the advice, of *pages* that were looked at; the surest and most useful first."""

    pages: int
    advice: tuple[Advice, ...]
    with_deny: Followed
    with_discarder: Followed

    def as_dict(self) -> dict[str, Any]:
        """Return it in the form of the JSON report."""
        return json.loads(json.dumps(asdict(self)))  # type: ignore[no-any-return]  # a dictionary


def url_advice(
    pages: Iterable[tuple[str, Hashable]],
    near: Near = lambda pairs: (),
    incomplete: Collection[str] = (),
) -> UrlAdvice:
    """Return what in URLs never changed the content, from pairs of a URL and its content.

    Pages of equal contents are the same, and those whose contents *near* says to be near each
    other: it is given pairs of contents, and gives back those that are. A content that is ``None``
    is not known, and like no other. Of the hosts in *incomplete* there are more URLs than these;
    for them there are no rules.

    A rule is advised if at least 5 URLs were compared and all agreed, or with a confidence above
    .9; a regular expression to deny is given only if each page that it would bar has another one,
    not barred, with its content.

    >>> shop = "http://shop.example/"
    >>> pages = [(f"{shop}{n}{query}", n) for n in range(9) for query in ("", "?ref=home")]
    >>> advice = url_advice(pages).advice[0]
    >>> advice.kind, advice.name, advice.agreed, advice.compared, advice.alone
    ('parameter', 'ref', 9, 9, 0)
    >>> advice.deny
    '^https?://shop\\\\.example/[^#]*[?&]ref(?:[=&#]|$)'
    """
    return _Evidence(pages, near, incomplete).advice()


def confidence(agreed: int, compared: int) -> float:
    """Return the lower bound of a share of which *agreed* of *compared* were seen, 0 to 1.

    >>> round(confidence(5, 5), 2), round(confidence(40, 40), 2), confidence(0, 0)
    (0.57, 0.91, 0.0)

    Source: Wilson, "Probable Inference", JASA 22, 1927; at 95 %.
    """
    if not compared:
        return 0.0
    share, z2 = agreed / compared, 1.96**2
    spread = sqrt(z2 * (share * (1 - share) + z2 / (4 * compared)) / compared)
    return max(0.0, (share + z2 / (2 * compared) - spread) / (1 + z2 / compared))


class _Found(NamedTuple):
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


class _Evidence:
    """The URLs of a crawl by what is left when a part of them is left out."""

    def __init__(
        self,
        pages: Iterable[tuple[str, Hashable]],
        near: Near,
        incomplete: Collection[str],
    ) -> None:
        self._urls: dict[Url, str] = {}
        self._contents: dict[Url, int] = {}
        self._by_host: dict[str, list[Url]] = defaultdict(list)
        self._texts: dict[str, list[str]] = defaultdict(list)
        self._by_parameter: dict[tuple[str, str], list[Url]] = defaultdict(list)
        self._incomplete = incomplete
        contents: list[Hashable] = []
        numbers: dict[Hashable, int] = {}
        # In the order of the URLs, whatever that of the pages is.
        for text, content in sorted(pages, key=itemgetter(0)):
            if not (url := Url.parse(text)):
                continue
            number = (
                len(contents) if content is None else numbers.setdefault(content, len(contents))
            )
            if number == len(contents):
                contents.append(content)
            if url not in self._urls:
                self._urls[url] = text
                self._contents[url] = number
                self._by_host[url.host].append(url)
                self._texts[url.host].append(text)
                for name in {pair.partition("=")[0] for pair in url.query}:
                    self._by_parameter[url.host, name].append(url)
            elif self._contents[url] != number:  # two forms of one URL: it is not known what it has
                self._contents[url] = len(contents)
                contents.append(None)

        def near_numbers(pairs: Collection[tuple[int, int]]) -> Iterator[tuple[int, int]]:
            known = {
                (contents[one], contents[other]): (one, other)
                for one, other in pairs
                if contents[one] is not None and contents[other] is not None
            }
            return (known[pair] for pair in near(known.keys()))

        self._sameness = Sameness(near_numbers)

    def advice(self) -> UrlAdvice:
        found = [*self._removals(), *self._versions(), *self._siblings()]
        found = [
            item
            for item in found
            if item.advice.is_advised or item.advice.confidence >= _LEAST_TELLING
        ]
        found = sorted(found, key=lambda item: item.rank)[:_MOST_SHOWN]
        advice, barred = self._with_deny(found)
        advice, with_discarder = self._with_discarder(advice)
        return UrlAdvice(len(self._urls), tuple(advice), Followed(barred, 0), with_discarder)

    def _with_deny(self, found: Iterable[_Found]) -> tuple[list[Advice], int]:
        """Return the advice with regular expressions, and how many pages they bar together.

        Together, they leave to each page one that is the same.
        """
        left = Counter(self._contents.values())
        barred, contents_barred = set[Url](), set[int]()
        advice = []
        for item in found:
            deny = None
            if item.may_bar:
                lost = Counter(self._contents[url] for url in item.members - barred)
                left.subtract(lost)
                gone = {content for content in lost if not left[content]}
                relied_on_them = (
                    other
                    for content in gone
                    for other in self._sameness.neighbours(content)
                    if other in contents_barred
                )
                if all(
                    self._sameness.is_left(content, left) for content in chain(gone, relied_on_them)
                ):
                    deny = self._deny(item)
                if deny:
                    barred |= item.members
                    contents_barred |= lost.keys()
                else:
                    left.update(lost)
            advice.append(replace(item.advice, deny=deny))
        return advice, len(barred)

    def _deny(self, item: _Found) -> str | None:
        """Return the regular expression that bars the members, ``None`` if it barred others too."""
        deny, host = deny_rule(item.part), item.part.host_alone
        if deny is None or host in self._incomplete:
            return None
        members = [self._urls[url] for url in item.members]
        of_all, of_members = (
            # What matches has a name in it: most texts need no look with the regular expression.
            sum(map(bool, map(re.compile(deny).search, _with_any(item.part.names, texts))))
            for texts in (self._texts[host], members)
        )
        return deny if of_all == of_members else None

    def _with_discarder(self, found: Iterable[Advice]) -> tuple[list[Advice], Followed]:
        """Return the advice, without rules that lose more together than alone."""
        forms = Forms(self._urls)
        pages = lost = 0
        advice = []
        for item in found:
            if item.discarder:
                changed = forms.changed_by(item.discarder, self._concerned_by(item.discarder))
                before, after = forms.classes(changed)
                (compared, agreed), (compared_then, agreed_then) = (
                    self._evidence(classes.values()) for classes in (before, after)
                )
                loses = compared_then - agreed_then - (compared - agreed)
                if loses <= item.compared - item.agreed:
                    forms.take(changed, after)
                    pages += compared_then - compared
                    lost += loses
                else:
                    item = replace(item, discarder=None)
            advice.append(item)
        return advice, Followed(pages, lost)

    def _concerned_by(self, rule: Rule) -> Iterable[Url]:
        """Return the URLs that *rule* may change."""
        hosts = hosts_of(rule)
        if names := parameters_of(rule):
            return {url: None for h in hosts for n in names for url in self._by_parameter[h, n]}
        return chain.from_iterable(self._by_host[host] for host in hosts)

    def _evidence(self, classes: Iterable[Sequence[Url]]) -> tuple[int, int]:
        """Return how many URLs of *classes* could be left out, and how many of them agreed.

        Of each class one would stay.
        """
        contents = [[self._contents[url] for url in urls] for urls in classes if len(urls) > 1]
        self._sameness.compare_within(contents)
        return sum(map(len, contents)) - len(contents), sum(map(self._sameness.agreeing, contents))

    def _removals(self) -> Iterator[_Found]:
        """Yield what URLs can be without."""
        found: dict[Part, dict[Url, list[Url]]] = defaultdict(lambda: defaultdict(list))
        pages: Counter[Part] = Counter()
        for url in self._urls:
            for part, base in without_parts(url):
                pages[part] += 1
                # Of most parts, each URL leaves another base: those that nobody has tell nothing.
                if part.kind in _HAVE_VALUES or base in self._urls:
                    found[part][base].append(url)
        for part, bases in found.items():
            yield from self._judged(part, bases, pages[part])

    def _versions(self) -> Iterator[_Found]:
        """Yield the places where any version may stand, with what they say together."""
        found: dict[Part, dict[Url, list[Url]]] = defaultdict(lambda: defaultdict(list))
        for url in self._urls:
            for part, base in with_any_version(url):
                found[part][base].append(url)
        for part, bases in found.items():
            yield from self._judged(part, bases, sum(map(len, bases.values())))

    def _judged(self, part: Part, bases: _Bases, pages: int) -> Iterator[_Found]:
        """Yield the part, unless too few of its URLs can be compared."""
        classes = [[*urls, base] if base in self._urls else urls for base, urls in bases.items()]
        if sum(map(len, classes)) - len(classes) < LEAST_COMPARED:
            return
        compared, agreed = self._evidence(classes)
        alone = pages - sum(len(urls) for base, urls in bases.items() if base in self._urls)
        is_advised = _is_advised(agreed, compared)
        members = {url for urls in bases.values() for url in urls}
        rule = discarder_rule(part, members) if is_advised else None
        pairs = (
            pair for urls in classes for pair in islice(combinations(urls, 2), _PAIRS_OF_A_CLASS)
        )
        advice = self._advice(part, None, pages, compared, agreed, alone, pairs, rule)
        # A page that differs from what is left over would be lost.
        yield _Found(part, advice, members, is_advised and not alone and agreed == compared)

    def _siblings(self) -> Iterator[_Found]:
        """Yield folders and hosts that repeat another one, page by page."""
        members: dict[Part, dict[Url, Url]] = defaultdict(dict)
        for url in self._urls:
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
        numbers = {base: number for number, base in enumerate(b for b, n in times.items() if n > 1)}
        contents = [
            {numbers[base]: self._contents[url] for base, url in found.items() if base in numbers}
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
                self._sameness.compare(pairs)
                agreed[other] = sum(starmap(self._sameness.same, pairs))
            # Whatever the best one repeats itself, the better one repeats too: it is that one.
            yield number, max(agreed, key=lambda other: (agreed[other], other))

    def _judged_sibling(
        self, part: Part, other: Part, both: Sequence[tuple[Url, Url]], urls: Collection[Url]
    ) -> _Found:
        agreed = sum(self._same(*pair) for pair in both)
        rule = None
        if part.kind == "host" and _is_advised(agreed, len(both)):
            rule = www_rule(part.name, other.name)
        alone = len(urls) - len(both)
        advice = self._advice(part, other.name, len(urls), len(both), agreed, alone, both, rule)
        return _Found(part, advice, set(urls), advice.is_advised and agreed == len(urls))

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
            examples[self._same(one, another)].append((self._urls[one], self._urls[another]))
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
            _is_advised(agreed, compared),
            tuple(agreeing[:2]),
            tuple(differing[:2]),
            None if rule is None or hosts_of(rule) & set(self._incomplete) else rule,
            None,
        )

    def _same(self, one: Url, other: Url) -> bool:
        return self._sameness.same(self._contents[one], self._contents[other])


def _is_advised(agreed: int, compared: int) -> bool:
    if compared < LEAST_COMPARED:
        return False
    return agreed == compared or confidence(agreed, compared) > LEAST_CONFIDENCE


def _with_any(names: Iterable[str], texts: Iterable[str]) -> set[str]:
    return {text for name in names for text in texts if name in text}


def _natural(name: str) -> tuple[tuple[bool, int, str], ...]:
    """Return a key by which v1.10 comes after v1.9."""
    return tuple(
        (not part.isdecimal(), int(part) if part.isdecimal() else 0, part)
        for part in re.split(r"(\d+)", name)
    )
