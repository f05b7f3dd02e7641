"""Two pages -> why they are, or are not, near-duplicates."""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from dedup.diff import word_diff
from dedup.evidence import Evidence, Names
from dedup.extraction import Extraction
from dedup.methods import METHODS, FingerprintMethod
from dedup.methods.base import Method
from dedup.page import PageReader
from dedup.record import Claimed, Committed, PageRecord, unpack_items
from dedup.rule import Kind, Rule
from dedup.scopes import host
from dedup.stores.reader import LedgerReader
from dedup.view.view import View

_NOTHING = (b"",)
"""What the items of a page say where nobody knows it."""


class Side(NamedTuple):
    """One of the two pages: where it is from, and what was extracted of it.

    *canonical* is the URL that the page names as its canonical one, *items* what its items say, as
    far as a ledger knows it.
    """

    source: str
    extraction: Extraction
    canonical: str | None = None
    items: tuple[bytes, ...] = _NOTHING

    def record(self, method: Method) -> PageRecord:
        """Return what a crawl with *method* compares of the page."""
        page = PageReader(lambda _html: self.extraction, method).read_html("")
        return page.under(self.source)._replace(item=self.items[0])


def explain(
    one: Side, other: Side, method: Method, rule: Rule, names: Names | None = None
) -> dict[str, Any]:
    """Return all there is to say of two pages by *rule*, seen with *method* first, as JSON.

    *names* knows what the pages of a host share in their titles. "features" are what *method*
    hashes, with the weight in either page, 0 where it is not: the heaviest first, ties in the order
    of the alphabet. "judgements" are of all methods, with their default arguments but for *method*.
    """
    a, b = records = one.record(method), other.record(method)
    others = [kind for name, kind in METHODS.items() if name != method.name]
    methods = [method, *(kind().with_hashing(method.hashing) for kind in others)]
    judgements = [compare(one, other, each, rule, names) for each in methods]
    sketches = [record.sketch for record in records if record.sketch is not None]
    fingerprints = None
    if isinstance(method, FingerprintMethod) and len(sketches) == len(records):
        fingerprints = dict(zip("ab", map(hex, map(method.from_bytes, sketches)), strict=True))
    return {
        "a": _figures(one, a),
        "b": _figures(other, b),
        "equal": a.digest == b.digest is not None,
        "min_tokens": rule.min_tokens,
        "judgement": judgements[0],
        "features": sorted(
            _features(one.extraction, other.extraction, method),
            key=lambda feature: (-max(feature["a"], feature["b"]), feature["feature"]),
        ),
        "fingerprints": fingerprints,
        "judgements": judgements,
        "diff": [part._asdict() for part in word_diff(one.extraction.text, other.extraction.text)],
    }


def _figures(side: Side, record: PageRecord) -> dict[str, Any]:
    page = side.extraction
    return {
        "source": side.source, "canonical": side.canonical, "title": page.title,
        "language": page.language, "characters": len(page.text), "tokens": record.tokens,
        "text": page.text,
    }  # fmt: skip


def _features(one: Extraction, other: Extraction, method: Method) -> Iterator[dict[str, Any]]:
    documents = (method.document(page.text, page.description) for page in (one, other))
    a, b = map(method.weighted_features, documents)
    for text in {**a, **b}:
        # Methods put \x01 between the words of a shingle.
        shown = text.replace("\x01", " ")
        yield {"feature": shown, "a": a.get(text, 0), "b": b.get(text, 0)}


def compare(
    one: Side, other: Side, method: Method, rule: Rule, names: Names | None = None
) -> dict[str, Any]:
    """Return what a crawl with *method* that has stored the first page says of the second.

    The verdict is "duplicate" (equal texts), "near-duplicate", "different", or "kept (…)" where the
    main texts match, but not what else is known of the pages. If they cannot be compared: "empty"
    if a page has no main text, "too short" if it has too few tokens, "no sketch" if it has nothing
    that the method looks at, "not compared" if they are near enough, but share no block key. The
    distance is ``None`` without sketches, and where it is infinite.
    """
    stored, page = one.record(method), other.record(method)
    distance = None
    if stored.sketch is not None and page.sketch is not None:
        distance = method.distance(*map(method.from_bytes, (page.sketch, stored.sketch)))
    view = View(method, rule, names)
    if stored.digest is not None:
        view.apply([Claimed(stored, 1), Committed(1, one.items)])
    look = view.look(page)
    if stored.digest is None or page.digest is None:
        verdict = "empty"
    elif look.decision.match is not None:
        verdict = "duplicate" if look.decision.kind is Kind.EXACT else "near-duplicate"
    elif look.objection:
        verdict = f"kept ({look.objection})"
    elif min(stored.tokens, page.tokens) < rule.min_tokens or look.decision.reason:
        verdict = "too short"
    elif distance is None:
        verdict = "no sketch"
    else:
        verdict = "different" if distance > method.max_distance else "not compared"
    return {
        "method": method.name,
        "parameters": method.parameters,
        "distance": distance if distance is not None and math.isfinite(distance) else None,
        "max_distance": method.max_distance,
        "verdict": verdict,
    }


def sides_of_ledger(ledger: LedgerReader, urls: Sequence[str]) -> list[Side]:
    """Return what a ledger has kept of the pages at *urls*; raises ValueError without a text."""
    sides = []
    for url in urls:
        if (stored := ledger.text(url)) is None:
            raise ValueError(
                f"{ledger.name} has no text of {url} (it keeps those of 2,000 pages, and none of "
                "exact duplicates); without --ledger, the page itself is fetched"
            )
        title, text = stored
        side = Side(url, Extraction(text, title))
        for page in ledger.versions(url):
            if page.ended is None:
                extraction = Extraction(text, title, evidence=page.record.witness.evidence)
                items = tuple(unpack_items(page.items)) or side.items
                side = side._replace(extraction=extraction, items=items)
        sides.append(side)
    if any(side.items == _NOTHING for side in sides):  # as of a page that was dropped
        sides = [side._replace(items=_NOTHING) for side in sides]
    return sides


def names_of(pages: Iterable[tuple[str, Evidence | None]]) -> Names:
    """Return what the titles of *pages*, URLs and what they show, share: crawls learn it so."""
    names = Names()
    for url, evidence in pages:
        if evidence is not None:
            names.learn(host(url), evidence)
    return names
