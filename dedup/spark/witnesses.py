"""What members of runs show besides their main texts, and what speaks against dropping them."""

from collections.abc import Sequence
from functools import lru_cache
from struct import Struct

import numpy as np

from dedup.evidence import SIZE_OF_EVIDENCE, VIEW, Evidence, Names
from dedup.index.arrays import Array
from dedup.rule import Rule, Witness

MOST_OBJECTIONS = 256
"""Of a page that is like none of so many in a long run, nobody is asked any more there."""

_ROW = Struct(f"<qB{SIZE_OF_EVIDENCE}s")
_VIEW = slice(9 + VIEW.start, 9 + VIEW.stop)
TITLE_IS_COMMON, HEADLINE_IS_COMMON = 1, 2
_MOST_TOKENS = 2**32 - 1  # as `EvidenceTable` has it


class NamesOfPage(Names):
    """Which of the two names of one page its host gives to many, found out beforehand."""

    def __init__(self, page: Evidence, common: int) -> None:
        """Create it of *common*, the sum of the flags above."""
        super().__init__()
        names = (page.title, TITLE_IS_COMMON), (page.headline, HEADLINE_IS_COMMON)
        self._common = {name for name, flag in names if common & flag}

    def is_common(self, host: str, name: bytes) -> bool:
        return name in self._common


def flags_of(names: Names, host: str, page: Evidence) -> int:
    """Return which names of *page* are common, as `NamesOfPage` takes it."""
    title = bool(page.title) and names.is_common(host, page.title)
    headline = bool(page.headline) and names.is_common(host, page.headline)
    return TITLE_IS_COMMON * title + HEADLINE_IS_COMMON * headline


def to_bytes(tokens: int, evidence: bytes, common: int) -> bytes:
    """Return what is sent of a page that has evidence."""
    return _ROW.pack(tokens, common, evidence)


class Witnesses:
    """Those of the members of runs, by their positions; ``None`` where one has no evidence."""

    def __init__(self, rule: Rule, rows: Sequence[bytes | None], *, finds_parts: bool) -> None:
        self._rule = rule
        self._rows = rows
        self._finds_parts = finds_parts
        self.are_there = rule.demands is not None and any(rows)

    def against(self, pages: Array, originals: Array, *, is_exact: bool) -> Array:
        """Return whether something speaks against dropping each page for its original, bool."""
        pairs = zip(pages.tolist(), originals.tolist(), strict=True)
        against = (
            self._is_against(self._rows[one], self._rows[two], is_exact) for one, two in pairs
        )
        return np.fromiter(against, np.bool_, len(pages))

    def show_same(self, pages: Array, originals: Array) -> Array:
        """Return whether the two of each pair show the same, bool."""
        pairs = zip(pages.tolist(), originals.tolist(), strict=True)
        same = (_show_same(self._rows[one], self._rows[two]) for one, two in pairs)
        return np.fromiter(same, np.bool_, len(pages))

    def _is_against(self, page: bytes | None, original: bytes | None, is_exact: bool) -> bool:
        if page is None and original is None:
            return False
        witness, names = _read(page)
        objection = self._rule.objection(
            witness,
            _read(original)[0],
            is_exact=is_exact,
            finds_parts=self._finds_parts,
            names=names,
        )
        return objection is not None


def _show_same(one: bytes | None, other: bytes | None) -> bool:
    return one is not None and other is not None and one[_VIEW] == other[_VIEW]


@lru_cache(1 << 16)
def _read(row: bytes | None) -> tuple[Witness, Names | None]:
    if row is None:
        return Witness(0, None), None
    tokens, common, data = _ROW.unpack(row)
    evidence = Evidence.from_bytes(data)
    return Witness(tokens, evidence), NamesOfPage(evidence, common)
