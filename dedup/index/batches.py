"""Indexes for a collection that is judged in batches: each page as if it came alone.

What a page of a batch is compared with is looked up for all of them at once, which takes a tenth of
the time; what the batch itself adds meanwhile is told apart, page by page.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from dedup.index.base import Index, Match
from dedup.index.key_chains import KeyChains
from dedup.methods.base import KeyMethod, Method
from dedup.methods.hashing import Array
from dedup.packed import Packed

# Of which all that is compared fits the cache.
_PAIRS_AT_ONCE = 1 << 11
# What takes some 30 MB. Pages of one form may share keys with all others.
_MOST_PAIRS = 1 << 20


class BatchIndex(ABC):
    """Finds the nearest stored page of one of a batch. Pages are numbered as they are added."""

    @abstractmethod
    def begin(self, sketches: Sequence[bytes | None]) -> None:
        """Begin a batch of *sketches*, as `Method.to_bytes` gives them, or ``None`` for no use.

        Those of the last batch are forgotten, but for those that were added.
        """

    @abstractmethod
    def query(self, place: int) -> Match | None:
        """Return what `Index.query` does, of the sketch at *place* of the batch."""

    @abstractmethod
    def add(self, place: int) -> None:
        """Store the sketch at *place* of the batch, under the next number: 0, 1, 2, ..."""


class OneByOne(BatchIndex):
    """Any index, which is asked for each page."""

    def __init__(self, index: Index, method: Method) -> None:
        self._index = index
        self._method = method
        self._batch: Sequence[bytes | None] = ()
        self._last: tuple[int, Any] = (-1, None)

    def begin(self, sketches: Sequence[bytes | None]) -> None:
        self._batch = sketches
        self._last = (-1, None)

    def query(self, place: int) -> Match | None:
        return self._index.query(self._sketch(place))

    def add(self, place: int) -> None:
        self._index.add(self._sketch(place))

    def _sketch(self, place: int) -> Any:
        # What is added was mostly asked for just before.
        if self._last[0] != place:
            data = self._batch[place]
            assert data is not None
            self._last = (place, self._method.from_bytes(data))
        return self._last[1]


class KeyBatches(BatchIndex):
    """The sketches that share a block key are compared, as in `KeyIndex`."""

    def __init__(self, method: KeyMethod) -> None:
        self._method = method
        self._chains = KeyChains()
        self._stored = Packed()
        # The places and numbers of what is stored, but not among the chains yet.
        self._pending: dict[int, int] = {}

    def begin(self, sketches: Sequence[bytes | None]) -> None:
        if self._pending:
            self._link()
        there = [place for place, sketch in enumerate(sketches) if sketch is not None]
        split = self._method.keys_of_many([sketch for sketch in sketches if sketch is not None])
        self._keys, counts, kept = split
        self._kept = dict(zip(there, kept, strict=True))
        self._sizes = np.zeros(len(sketches), np.int64)
        self._sizes[there] = counts
        self._places = np.repeat(np.arange(len(sketches)), self._sizes)
        self._nearest, self._candidates = self._look_up(self._keys, self._places)
        self._shared = self._shared_keys()
        # The numbers of those of this batch that were stored, by the keys that others of it share.
        self._recent: dict[int, list[int]] = {}

    def query(self, place: int) -> Match | None:
        nearest = self._nearest.get(place)
        keys = self._shared.get(place, ())
        recent = sorted({number for key in keys for number in self._recent.get(key, ())})
        if not recent:
            return nearest
        most = self._method.candidates_per_key
        if most is not None and self._candidates[place] + len(recent) > most:
            # Of some key, the newest ones may be others now.
            self._link()
            own = np.flatnonzero(self._places == place)
            return self._look_up(self._keys[own], self._places[own])[0].get(place)
        matches = self._matches([place] * len(recent), recent)
        return min([match for _, match in matches] + ([nearest] if nearest else []), default=None)

    def add(self, place: int) -> None:
        number = self._pending[place] = self._stored.append(self._kept[place])
        for key in self._shared.get(place, ()):
            self._recent.setdefault(key, []).append(number)

    def _link(self) -> None:
        """Put what is pending among the chains."""
        is_pending = np.zeros(len(self._sizes), np.bool_)
        numbers = np.zeros(len(self._sizes), np.uint32)
        places = list(self._pending)
        is_pending[places] = True
        numbers[places] = list(self._pending.values())
        rows = is_pending[self._places]
        self._chains.add(self._keys[rows], numbers[self._places[rows]])
        self._pending = {}

    def _look_up(self, keys: Array, places: Array) -> tuple[dict[int, Match], Array]:
        """Return the nearest match of each place among the chains, and how many were compared."""
        of_keys, numbers = self._chains.find(keys, self._method.candidates_per_key, _MOST_PAIRS)
        if len(of_keys) > _MOST_PAIRS:
            is_first = places <= (places[0] + places[-1]) // 2
            if is_first.all():
                of_keys, numbers = self._chains.find(keys, self._method.candidates_per_key)
            else:
                first, second = (
                    self._look_up(keys[part], places[part]) for part in (is_first, ~is_first)
                )
                return first[0] | second[0], first[1] + second[1]
        pairs = np.unique(places[of_keys].astype(np.uint64) << np.uint64(32) | numbers)
        of_pairs, numbers = (pairs >> np.uint64(32)).astype(np.intp), pairs.astype(np.uint32)
        nearest: dict[int, Match] = {}
        for start in range(0, len(pairs), _PAIRS_AT_ONCE):
            part = slice(start, start + _PAIRS_AT_ONCE)
            for place, match in self._matches(of_pairs[part].tolist(), numbers[part].tolist()):
                nearest[place] = min(nearest.get(place, match), match)
        return nearest, np.bincount(of_pairs, minlength=len(self._sizes))

    def _matches(self, places: list[int], numbers: list[int]) -> Iterator[tuple[int, Match]]:
        """Yield the pairs of a place and a stored number that are within the threshold."""
        distances = self._method.distances_of_pairs(
            [self._kept[place] for place in places], [self._stored[number] for number in numbers]
        )
        for pair in np.flatnonzero(distances <= self._method.max_distance).tolist():
            yield places[pair], Match(numbers[pair], distances[pair].item())

    def _shared_keys(self) -> dict[int, list[int]]:
        """Return the keys, numbered somehow, that more than one page of the batch has, by place."""
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
