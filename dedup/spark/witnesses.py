"""What members of runs show besides their main texts, and what speaks against dropping them."""

from collections.abc import Sequence
from struct import Struct

import numpy as np

from dedup.arrays import Array
from dedup.evidence import SIZE_OF_EVIDENCE, Evidence, Names, Objection
from dedup.rule import Rule

OBJECTIONS: tuple[Objection | None, ...] = (None, *Objection)

_ROW = Struct(f"<qB{SIZE_OF_EVIDENCE}s")
_TITLE_IS_COMMON, _HEADLINE_IS_COMMON = 1, 2
_MOST_TOKENS = 2**32 - 1  # as `EvidenceTable` has it


def flags_of(names: Names, host: str, page: Evidence) -> int:
    """Return which names of *page* many pages of its *host* have, as a number for `to_bytes`."""
    title = bool(page.title) and names.is_common(host, page.title)
    headline = bool(page.headline) and names.is_common(host, page.headline)
    return _TITLE_IS_COMMON * title + _HEADLINE_IS_COMMON * headline


def to_bytes(tokens: int, evidence: bytes, common: int) -> bytes:
    """Return what is sent of a page that has evidence."""
    return _ROW.pack(tokens, common, evidence)


class Witnesses:
    """Those of the members of runs, by their positions: what `to_bytes` gave, or ``None``.

    It asks what `Rule.objection` asks, of a million pairs at a time; tests hold the two together.
    """

    def __init__(self, rule: Rule, rows: Sequence[bytes | None], *, finds_parts: bool) -> None:
        self._demands = rule.demands
        self._finds_parts = finds_parts
        self.are_there = rule.demands is not None and any(rows)
        if not self.are_there:
            return
        columns = [_column(row) for row in rows]
        own = zip(*columns, strict=True)
        has, tokens, coverage, views, size, titles, headlines, flags = own
        self._has = np.array(has, np.bool_)
        self._tokens = np.array(tokens, np.int64)
        self._coverage = np.array(coverage, np.float64)
        self._views = np.frombuffer(b"".join(views), "<u8").reshape(-1, 2)
        self._size = np.array(size, np.int64)
        # What a page calls itself, and whether that is a name of its site.
        common = np.array(flags, np.uint8)
        self._names = (
            (np.array(titles, np.uint32), common & _TITLE_IS_COMMON > 0),
            (np.array(headlines, np.uint32), common & _HEADLINE_IS_COMMON > 0),
        )

    def objections(self, pages: Array, originals: Array, *, is_exact: bool) -> Array:
        """Return what speaks against dropping each page for its original.

        That is a place in `OBJECTIONS`, uint8.
        """
        demands = self._demands
        if demands is None or not self.are_there:
            return np.zeros(len(pages), np.uint8)
        least = np.minimum(self._coverage[pages], self._coverage[originals])
        is_same = self.show_same(pages, originals) & is_exact
        is_longer = self._size[pages] >= demands.longer * self._size[originals]
        tokens, others = self._tokens[pages], np.minimum(self._tokens[originals], _MOST_TOKENS)
        is_enough = has_more = has_less = np.zeros(len(pages), np.bool_)
        if not is_exact:
            has_more = tokens >= demands.longer * others
            has_less = (others >= demands.longer * tokens) & (not self._finds_parts)
        elif demands.titled_tokens is not None:
            is_enough = tokens >= demands.titled_tokens
            is_enough &= is_same | (least >= demands.titled_coverage)
        # The first that holds; of what nobody has seen, nothing can be compared.
        answers: list[tuple[Array, Objection | None]] = [
            (~is_same & (least < demands.coverage), Objection.WEAK),
            (~(self._has[pages] & self._has[originals]), None),
            (~is_same & is_longer, Objection.LONGER),
            (is_enough, None),
            (has_more, Objection.LONGER),
            (has_less, Objection.SHORTER),
            (self._names_differ(pages, originals), Objection.TITLE),
        ]
        found = np.zeros(len(pages), np.uint8)
        for holds, answer in reversed(answers):
            found[holds] = OBJECTIONS.index(answer)
        return found

    def _names_differ(self, pages: Array, originals: Array) -> Array:
        """Return whether neither the titles nor the headlines of each pair agree, bool."""
        any_counts = np.zeros(len(pages), np.bool_)
        all_differ = np.ones(len(pages), np.bool_)
        for names, are_common in self._names:
            own, others = names[pages], names[originals]
            counts = (own != 0) & (others != 0) & ~((own == others) & are_common[pages])
            any_counts |= counts
            all_differ &= ~counts | (own != others)
        return any_counts & all_differ

    def show_same(self, pages: Array, originals: Array) -> Array:
        """Return whether the two of each pair show the same, bool."""
        is_equal = (self._views[pages] == self._views[originals]).all(axis=1)
        both: Array = self._has[pages] & self._has[originals] & is_equal
        return both


def _column(row: bytes | None) -> tuple[bool, int, float, bytes, int, int, int, int]:
    if row is None:
        return False, 0, 1.0, bytes(16), 0, 0, 0, 0
    tokens, common, data = _ROW.unpack(row)
    page = Evidence.from_bytes(data)
    title, headline = (int.from_bytes(name.ljust(4, b"\0")) for name in (page.title, page.headline))
    return True, tokens, page.coverage, page.view, page.size, title, headline, common
