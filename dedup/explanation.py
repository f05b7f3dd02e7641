"""Two pages -> why they are, or are not, near-duplicates."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

from dedup.diff import Part, word_diff
from dedup.evidence import KnownNames, Names, Objection
from dedup.extraction import Extraction
from dedup.item_values import ItemValues
from dedup.methods import METHODS
from dedup.methods.base import Method
from dedup.page import evidence_for
from dedup.preference import are_same_url
from dedup.record import PageRecord, digest_of
from dedup.rule import Finding, Kind, Rule, Witness
from dedup.scopes import host
from dedup.search import index_for
from dedup.text import Document


class Side(NamedTuple):
    """One of the two pages: where it is from, and what was extracted of it."""

    source: str
    extraction: Extraction
    document: Document
    canonical: str | None = None
    """The URL that the page names as its canonical one."""

    @classmethod
    def of(
        cls, source: str, extraction: Extraction, method: Method, canonical: str | None = None
    ) -> "Side":
        """Return what *method*, and all others, shall see of *extraction*."""
        document = method.document(extraction.text, extraction.description)
        evidence = evidence_for(method, extraction)
        return cls(source, replace(extraction, evidence=evidence), document, canonical)

    def names(self, other: "Side") -> bool:
        """Return whether the page names the *other* one as its canonical page, or both a third."""
        named = self.canonical
        if named is None or are_same_url(named, self.source):
            return False
        return any(are_same_url(named, url) for url in (other.source, other.canonical) if url)

    @property
    def evidence(self) -> bytes | None:
        """What the page shows besides its main text; ``None`` for a text."""
        evidence = self.extraction.evidence
        return None if evidence is None else evidence.to_bytes()

    def as_json(self) -> dict[str, Any]:
        return {
            "source": self.source,
            "canonical": self.canonical,
            "title": self.extraction.title,
            "language": self.extraction.language,
            "characters": len(self.extraction.text),
            "tokens": len(self.document.tokens),
            "text": self.extraction.text,
        }


class Feature(NamedTuple):
    """What a method hashes, with its weight in either page: 0 where it is not."""

    text: str
    one: float
    other: float


@dataclass(frozen=True)
class Comparison:
    """What a method says of two pages.

    *verdict* is what the crawl would say of the second page if the first one was stored:
    "duplicate" (equal texts), "near-duplicate" or "different". If the sketches cannot be compared:
    "empty" if a page has no main text, "too short" if it has too few tokens, "no sketch" if it has
    nothing that the method looks at. "kept (…)": the main texts match, but the pages show that they
    are not the same. "kept (other title), or a copy by its own word": one of the pages names the
    other as its canonical page, so that it depends on a setting whether it is kept. "not compared":
    they are near enough, but share no block key.
    *distance* is ``None`` without sketches, and may be infinite.
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
    """All there is to say of two pages by *rule*, seen with *method* first."""

    one: Side
    other: Side
    method: Method
    rule: Rule
    names: Names | None = None
    """What the pages of the host of the other page share in their titles, where that is known."""
    items: tuple[ItemValues, ItemValues] | None = None
    """What the items of the pages say, where that is known."""
    is_kept_by_item: bool = False
    """Whether it is known that no item of the first page says all that one of the second says."""

    @property
    def are_equal(self) -> bool:
        """Whether the normalised main texts are equal, and not empty."""
        return self.one.document.text == self.other.document.text != ""

    @cached_property
    def features(self) -> list[Feature]:
        """The features of both pages, the heaviest first, ties in the order of the alphabet."""
        weights = [self.method.weighted_features(side.document) for side in (self.one, self.other)]
        return sorted(_features(*weights), key=lambda item: (-max(item.one, item.other), item.text))

    @property
    def contained(self) -> tuple[float, float] | None:
        """What shares of the features of A stand in B, and of B in A, if the method `finds_parts`.

        Exact, whatever the sketches estimate; ``None`` if a page has no features, too.
        """
        own, others = (
            sum(bool(f.one) for f in self.features),
            sum(bool(f.other) for f in self.features),
        )
        if not (self.method.finds_parts and own and others):
            return None
        both = own + others - len(self.features)
        return both / own, both / others

    @cached_property
    def sketches(self) -> tuple[Any, Any]:
        """The sketches of both pages by the method."""
        return self.method.sketch(self.one.document), self.method.sketch(self.other.document)

    @property
    def fingerprints(self) -> tuple[int, int] | None:
        """The fingerprints of both pages, if the method makes some and both have one."""
        one, other = self.sketches
        has_none = one is None or other is None
        return None if has_none or not self.bits else (one, other)

    @property
    def bits(self) -> int:
        """How many bits the fingerprints have; 0 if the method makes none."""
        return self.method.fingerprint_bits

    @cached_property
    def judgement(self) -> Comparison:
        """What the method says."""
        return self._judge(self.method)

    def _judge(self, method: Method) -> Comparison:
        evidence = self.one.evidence, self.other.evidence
        documents = self.one.document, self.other.document
        page, known = self.other, None
        if self.names and page.extraction.evidence:
            known = self.names.of(host(page.source), page.extraction.evidence)
        said = judge(method, *documents, self.rule, evidence, names=known)
        is_kept = self.is_kept_by_item or (self.items and not self._is_said)
        if is_kept and "duplicate" in said.verdict:
            return replace(said, verdict=f"kept ({Objection.ITEM})")
        if self.copy_by_its_own_word and said.verdict == f"kept ({Objection.TITLE})":
            return replace(said, verdict=f"{said.verdict}, or a copy by its own word")
        return said

    @property
    def _is_said(self) -> bool:
        """Whether the first item says all that the second one says, and the pages do not."""
        assert self.items
        one, other = self.items
        shown = [side.extraction.evidence for side in (self.one, self.other)]
        own_names = frozenset[bytes]()
        if all(shown) and shown[0].headline == shown[1].headline != b"":  # type: ignore[union-attr]  # both are there
            own_names = other.names
        return other.keys - own_names <= one.keys

    @cached_property
    def copy_by_its_own_word(self) -> Side | None:
        """The page whose title is no objection in crawls that prefer canonical pages, if any."""
        for page, other in ((self.other, self.one), (self.one, self.other)):
            witness = Witness(len(page.document.tokens), page.extraction.evidence)
            if page.names(other) and self.rule.believes(witness, page.canonical or ""):
                return page
        return None

    @cached_property
    def judgements(self) -> list[Comparison]:
        """What all methods say, with their default arguments but for the one that was asked for."""
        judgements = [
            self.judgement
            if name == self.method.name
            else self._judge(kind().with_hashing(self.method.hashing))
            for name, kind in METHODS.items()
        ]
        return judgements if self.method.name in METHODS else [self.judgement, *judgements]

    @property
    def item_differences(self) -> list[tuple[str, str | None, str | None]]:
        """Fields in which the items differ, and what each of them has there, ``None`` for nothing.

        What only the first one has keeps the second one from nothing.
        """
        if self.items is None:
            return []
        one, other = (item.contents for item in self.items)
        found = [(field, None, text) for key, (field, text) in other.items() if key not in one]
        missing = [(field, text) for key, (field, text) in one.items() if key not in other]
        rows: list[tuple[str, str | None, str | None]] = []
        for field, _, text in found:
            same = next((pair for pair in missing if pair[0] == field), None)
            if same:
                missing.remove(same)
            rows.append((field, same and same[1], text))
        return rows + [(field, text, None) for field, text in missing]

    @cached_property
    def diff(self) -> list[Part]:
        return list(word_diff(self.one.extraction.text, self.other.extraction.text))

    def as_json(self) -> dict[str, Any]:
        contained = self.contained
        fingerprints = self.fingerprints and {
            "bits": self.bits,
            "a": f"{self.fingerprints[0]:#x}",
            "b": f"{self.fingerprints[1]:#x}",
            "differing": _set_bits(self.fingerprints[0] ^ self.fingerprints[1]),
        }
        return {
            "a": self.one.as_json(),
            "b": self.other.as_json(),
            "equal": self.are_equal,
            "min_tokens": self.rule.min_tokens,
            "judgement": self.judgement.as_json(),
            "features": [
                {"feature": feature.text, "a": feature.one, "b": feature.other}
                for feature in self.features
            ],
            "contained": contained and {"a_in_b": contained[0], "b_in_a": contained[1]},
            "fingerprints": fingerprints,
            "items": [
                {"field": field, "a": one, "b": other}
                for field, one, other in self.item_differences
            ],
            "judgements": [judgement.as_json() for judgement in self.judgements],
            "diff": [part._asdict() for part in self.diff],
        }


