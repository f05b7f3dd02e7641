"""URLs and their contents -> the parts of URLs that never changed the content.

URL filters must be told which parts of a URL do not matter. This module learns it from a crawl: it
removes or replaces a part of a URL, and if the crawl visited the resulting URL too, it compares the
contents of both.

The result depends neither on the order of the pages nor on which of them the crawl stored.

Source: Bar-Yossef, Keidar, Schonfeld, "Do Not Crawl in the DUST: Different URLs with Similar Text",
WWW 2007. They mine rules from a list of URLs and test them on sample pages; here the contents of
all pages are known.
"""

from collections import Counter
from collections.abc import Collection, Hashable, Iterable
from dataclasses import replace
from itertools import chain

from dedup.url_advice.advice import Advice, Effect, UrlAdvice
from dedup.url_advice.pages import Pages
from dedup.url_advice.parts import Finding, Parts
from dedup.url_advice.rules import CanonicalUrls, deny_rule, hosts_of, parameters_of
from dedup.url_advice.sameness import Near
from dedup.url_advice.urls import Url

_MOST_ADVICE = 40
_LEAST_SEEN = 2
# Below this confidence, the part selects the content.
_LEAST_SHOWN_CONFIDENCE = 0.5


def url_advice(
    pages: Iterable[tuple[str, Hashable]],
    near: Near = lambda pairs: (),
    incomplete: Collection[str] = (),
) -> UrlAdvice:
    """Return the parts of URLs that never changed the content, from pairs of URL and content.

    Pages are the same if their contents are equal, or near each other: *near* takes pairs of
    contents and returns those that are near. ``None`` is an unknown content, unlike any other. The
    hosts in *incomplete* have more URLs than *pages*; there are no rules for them.

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
    candidates = list(Parts(crawl).findings())
    findings = [
        finding
        for finding in candidates
        if finding.advice.is_advised or finding.advice.confidence >= _LEAST_SHOWN_CONFIDENCE
    ]
    best = sorted(findings, key=lambda finding: finding.rank)[:_MOST_ADVICE]
    advice, with_deny = _add_deny_rules(best, crawl, incomplete)
    advice, with_discarder = _check_discarder_rules(advice, crawl, incomplete)
    nearest = None
    if not any(item.is_advised for item in advice):
        # Where no part can be judged, one that is seen twice is better than none.
        nearest = _nearest(candidates) or _nearest(Parts(crawl, least=_LEAST_SEEN).findings())
    return UrlAdvice(len(crawl.urls), tuple(advice), with_deny, with_discarder, nearest)


def _nearest(findings: Iterable[Finding]) -> Advice | None:
    """Return the advice that has most to be said for it, ``None`` if there is none."""
    said = (finding.advice for finding in findings if finding.advice.agreed)
    return max(said, key=lambda advice: (advice.confidence, advice.name), default=None)


def _add_deny_rules(
    findings: Iterable[Finding], pages: Pages, incomplete: Collection[str]
) -> tuple[list[Advice], Effect]:
    """Return the advice with deny expressions, and their effect together.

    Together, they leave for each barred page one with the same content.
    """
    remaining = Counter(pages.contents.values())
    barred_urls, barred_contents = set[Url](), set[int]()
    advice = []
    for finding in findings:
        deny = None
        if finding.may_bar:
            losses = Counter(pages.contents[url] for url in finding.members - barred_urls)
            remaining.subtract(losses)
            last_copies = {content for content in losses if not remaining[content]}
            dependants = (
                neighbour
                for content in last_copies
                for neighbour in pages.sameness.neighbours(content)
                if neighbour in barred_contents
            )
            if all(
                pages.sameness.is_in(content, remaining)
                for content in chain(last_copies, dependants)
            ):
                deny = _deny_rule(finding, pages, incomplete)
            if deny:
                barred_urls |= finding.members
                barred_contents |= losses.keys()
            else:
                remaining.update(losses)
        advice.append(replace(finding.advice, deny=deny))
    return advice, Effect(len(barred_urls), 0)


def _deny_rule(finding: Finding, pages: Pages, incomplete: Collection[str]) -> str | None:
    """Return the expression that bars exactly the members, ``None`` if there is none."""
    deny = deny_rule(finding.part)
    if deny is None or finding.part.host_alone in incomplete:
        return None
    return deny if pages.bars_only(deny, finding.part, finding.members) else None


def _check_discarder_rules(
    all_advice: Iterable[Advice], pages: Pages, incomplete: Collection[str]
) -> tuple[list[Advice], Effect]:
    """Remove rules that lose more together than alone, and those for *incomplete* hosts.

    Return the advice and the effect of the remaining rules together.
    """
    canonical = CanonicalUrls(pages.urls)
    skips = losses = 0
    checked = []
    for advice in all_advice:
        rule = advice.discarder
        if rule and hosts_of(rule) & set(incomplete):
            advice = replace(advice, discarder=None)
        elif rule:
            changes = canonical.changes(rule, pages.urls_of(hosts_of(rule), parameters_of(rule)))
            before, after = canonical.classes(changes)
            (compared, agreed), (compared_then, agreed_then) = (
                pages.evidence(classes.values()) for classes in (before, after)
            )
            losses_of_rule = compared_then - agreed_then - (compared - agreed)
            if losses_of_rule <= advice.compared - advice.agreed:
                canonical.apply(changes, after)
                skips += compared_then - compared
                losses += losses_of_rule
            else:
                advice = replace(advice, discarder=None)
        checked.append(advice)
    return checked, Effect(skips, losses)
