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
from dataclasses import dataclass, replace
from itertools import combinations, islice
from typing import Any, NamedTuple

from dedup.preference import version_rank
from dedup.url_advice.pages import Near, Pages
from dedup.url_advice.urls import Part, Url, deny_rule, in_any_folder, parts_of, without
from dedup.wilson import wilson

# What a rule needs: so many compared pages, and if any differs, this confidence.
_LEAST_COMPARED, _LEAST_CONFIDENCE = 5, 0.9
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


@dataclass(frozen=True, slots=True)
class Advice:
    """A part of URLs, and how the content of pages depended on it.

    *kind* says what *name* is: a "parameter" of the query, "parameters" that come together
    (separated by commas), an "index" page, a last "slash", a "version" (any in this place), a
    "value" (this one in this place), a "host" (with its scheme). A URL is compared with the URL
    without the part; if the part is a value or host, with the URL that has *other* in its place.

    *pages*: the number of URLs with the part. *compared*: the number of URLs that a crawl could
    skip, since another URL differs in this part only. *agreed*: how many of these have the content
    of the URL that the crawl would fetch instead, averaged over the choice of that URL and rounded
    down. *alone*: the number of URLs with no such counterpart. *confidence*: the lower bound of the
    share that agrees (95 %, Wilson). *examples*, *counterexamples*: pairs of URLs.

    *deny*: the regular expression for a link extractor, if there is one.
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
    deny: str | None = None


@dataclass(frozen=True, slots=True)
class UrlAdvice:
    """All advice from *pages* pages; the surest and most useful first.

    *denied*: how many pages all deny expressions bar; each leaves one of the same content.
    *nearest*: where nothing is advised, the part that came nearest to it, if any did.
    """

    pages: int
    advice: tuple[Advice, ...]
    denied: int
    nearest: Advice | None = None


class _Finding(NamedTuple):
    """A part with its advice, and the URLs that have it."""

    part: Part
    advice: Advice
    members: set[Url]

    @property
    def may_be_barred(self) -> bool:
        """Whether a rule may bar all members: barring one without an equal would lose content."""
        advice = self.advice
        return advice.is_advised and not advice.alone and advice.agreed == advice.compared

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
    findings = [*_findings(crawl), *_findings_of_siblings(crawl)]
    best = sorted(filter(_is_shown, findings), key=lambda finding: finding.rank)[:_MOST_ADVICE]
    advice, denied = [finding.advice for finding in best], 0
    if with_rules:
        advice, denied = _add_deny_rules(best, crawl)
    nearest = None
    if not any(item.is_advised for item in advice):
        agreeing = (finding.advice for finding in findings if finding.advice.agreed)
        nearest = max(agreeing, key=_support, default=None)
    return UrlAdvice(len(crawl.urls), tuple(advice), denied, nearest)


def _is_shown(finding: _Finding) -> bool:
    advice = finding.advice
    is_likely = advice.confidence >= _LEAST_SHOWN_CONFIDENCE
    return advice.is_advised or (advice.compared >= _LEAST_COMPARED and is_likely)


def _support(advice: Advice) -> tuple[Any, ...]:
    return advice.compared >= _LEAST_COMPARED, advice.confidence, advice.name


def _findings(crawl: Pages) -> Iterator[_Finding]:
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
        if compared < _LEAST_SEEN:
            continue
        alone = len(urls) - sum(len(own) for base, own in bases.items() if base in crawl.urls)
        pairs = (p for own in classes for p in islice(combinations(own, 2), _PAIRS_OF_A_CLASS))
        advice = _advice(crawl, part, None, len(urls), compared, agreed, alone, pairs)
        yield _Finding(part, advice, set(urls))


def _findings_of_siblings(crawl: Pages) -> Iterator[_Finding]:
    """Yield the folders and hosts that repeat another one, page by page."""
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
        name, alone = parts[other].name, len(own) - len(both)
        advice = _advice(crawl, parts[number], name, len(own), len(both), agreed, alone, both)
        yield _Finding(parts[number], advice, set(own.values()))


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
    alone: int,
    pairs: Iterable[tuple[Url, Url]],
) -> Advice:
    sure = wilson(agreed / compared, compared)[0]
    is_sure = agreed == compared or sure > _LEAST_CONFIDENCE
    is_advised = compared >= _LEAST_COMPARED and is_sure
    numbers = pages, compared, agreed, alone, round(sure, 4), is_advised
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
        if finding.may_be_barred:
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