def judge(
    method: Method,
    first: Document,
    second: Document,
    rule: Rule,
    evidence: tuple[bytes | None, bytes | None] = (None, None),
    *,
    names: KnownNames | None = None,
) -> Comparison:
    """Return what *method* says of two pages, as a crawl would that stores the first one.

    *evidence*: what the pages show besides, ``None`` for texts. *names*: what is
    known of those of the second page; of two pages, nothing.
    """
    sketches = [method.sketch(first), method.sketch(second)]
    have_sketches = all(sketch is not None for sketch in sketches)
    distance = method.distance(*reversed(sketches)) if have_sketches else None
    records = [
        PageRecord(
            tokens=len(document.tokens),
            digest=digest_of(document),
            sketch=None if sketch is None else method.to_bytes(sketch),
            evidence=own,
        )
        for document, sketch, own in zip((first, second), sketches, evidence, strict=True)
    ]

    def objection(page: Witness, original: Witness, *, is_exact: bool) -> Objection | None:
        return rule.objection(
            page,
            original,
            is_exact=is_exact,
            finds_parts=method.finds_parts,
            names=names,
        )

    verdict = _verdict(method, rule, records, sketches, distance, objection)
    return Comparison(method, verdict, distance)


def _verdict(
    method: Method,
    rule: Rule,
    records: Sequence[PageRecord],
    sketches: Sequence[Any],
    distance: float | None,
    objection: Callable[..., Objection | None],
) -> str:
    stored, page = records
    if any(rule.reason_to_skip(record) for record in records):
        return "empty"
    index = index_for(method)
    if not rule.is_short(stored):
        index.add(sketches[0])
    finding: Finding[object] = rule.judge(
        page,
        lambda: stored if stored.digest == page.digest else None,
        lambda: index.query(sketches[1]),
    )
    if finding.kind is not Kind.NEW:
        is_exact = finding.kind is Kind.EXACT
        witnesses = Witness.of(page), Witness.of(stored)
        if against := objection(*witnesses, is_exact=is_exact):
            return f"kept ({against})"
        return "duplicate" if finding.kind is Kind.EXACT else "near-duplicate"
    if any(record.tokens < rule.min_tokens for record in records):
        return "too short"
    if distance is None:
        return "no sketch"
    return "different" if distance > method.max_distance else "not compared"


def _features(one: Mapping[str, float], other: Mapping[str, float]) -> Iterator[Feature]:
    for text in {**one, **other}:
        # Methods put this between the words of a shingle.
        yield Feature(text.replace("\x01", " "), one.get(text, 0), other.get(text, 0))


def _set_bits(number: int) -> list[int]:
    return [bit for bit in range(number.bit_length()) if number >> bit & 1]
