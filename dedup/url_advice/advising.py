"""URLs and which of them have equal content -> what in URLs never changed it.

The other way round than URL filters work, which are told what does not matter. Here pages that were
read say what did not: a part of a URL is left out, or another put in its place, and if that URL was
crawled too, the contents of both can be compared.

Nothing here depends on the order of the pages, nor on which of them a crawl kept.

Source: Bar-Yossef, Keidar, Schonfeld, "Do Not Crawl in the DUST: Different URLs with Similar Text",
WWW 2007. They mine the rules from a list of URLs and sample pages to test them; here every page has
been read.
"""

from collections import Counter
from collections.abc import Collection, Hashable, Iterable
from dataclasses import replace
from itertools import chain

from dedup.url_advice.advice import Advice, Followed, UrlAdvice
from dedup.url_advice.pages import Pages
from dedup.url_advice.parts import Found, Parts
from dedup.url_advice.rules import Forms, deny_rule, hosts_of
from dedup.url_advice.sameness import Near
from dedup.url_advice.urls import Url

_MOST_SHOWN = 40
# Below, contents depend on the part: that is what it is for.
_LEAST_TELLING = 0.5


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
    known = Pages(pages, near)
    found = [
        item
        for item in Parts(known).found()
        if item.advice.is_advised or item.advice.confidence >= _LEAST_TELLING
    ]
    found = sorted(found, key=lambda item: item.rank)[:_MOST_SHOWN]
    advice, barred = _with_deny(found, known, incomplete)
    advice, with_discarder = _with_discarder(advice, known, incomplete)
    return UrlAdvice(len(known.urls), tuple(advice), Followed(barred, 0), with_discarder)


def _with_deny(
    found: Iterable[Found], pages: Pages, incomplete: Collection[str]
) -> tuple[list[Advice], int]:
    """Return the advice with regular expressions, and how many pages they bar together.

    Together, they leave to each page one that is the same.
    """
    left = Counter(pages.contents.values())
    barred, contents_barred = set[Url](), set[int]()
    advice = []
    for item in found:
        deny = None
        if item.may_bar:
            lost = Counter(pages.contents[url] for url in item.members - barred)
            left.subtract(lost)
            gone = {content for content in lost if not left[content]}
            relied_on_them = (
                other
                for content in gone
                for other in pages.sameness.neighbours(content)
                if other in contents_barred
            )
            if all(
                pages.sameness.is_left(content, left) for content in chain(gone, relied_on_them)
            ):
                deny = _deny(item, pages, incomplete)
            if deny:
                barred |= item.members
                contents_barred |= lost.keys()
            else:
                left.update(lost)
        advice.append(replace(item.advice, deny=deny))
    return advice, len(barred)


def _deny(item: Found, pages: Pages, incomplete: Collection[str]) -> str | None:
    """Return the regular expression that bars the members, ``None`` if it barred others too."""
    deny = deny_rule(item.part)
    if deny is None or item.part.host_alone in incomplete:
        return None
    return deny if pages.bars_only(deny, item.part, item.members) else None


def _with_discarder(
    found: Iterable[Advice], known: Pages, incomplete: Collection[str]
) -> tuple[list[Advice], Followed]:
    """Return the advice, without rules that lose more together than alone.

    And without those for hosts that are *incomplete*.
    """
    forms = Forms(known.urls)
    pages = lost = 0
    advice = []
    for item in found:
        if item.discarder and hosts_of(item.discarder) & set(incomplete):
            item = replace(item, discarder=None)
        if item.discarder:
            changed = forms.changed_by(item.discarder, known.concerned_by(item.discarder))
            before, after = forms.classes(changed)
            (compared, agreed), (compared_then, agreed_then) = (
                known.evidence(classes.values()) for classes in (before, after)
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
