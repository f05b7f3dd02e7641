"""Entries of a log, thousands at a time: decoded column by column.

To make an object of each takes ten times as long.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import starmap
from typing import Any

import numpy as np

from dedup.arrays import Array
from dedup.evidence import SIZE_OF_EVIDENCE
from dedup.packed import Packed
from dedup.record import MOST_TOKENS, Committed, RecordColumns, pack_items
from dedup.stores.shared.entries import (
    CLAIMED,
    COMMITTED,
    HAS_EVIDENCE,
    HAS_SKETCH,
    HEAD,
    PAGE,
    PREFERRED,
    RELEASED,
    committed,
    from_bytes,
    to_bytes,
)
from dedup.stores.shared.log import Entry
from dedup.stores.shared.url_table import hash_of_url
from dedup.text import from_utf8

_HEADS = np.dtype(
    [("kind", "u1"), ("serial", "<u4"), ("run", "<u4"), ("owner", "V8"), ("at", "<f8"),
     ("number", "<u8")]
)  # fmt: skip
_PAGES = np.dtype(
    [("flags", "u1"), ("tokens", "<u8"), ("digest", "u1", 16), ("sketch", "<u4"), ("scope", "<u4"),
     ("key", "<u4"), ("item", "<u4")]
)  # fmt: skip
assert (_HEADS.itemsize, _PAGES.itemsize) == (HEAD.size, PAGE.size)


@dataclass(slots=True)
class Claims:
    """The claims among entries: what is compared of their pages, the runs, and hashes of the URLs.

    *runs*: shape (n,), uint32; *urls*: shape (n,), uint64.
    """

    records: RecordColumns
    runs: Array
    urls: Array

    @property
    def numbers(self) -> Array:
        """Their numbers, shape (n,), int64."""
        return self.records.numbers

    def only(self, which: Array) -> "Claims":
        """Return those for which *which*, shape (n,), is true."""
        return Claims(self.records.only(which), self.runs[which], self.urls[which])

    def with_items_of(self, commits: Mapping[int, Committed]) -> "Claims":
        """Return those with the items that *commits*, by number, tell of some of them."""
        own = ((place, commits.get(number)) for place, number in enumerate(self.numbers.tolist()))
        told = {place: event.items for place, event in own if event and event.items is not None}
        if not commits or not told:
            return self
        items = list(self.records.items)
        for place, of_page in told.items():
            items[place] = pack_items(of_page)
        packed = Packed()
        packed.extend(items)
        return replace(self, records=replace(self.records, items=packed))


class Entries(ABC):
    """Entries of a log, at least one, by position; to iterate makes an object of each.

    *committed* and *released* are numbers of claims, *stored* when those were committed (seconds
    since 1970); *preferred* are the better keys of pages, by number, and the runs in which they
    were met.
    """

    claims: Claims
    committed: Array
    endings: Mapping[int, Committed] = {}
    """The commits that tell of other items than their claims, or replace pages, by number."""
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
        is_end = is_release & (sizes == HEAD.size)
        self._check(is_claim | is_preferred | is_commit | is_end)
        self.committed, self.stored = numbers[is_commit], heads["at"][is_commit]
        self.released = numbers[is_release]
        self.endings = {
            int(numbers[place]): committed(int(numbers[place]), data[place][HEAD.size :])
            for place in np.flatnonzero(is_commit & (sizes > HEAD.size)).tolist()
        }
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
        items = keys + pages["key"]
        ends = items + pages["item"]
        is_whole[places] = ends == starts[places] + sizes[places]
        self._check(is_whole)
        has_sketch = pages["flags"] & HAS_SKETCH != 0
        of_scope, names = _scopes(text, scopes, keys)
        records = RecordColumns(
            self._positions[places],
            np.ascontiguousarray(pages["digest"]),
            np.minimum(pages["tokens"], MOST_TOKENS).astype(np.int64),
            has_sketch,
            _packed(text, sketches[has_sketch], evidence[has_sketch]),
            has_evidence,
            _octets(text, evidence[has_evidence], SIZE_OF_EVIDENCE),
            of_scope,
            names,
            _packed_items(_parts(text, items, ends)),
        )
        urls = _parts(text, keys, items)
        from_utf8(b"\0".join(urls))  # which fails if one of them does
        records.keys = {number: from_utf8(urls[place]) for number, place in places_of_keys(records)}
        return Claims(records, runs[places], hashes_of(urls))

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


def places_of_keys(records: RecordColumns) -> Iterable[tuple[int, int]]:
    """Return the numbers and places of as many pages as a ledger gives the keys of.

    These tell what the pages of a host share.
    """
    numbers = records.numbers
    is_one = (numbers <= 2000) | (np.arange(len(numbers)) % 16 == 0)
    places = np.flatnonzero(is_one & records.has_evidence)
    return zip(numbers[places].tolist(), places.tolist(), strict=True)


def hashes_of(urls: Sequence[bytes]) -> Array:
    """Return the `hash_of_url` of each URL, shape (n,), uint64."""
    return np.fromiter(map(hash_of_url, urls), np.uint64, len(urls))


def _octets(text: bytes, starts: Array, size: int) -> Array:
    """Return *size* bytes of *text* from each of *starts*, shape (n, size), uint8."""
    if not len(starts):
        return np.empty((0, size), np.uint8)
    # What begins at each place of the text.
    windows: Array = np.ndarray((len(text) - size + 1, size), np.uint8, text, strides=(1, 1))
    return windows[starts]


def _rows(text: bytes, starts: Array, kind: np.dtype[Any]) -> Array:
    """Return what is in *text* at *starts*, shape (n,), of a *kind*."""
    return _octets(text, starts, kind.itemsize).view(kind).reshape(-1)


def _packed(text: bytes, starts: Array, ends: Array) -> Packed:
    """Return the parts of *text* from *starts* to *ends*."""
    lengths = ends - starts
    if len(lengths) and (lengths == lengths[0]).all():
        return Packed.of_rows(_octets(text, starts, lengths[0]))
    return Packed.of(b"".join(_parts(text, starts, ends)), lengths)


def _parts(text: bytes, starts: Array, ends: Array) -> list[bytes]:
    return [text[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]


def _packed_items(items: Sequence[bytes]) -> Packed:
    """Return what the one item of each page says, as `pack_items` writes it."""
    packed = Packed()
    packed.extend([pack_items([item]) for item in items])
    return packed


def _scopes(text: bytes, starts: Array, ends: Array) -> tuple[Array, list[str]]:
    """Return the places of scopes, from *starts* to *ends*, among different ones, and these."""
    if (starts == ends).all():
        return np.zeros(len(starts), np.int64), [""]
    names = _parts(text, starts, ends)
    places = {name: place for place, name in enumerate(dict.fromkeys(names))}
    return np.fromiter(map(places.__getitem__, names), np.int64), list(map(from_utf8, places))
