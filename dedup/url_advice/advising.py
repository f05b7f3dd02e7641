"""URLs and their contents -> the parts of URLs that never changed the content.

URL filters must be told which parts of a URL do not matter. This module learns it from a crawl: it
removes or replaces a part of a URL, and if the crawl visited the resulting URL too, it compares the
contents of both.

The result depends neither on the order of the pages nor on which of them the crawl stored.

Source: Bar-Yossef, Keidar, Schonfeld, "Do Not Crawl in the DUST: Different URLs with Similar Text",
WWW 2007. They mine rules from a list of URLs and test them on sample pages; here the contents of
all pages are known.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, islice
from typing import Any, NamedTuple

from dedup.url_advice.advice import (
    LEAST_COMPARED,
    Advice,
    UrlAdvice,
    confidence,
    is_advised,
)
from dedup.url_advice.pages import Near, Pages
from dedup.url_advice.urls import Part, Url, deny_rule, in_any_folder, parts_of, without

_MOST_ADVICE = 40
_LEAST_SEEN = 2
# Below this confidence, the part selects the content.
_LEAST_SHOWN_CONFIDENCE = 0.5
# Where to look for examples.
_PAIRS_OF_A_CLASS = 100
# Each part costs time, and a hostile site could have any number.
_MOST_PARTS = 20
_MOST_PARTS_OF_ALL = 1_000_000
_MOST_SIBLINGS = 64
_NUMBERS = re.compile(r"(\d+)")


class _Finding(NamedTuple):
    """A part with its advice, and the URLs that have it; a rule *may_bar* these *members*."""

    part: Part
    advice: Advice
    members: set[Url]
    may_bar: bool

    @property
    def rank(self) -> tuple[Any, ...]:
        advice = self.advice
        return (not advice.is_advised, -advice.agreed, *self.part, advice.other or "")


def url_advice(
    pages: Iterable[tuple[str, Hashable]],
    near: Near = lambda pairs: (),
    *,
    with_rules: bool = True,
) -> UrlAdvice:
    """Return the parts of URLs that never changed the content, from pairs of URL and content.

    Pages are the same if their contents are equal, or near each other: *near* takes pairs of
    contents and returns those that are near. ``None`` is an unknown content, unlike any other.
    *with_rules*: *pages* are all that there are, so that rules can be given.

    A rule is advised if at least five URLs could be compared and none disagreed, or if the
    confidence is above 0.9. A deny expression is given only if every page that it bars has the same
    content as a page that it does not bar.

    >>> shop = "http://shop.example/"
    >>> pages = [(f"{shop}{n}{query}", n) for n in range(9) for query in ("", "?ref=home")]
    >>> advice = url_advice(pages).advice[0]
    >>> advice.kind, advice.name, advice.agreed, advice.compared, advice.alone
    ('parameter', 'ref', 9, 9, 0)
    >>> advice.deny
    '^https?://shop\\\\.example/[^#]*[?&]ref(?:[=&#]|$)'
    """
    crawl = Pages(pages, near)
    candidates = list(_findings(crawl, LEAST_COMPARED))
    shown = [
        finding
        for finding in candidates
        if finding.advice.is_advised or finding.advice.confidence >= _LEAST_SHOWN_CONFIDENCE
    ]
    best = sorted(shown, key=lambda finding: finding.rank)[:_MOST_ADVICE]
    advice, denied = [finding.advice for finding in best], 0
    if with_rules:
        advice, denied = _add_deny_rules(best, crawl)
    nearest = None
    if not any(item.is_advised for item in advice):
        # Where no part can be judged, one that is seen twice is better than none.
        nearest = _nearest(candidates) or _nearest(_findings(crawl, _LEAST_SEEN))
    return UrlAdvice(len(crawl.urls), tuple(advice), denied, nearest)


def _nearest(findings: Iterable[_Finding]) -> Advice | None:
    """Return the advice that has most to be said for it, ``None`` if there is none."""
    said = (finding.advice for finding in findings if finding.advice.agreed)
    return max(said, key=lambda advice: (advice.confidence, advice.name), default=None)


def _findings(crawl: Pages, least: int) -> Iterator[_Finding]:
    urls_of: dict[Part, list[Url]] = defaultdict(list)
    for url in _with_few_parts(crawl.urls):
        for part in parts_of(url):
            urls_of[part].append(url)
    for part, urls in urls_of.items():
        if len(urls) >= least:
            yield from _finding_without(part, urls, crawl, least)
    yield from _findings_of_siblings(crawl, least)


def _finding_without(
    part: Part, urls: Collection[Url], crawl: Pages, least: int
) -> Iterator[_Finding]:
    bases: dict[Url, list[Url]] = defaultdict(list)
    for url in urls:
        bases[without(url, part)].append(url)
    # A base that is no page of the crawl gives no evidence.
    classes = [[*own, base] if base in crawl.urls else own for base, own in bases.items()]
    if sum(map(len, classes)) - len(classes) < least:
        return
    compared, agreed = crawl.evidence(classes)
    alone = len(urls) - sum(len(own) for base, own in bases.items() if base in crawl.urls)
    pairs = (pair for own in classes for pair in islice(combinations(own, 2), _PAIRS_OF_A_CLASS))
    advice = _advice(crawl, part, None, len(urls), compared, agreed, alone, pairs)
    # Barring a page without an equal counterpart would lose its content.
    yield _Finding(part, advice, set(urls), not alone and agreed == compared)


def _findings_of_siblings(crawl: Pages, least: int) -> Iterator[_Finding]:
    """Yield the folders and hosts that repeat another one, page by page."""
    members: dict[Part, dict[Url, Url]] = defaultdict(dict)
    for url in crawl.urls:
        for part, base in in_any_folder(url):
            members[part][base] = url
    # Few pages first, http before https, old versions before new ones.
    parts = sorted(
        (part for part, urls in members.items() if len(urls) >= least),
        key=lambda part: (
            len(members[part]), part.name.startswith("https:"), _natural(part.name), part
        ),
    )  # fmt: skip
    for number, other in _most_alike(crawl, [members[part] for part in parts]):
        own, others = members[parts[number]], members[parts[other]]
        both = [(url, others[base]) for base, url in own.items() if base in others]
        crawl.compare((crawl.contents[url], crawl.contents[its]) for url, its in both)
        agreed = sum(crawl.are_same(*pair) for pair in both)
        name, alone = parts[other].name, len(own) - len(both)
        advice = _advice(crawl, parts[number], name, len(own), len(both), agreed, alone, both)
        may_bar = advice.is_advised and agreed == len(own)
        yield _Finding(parts[number], advice, set(own.values()), may_bar)


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
        if count >= LEAST_COMPARED:
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
    alone: int,
    pairs: Iterable[tuple[Url, Url]],
) -> Advice:
    sure, advised = round(confidence(agreed, compared), 4), is_advised(agreed, compared)
    numbers = pages, compared, agreed, alone, sure, advised
    examples, counterexamples = crawl.examples(pairs)
    return Advice(part.kind, part.name, other, part.host_alone, *numbers, examples, counterexamples)


def _add_deny_rules(findings: Iterable[_Finding], crawl: Pages) -> tuple[list[Advice], int]:
    """Return the advice with deny expressions, and how many pages they bar together.

    Together, they leave for each barred page one with the same content.
    """
    left = Counter(crawl.contents.values())
    barred, lost = set[Url](), set[Hashable]()
    advice = []
    for finding in findings:
        deny = None
        if finding.may_bar and finding.advice.is_advised:
            losses = Counter(crawl.contents[url] for url in finding.members - barred)
            left.subtract(losses)
            lost_with_it = lost | losses.keys()
            if all(left[content] or crawl.is_in(content, left) for content in lost_with_it):
                deny = _deny_rule(finding, crawl)
            if deny:
                barred |= finding.members
                lost = lost_with_it
            else:
                left.update(losses)
        advice.append(replace(finding.advice, deny=deny))
    return advice, len(barred)


def _deny_rule(finding: _Finding, crawl: Pages) -> str | None:
    """Return the expression that bars exactly the members, ``None`` if there is none."""
    part = finding.part
    if (deny := deny_rule(part)) is None:
        return None
    bars = re.compile(deny).search
    barred = {url for url in crawl.by_host[part.host_alone] if bars(crawl.urls[url])}
    return deny if barred == finding.members else None


def _with_few_parts(urls: Collection[Url]) -> list[Url]:
    counts = Counter(url.number_of_parts for url in urls)
    most = total = 0
    for number, count in sorted(counts.items()):
        total += number * count
        if number > _MOST_PARTS or total > _MOST_PARTS_OF_ALL:
            break
        most = number
    return [url for url in urls if url.number_of_parts <= most]


def _natural(name: str) -> tuple[tuple[bool, int, str], ...]:
    return tuple(
        # Not as an int: Python refuses to parse more than 4,300 digits.
        (False, len(part.lstrip("0")), part.lstrip("0")) if part.isdecimal() else (True, 0, part)
        for part in _NUMBERS.split(name)
    )
