"""Two pages -> why they are, or are not, near-duplicates."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from dedup.diff import Part, word_diff
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


class Side(NamedTuple):
    """One of the two pages: where it is from, and what was extracted of it.

    *canonical* is the URL that the page names as its canonical one, *items* what a ledger has of
    what its items say, packed.
    """

    source: str
    extraction: Extraction
    canonical: str | None = None
    items: bytes = b""

    def record(self, method: Method) -> PageRecord:
        """Return what a crawl with *method* compares of the page."""
        page = PageReader(lambda _html: self.extraction, method).read_html("")
        return page.under(self.source)._replace(item=self.said[0])

    @property
    def said(self) -> tuple[bytes, ...]:
        return tuple(unpack_items(self.items)) or (b"",)


class Feature(NamedTuple):
    """What a method hashes, with its weight in either page: 0 where it is not."""

    text: str
    one: float
    other: float


@dataclass(frozen=True)
class Comparison:
    """What a method says of two pages.

    *verdict* is what a crawl would say of the second page if the first one was stored: "duplicate"
    (equal texts), "near-duplicate", "different", or "kept (…)" where the main texts match, but not
    what else is known of the pages. If they cannot be compared: "empty" if a page has no main text,
    "too short" if it has too few tokens, "no sketch" if it has nothing that the method looks at,
    "not compared" if they are near enough, but share no block key. *distance* is ``None`` without
    sketches, and may be infinite.
    """

    method: Method
    verdict: str
    distance: float | None

    def as_json(self) -> dict[str, Any]:
        is_finite = self.distance is not None and math.isfinite(self.distance)
        return {
            "method": self.method.name,
            "parameters": self.method.parameters,
            "distance": self.distance if is_finite else None,
            "max_distance": self.method.max_distance,
            "verdict": self.verdict,
        }


@dataclass(frozen=True)
class Explanation:
    """All there is to say of two pages by *rule*, seen with *method* first.

    *names* knows what the pages of a host share in their titles.
    """

    one: Side
    other: Side
    method: Method
    rule: Rule
    names: Names | None = None

    @property
    def are_equal(self) -> bool:
        """Whether the normalised main texts are equal, and not empty."""
        one, other = self._records
        return one.digest == other.digest is not None

    @cached_property
    def tokens(self) -> tuple[int, int]:
        one, other = self._records
        return one.tokens, other.tokens

    @cached_property
    def features(self) -> list[Feature]:
        """The features of both pages, the heaviest first, ties in the order of the alphabet."""
        extractions = self.one.extraction, self.other.extraction
        documents = (self.method.document(page.text, page.description) for page in extractions)
        one, other = map(self.method.weighted_features, documents)
        # Methods put \x01 between the words of a shingle.
        features = (
            Feature(text.replace("\x01", " "), one.get(text, 0), other.get(text, 0))
            for text in {**one, **other}
        )
        return sorted(features, key=lambda item: (-max(item.one, item.other), item.text))

    @property
    def fingerprints(self) -> tuple[int, int] | None:
        """The fingerprints of both pages, if the method makes some and both have one."""
        one, other = (record.sketch for record in self._records)
        if one is None or other is None or not isinstance(self.method, FingerprintMethod):
            return None
        return self.method.from_bytes(one), self.method.from_bytes(other)

    @cached_property
    def judgement(self) -> Comparison:
        return self._judge(self.method)

    @cached_property
    def judgements(self) -> list[Comparison]:
        """What all methods say, with their default arguments but for the one that was asked for."""
        ours = [
            self.judgement
            if name == self.method.name
            else self._judge(kind().with_hashing(self.method.hashing))
            for name, kind in METHODS.items()
        ]
        return ours if self.method.name in METHODS else [self.judgement, *ours]

    @cached_property
    def _records(self) -> tuple[PageRecord, PageRecord]:
        return self.one.record(self.method), self.other.record(self.method)

    def _judge(self, method: Method) -> Comparison:
        """Return what a crawl with *method* that has stored the first page says of the second."""
        stored, page = self.one.record(method), self.other.record(method)
        distance = None
        if stored.sketch is not None and page.sketch is not None:
            sketches = map(method.from_bytes, (page.sketch, stored.sketch))
            distance = method.distance(*sketches)
        if stored.digest is None or page.digest is None:
            return Comparison(method, "empty", distance)
        view = View(method, self.rule, self.names)
        view.apply([Claimed(stored, 1), Committed(1, self.one.said)])
        look = view.look(page)
        if look.decision.match is not None:
            is_exact = look.decision.kind is Kind.EXACT
            return Comparison(method, "duplicate" if is_exact else "near-duplicate", distance)
        if look.objection:
            return Comparison(method, f"kept ({look.objection})", distance)
        if min(stored.tokens, page.tokens) < self.rule.min_tokens or look.decision.reason:
            return Comparison(method, "too short", distance)
        if distance is None:
            return Comparison(method, "no sketch", distance)
        is_far = distance > method.max_distance
        return Comparison(method, "different" if is_far else "not compared", distance)

    @cached_property
    def diff(self) -> list[Part]:
        return list(word_diff(self.one.extraction.text, self.other.extraction.text))

    def as_json(self) -> dict[str, Any]:
        return {
            "a": _side_as_json(self.one, self.tokens[0]),
            "b": _side_as_json(self.other, self.tokens[1]),
            "equal": self.are_equal,
            "min_tokens": self.rule.min_tokens,
            "judgement": self.judgement.as_json(),
            "features": [
                {"feature": feature.text, "a": feature.one, "b": feature.other}
                for feature in self.features
            ],
            "fingerprints": self.fingerprints
            and dict(zip("ab", map(hex, self.fingerprints), strict=True)),
            "judgements": [judgement.as_json() for judgement in self.judgements],
            "diff": [part._asdict() for part in self.diff],
        }


def _side_as_json(side: Side, tokens: int) -> dict[str, Any]:
    page = side.extraction
    return {
        "source": side.source, "canonical": side.canonical, "title": page.title,
        "language": page.language, "characters": len(page.text), "tokens": tokens,
        "text": page.text,
    }  # fmt: skip


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
        current = [page for page in ledger.versions(url) if page.ended is None]
        seen = current[-1].record.evidence if current else None
        evidence = None if seen is None else Evidence.from_bytes(seen)
        items = current[-1].items if current else b""
        sides.append(Side(url, Extraction(text, title, evidence=evidence), items=items))
    return sides


def names_of(pages: Iterable[tuple[str, Evidence]]) -> Names:
    """Return what the titles of *pages*, URLs and what they show, share: crawls learn it so."""
    names = Names()
    for url, evidence in pages:
        names.learn(host(url), evidence)
    return names
