"""Indexes for collections that are judged in batches, with the same answers as page by page.

The stored candidates of a whole batch are looked up at once, in a tenth of the time. Pages that the
batch itself adds are tracked separately.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence

import numpy as np

from dedup.arrays import Array, Packed
from dedup.index.base import Match
from dedup.index.hamming import HammingIndex
from dedup.index.key_table import KeyTable, newest
from dedup.methods.base import KeyMethod, as_rows
from dedup.methods.fingerprints import FingerprintMethod, Fingerprints

# So that the payloads of all pairs fit into the processor's cache.
_PAIRS_AT_ONCE = 1 << 11
# About 30 MB. Pages of one template may share keys with all others.
_MOST_PAIRS = 1 << 20


class BatchIndex(ABC):
    """Finds the nearest stored page for each sketch of a batch. Pages are numbered in add order."""

    @abstractmethod
    def begin(self, sketches: Sequence[bytes | None]) -> None:
        """Start a new batch of *sketches* from `Method.to_bytes`; ``None`` where a page has none.

        Sketches of the previous batch that were not added are forgotten.
        """

    @abstractmethod
    def query(self, place: int) -> Match | None:
        """Return what `Index.query` would for the sketch at *place* in the batch."""

    @abstractmethod
    def add(self, place: int) -> None:
        """Store the sketch at *place* in the batch under the next number: 0, 1, 2, ..."""


class Nothing(BatchIndex):
    """Has nothing and finds nothing."""

    def begin(self, sketches: Sequence[bytes | None]) -> None: ...

    def query(self, place: int) -> None: ...

    def add(self, place: int) -> None: ...


class FingerprintBatches(BatchIndex):
    """Compares fingerprints as `HammingIndex` does, and those of a batch with one another."""

    def __init__(self, method: FingerprintMethod) -> None:
        self._method = method
        self._prints = Fingerprints(method.bits)
        self._index = HammingIndex(method.bits, method.max_distance)

    def begin(self, sketches: Sequence[bytes | None]) -> None:
        self._sketches = {
            place: sketch for place, sketch in enumerate(sketches) if sketch is not None
        }
        self._rows = {place: row for row, place in enumerate(self._sketches)}
        octets = as_rows(list(self._sketches.values()), -(-self._method.bits // 8))
        rows = self._prints.from_bytes(octets)
        pages, distances = (column.tolist() for column in self._index.query_many(rows))
        self._nearest = {
            row: Match(page, distances[row]) for row, page in enumerate(pages) if page >= 0
        }
        self._distances = self._prints.distances(rows[:, None], rows)
        is_near = self._distances <= self._method.max_distance
        self._has_near = (is_near.sum(axis=1) > 1).tolist()
        # Of each row that was added in this batch.
        self._numbers = np.full(len(rows), -1)

    def query(self, place: int) -> Match | None:
        row = self._rows[place]
        matches = [self._nearest[row]] if row in self._nearest else []
        if self._has_near[row] or self._numbers[row] >= 0:
            distances = self._distances[row]
            is_near = (distances <= self._method.max_distance) & (self._numbers >= 0)
            found = self._numbers[is_near].tolist(), distances[is_near].tolist()
            matches += map(Match, *found)
        return min(matches, default=None)

    def add(self, place: int) -> None:
        sketch = self._method.from_bytes(self._sketches[place])
        self._numbers[self._rows[place]] = self._index.add(sketch)


class KeyBatches(BatchIndex):
    """Compares the sketches that share a block key, as `KeyIndex` does."""

    def __init__(self, method: KeyMethod) -> None:
        self._method = method
        self._table = KeyTable()
        self._stored = Packed()
        # Places and numbers of stored sketches that are not in the table yet.
        self._pending: dict[int, int] = {}

    def begin(self, sketches: Sequence[bytes | None]) -> None:
        if self._pending:
            self._link()
        present = {place: sketch for place, sketch in enumerate(sketches) if sketch is not None}
        self._keys, counts, payloads = self._method.keys_of_many(list(present.values()))
        self._payloads = dict(zip(present, payloads, strict=True))
        self._sizes = np.zeros(len(sketches), np.int64)
        self._sizes[list(present)] = counts
        self._places = np.repeat(np.arange(len(sketches)), self._sizes)
        self._nearest, self._candidates = self._look_up(self._keys, self._places)
        self._shared = self._shared_keys()
        # Numbers of the sketches stored in this batch, by the keys that other sketches of it share.
        self._recent: dict[int, list[int]] = {}

    def query(self, place: int) -> Match | None:
        nearest = self._nearest.get(place)
        keys = self._shared.get(place)
        if keys is None or not self._recent:
            return nearest
        recent = sorted({number for key in keys for number in self._recent.get(key, ())})
        if not recent:
            return nearest
        most = self._method.candidates_per_key
        if most is not None and self._candidates[place] + len(recent) > most:
            # The latest candidates of some key may have changed.
            self._link()
            own = np.flatnonzero(self._places == place)
            return self._look_up(self._keys[own], self._places[own])[0].get(place)
        matches = self._matches([place] * len(recent), recent)
        return min([match for _, match in matches] + ([nearest] if nearest else []), default=None)

    def add(self, place: int) -> None:
        number = self._pending[place] = self._stored.append(self._payloads[place])
        for key in self._shared.get(place, ()):
            self._recent.setdefault(key, []).append(number)

    def _link(self) -> None:
        """Put the pending sketches into the table."""
        is_pending = np.zeros(len(self._sizes), np.bool_)
        numbers = np.zeros(len(self._sizes), np.uint32)
        places = list(self._pending)
        is_pending[places] = True
        numbers[places] = list(self._pending.values())
        rows = is_pending[self._places]
        self._table.add(self._keys[rows], numbers[self._places[rows]])
        self._pending = {}

    def _look_up(self, keys: Array, places: Array) -> tuple[dict[int, Match], Array]:
        """Return each place's nearest match in the table, and its number of candidates at most."""
        most = self._method.candidates_per_key
        rows = self._rarest(keys, places)
        keys, places = keys[rows], places[rows]
        part_numbers = np.cumsum(self._table.counts(keys, most)) // _MOST_PAIRS
        nearest: dict[int, Match] = {}
        candidates = np.zeros(len(self._sizes), np.int64)
        for rows in np.split(np.arange(len(keys)), np.flatnonzero(np.diff(part_numbers)) + 1):
            of_keys, numbers = self._table.find(keys[rows], most)
            if most is not None:
                is_newest = newest(of_keys, numbers, most)
                of_keys, numbers = of_keys[is_newest], numbers[is_newest]
            pairs = np.unique(places[rows][of_keys].astype(np.uint64) << np.uint64(32) | numbers)
            of_pairs, numbers = (pairs >> np.uint64(32)).astype(np.intp), pairs.astype(np.uint32)
            candidates += np.bincount(of_pairs, minlength=len(candidates))
            for start in range(0, len(pairs), _PAIRS_AT_ONCE):
                part = slice(start, start + _PAIRS_AT_ONCE)
                for place, match in self._matches(of_pairs[part].tolist(), numbers[part].tolist()):
                    nearest[place] = min(nearest.get(place, match), match)
        return nearest, candidates

    def _rarest(self, keys: Array, places: Array) -> Array:
        """Return those of the rows that are enough: each match has a key of one of them."""
        sizes, within = np.bincount(places), self._method.max_distance
        enough = [n - self._method.least_shared_keys(n, within) + 1 for n in sizes.tolist()]
        order = np.lexsort((self._table.counts(keys), places))
        rank = np.arange(len(places)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        return order[rank < np.array(enough, np.int64)[places[order]]]

    def _matches(self, places: list[int], numbers: list[int]) -> Iterator[tuple[int, Match]]:
        """Yield place and match for each pair of a place and a number that match."""
        distances = self._method.distances_of_pairs(
            [self._payloads[place] for place in places],
            [self._stored[number] for number in numbers],
        )
        for pair in np.flatnonzero(distances <= self._method.max_distance).tolist():
            yield places[pair], Match(numbers[pair], distances[pair].item())

    def _shared_keys(self) -> dict[int, list[int]]:
        """Return by place the keys that several pages of the batch share, as arbitrary numbers."""
        order = np.argsort(self._keys)
        is_same = self._keys[order][1:] == self._keys[order][:-1]
        numbers = np.cumsum(np.append(0, ~is_same))
        [rows] = (np.append(is_same, False) | np.append(False, is_same)).nonzero()
        shared: dict[int, list[int]] = {}
        if len(rows):
            places = self._places[order[rows]].tolist()
            for place, number in zip(places, numbers[rows].tolist(), strict=True):
                shared.setdefault(place, []).append(number)
        return shared
