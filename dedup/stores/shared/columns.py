"""Entries of a log, thousands at a time: decoded column by column.

To make an object of each takes ten times as long.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress, starmap
from typing import Any

import numpy as np

from dedup.arrays import Array
from dedup.evidence import SIZE_OF_EVIDENCE
from dedup.record import RecordColumns
from dedup.stores.shared.entries import (
    CLAIMED,
    COMMITTED,
    HAS_EVIDENCE,
    HAS_SKETCH,
    HEAD,
    PAGE,
    PREFERRED,
    RELEASED,
    from_bytes,
    from_utf8,
    to_bytes,
)
from dedup.stores.shared.log import Entry
from dedup.stores.shared.url_table import hash_of_url

_HEADS = np.dtype(
    [("kind", "u1"), ("serial", "<u4"), ("run", "<u4"), ("owner", "V8"), ("at", "<f8"),
     ("number", "<u8")]
)  # fmt: skip
_PAGES = np.dtype(
    [("flags", "u1"), ("tokens", "<u8"), ("digest", "V16"), ("sketch", "<u4"), ("scope", "<u4"),
     ("key", "<u4"), ("replaces", "<u4")]
)  # fmt: skip
assert (_HEADS.itemsize, _PAGES.itemsize) == (HEAD.size, PAGE.size)
_OF_REPLACED = 8


@dataclass(slots=True)
class Claims:
    """The claims among entries: what is compared of their pages, the runs, and hashes of the URLs.

    *replaces* are the numbers of the pages that one replaces, by its number, if there are any.
    """

    records: RecordColumns = field(default_factory=RecordColumns)
    numbers: Array = field(default_factory=lambda: np.empty(0, np.int64))
    runs: Array = field(default_factory=lambda: np.empty(0, np.uint32))
    urls: Array = field(default_factory=lambda: np.empty(0, np.uint64))
    replaces: Mapping[int, Sequence[int]] = field(default_factory=dict)

    def only(self, which: Array) -> "Claims":
        """Return those for which *which*, shape (n,), is true."""
        if which.all():
            return self
        chosen = which.tolist()
        records = RecordColumns(*(list(compress(values, chosen)) for values in self.records.lists))
        return Claims(
            records, self.numbers[which], self.runs[which], self.urls[which], self.replaces
        )


class Entries(ABC):
    """Entries of a log, at least one, by position; to iterate makes an object of each.

    *committed* and *released* are numbers of claims, *stored* when those were committed (seconds
    since 1970); *preferred* are the better keys of pages, by number, and the runs in which they
    were met.
    """

    claims: Claims
    committed: Array
    stored: Array
    released: Array
    preferred: dict[int, tuple[str, int]]

    @property
    @abstractmethod
    def last(self) -> Entry:
        """The last entry."""

    @abstractmethod
    def claim(self, number: int) -> Entry:
        """Return the claim *number*, which is among them."""

    @abstractmethod
    def __iter__(self) -> Iterator[Entry]: ...


class ListedEntries(Entries):
    """Entries as `to_bytes` wrote them."""

    def __init__(self, positions: Sequence[int], data: Sequence[bytes]) -> None:
        """Take *data* at *positions*; raises ValueError for what is no entry."""
        self._positions = np.asarray(positions, np.int64)
        self._data = data
        sizes = np.fromiter(map(len, data), np.int64, len(data))
        self._check(sizes >= HEAD.size)
        text = b"".join(data)
        starts = np.cumsum(sizes) - sizes
        heads = _rows(text, starts, _HEADS)
        kinds, numbers = heads["kind"], heads["number"].astype(np.int64)
        is_claim, is_commit, is_release, is_preferred = (
            kinds == kind[0] for kind in (CLAIMED, COMMITTED, RELEASED, PREFERRED)
        )
        is_end = (is_commit | is_release) & (sizes == HEAD.size)
        self._check(is_claim | is_preferred | is_end)
        self.committed, self.stored = numbers[is_commit], heads["at"][is_commit]
        self.released = numbers[is_release]
        self.preferred = {
            int(numbers[place]): (from_utf8(data[place][HEAD.size :]), int(heads["run"][place]))
            for place in np.flatnonzero(is_preferred).tolist()
        }
        self.claims = self._claims(text, np.flatnonzero(is_claim), starts, sizes, heads["run"])

    @classmethod
    def of(cls, entries: Iterable[Entry]) -> "ListedEntries":
        """Return *entries* as columns."""
        entries = list(entries)
        return cls([entry.position for entry in entries], list(map(to_bytes, entries)))

    def _claims(
        self, text: bytes, places: Array, starts: Array, sizes: Array, runs: Array
    ) -> Claims:
        """Return the claims at some *places*; *text* is all data, entries begin at *starts*."""
        is_whole = np.ones(len(self._data), bool)
        is_whole[places] = sizes[places] >= HEAD.size + PAGE.size
        self._check(is_whole)
        pages = _rows(text, starts[places] + HEAD.size, _PAGES)
        has_evidence = pages["flags"] & HAS_EVIDENCE != 0
        # Where each begins.
        sketches = starts[places] + (HEAD.size + PAGE.size)
        evidence = sketches + pages["sketch"]
        scopes = evidence + has_evidence * SIZE_OF_EVIDENCE
        keys = scopes + pages["scope"]
        replaced = keys + pages["key"]
        ends = replaced + pages["replaces"].astype(np.int64) * _OF_REPLACED
        is_whole[places] = ends == starts[places] + sizes[places]
        self._check(is_whole)
        numbers = self._positions[places]
        urls, names = _parts(text, keys, replaced), _parts(text, scopes, keys)
        scope_of = {name: from_utf8(name) for name in set(names)}
        from_utf8(b"\0".join(urls))  # which fails if one of them does
        records = RecordColumns(
            numbers.tolist(),
            pages["digest"].tolist(),
            _optional_parts(text, sketches, evidence, pages["flags"] & HAS_SKETCH != 0),
            pages["tokens"].tolist(),
            _optional_parts(text, evidence, scopes, has_evidence),
            [scope_of[name] for name in names],
            some_keys(numbers.tolist(), urls),
        )
        replacing = places[pages["replaces"] > 0].tolist()
        return Claims(
            records,
            numbers,
            runs[places],
            np.fromiter(map(hash_of_url, urls), np.uint64, len(urls)),
            {entry.position: entry.event.replaces for entry in map(self._entry, replacing)},  # type: ignore[union-attr]  # these are claims
        )

    def _check(self, is_right: Array) -> None:
        """Raise ValueError if an entry is not."""
        if not is_right.all():
            place = int(np.argmin(is_right))
            self._entry(place)
            raise ValueError(f"entry {self._positions[place]} is none")

    def _entry(self, place: int) -> Entry:
        return from_bytes(int(self._positions[place]), self._data[place])

    @property
    def last(self) -> Entry:
        return self._entry(len(self._data) - 1)

    def claim(self, number: int) -> Entry:
        return self._entry(int(np.searchsorted(self._positions, number)))

    def __iter__(self) -> Iterator[Entry]:
        return starmap(from_bytes, zip(self._positions.tolist(), self._data, strict=True))


def some_keys(numbers: Iterable[int], urls: Iterable[bytes]) -> list[str | None]:
    """Return as many of *urls* as a ledger gives: they tell what the pages of a host share."""
    return [
        from_utf8(url) if number <= 2000 or place % 16 == 0 else None
        for place, (number, url) in enumerate(zip(numbers, urls, strict=True))
    ]


def _rows(text: bytes, starts: Array, kind: np.dtype[Any]) -> Array:
    """Return what is in *text* at *starts*, shape (n,), of a *kind*."""
    if not len(starts):
        return np.empty(0, kind)
    windows = np.lib.stride_tricks.sliding_window_view(np.frombuffer(text, np.uint8), kind.itemsize)
    return windows[starts].view(kind).reshape(-1)


def _parts(text: bytes, starts: Array, ends: Array) -> list[bytes]:
    """Return the parts of *text* from *starts* to *ends*."""
    lengths = ends - starts
    if len(lengths) and (lengths == lengths[0]).all():
        if not lengths[0]:
            return [b""] * len(lengths)
        return _rows(text, starts, np.dtype(f"V{lengths[0]}")).tolist()  # type: ignore[no-any-return]
    return [text[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]


def _optional_parts(text: bytes, starts: Array, ends: Array, is_there: Array) -> list[bytes | None]:
    """Return such parts, ``None`` for what is not there."""
    parts = _parts(text, starts, ends)
    if is_there.all():
        return parts  # type: ignore[return-value]
    return [part if there else None for part, there in zip(parts, is_there.tolist(), strict=True)]
