"""The choice of an index for the sketches of a method, and many sketches at once in it."""

from array import array
from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from dedup.arrays import Packed
from dedup.index.base import Index, Match
from dedup.index.hamming import HammingIndex
from dedup.index.keys import KeyIndex
from dedup.methods.base import Method
from dedup.methods.fingerprints import FingerprintMethod
from dedup.text import Document

Pair = tuple[int, int]
"""Numbers of two pages, the lower first."""


def index_for(method: Method) -> Index:
    """Return an empty index over the sketches of *method*, with its threshold."""
    if isinstance(method, FingerprintMethod):
        return HammingIndex(method.bits, method.max_distance)
    return KeyIndex(method)


def order_to_compare(method: Method, documents: Sequence[Document]) -> list[int]:
    """Return the numbers of *documents* in the order in which an index of *method* finds all pairs.

    A part is only found if what contains it was added before: the longest first.
    """
    numbers = range(len(documents))
    if not method.finds_parts:
        return list(numbers)
    return sorted(numbers, key=lambda number: -documents[number].word_count)


class BatchIndex:
    """Finds the nearest stored page for each sketch of a batch, as an index does one by one.

    The stored candidates of a whole batch are looked up at once, in a tenth of the time. What the
    batch itself adds is compared with those that share a key, as they come: of many that are near
    each other, most are never compared.
    """

    def __init__(self, method: Method) -> None:
        self._method = method
        self._index = index_for(method)
        # What was added, but is not in the index yet, with its numbers.
        self._pending, self._pending_numbers = Packed(), array("I")

    def begin(self, sketches: Sequence[bytes | None]) -> None:
        """Start a new batch of *sketches* from `Method.to_bytes`; ``None`` where a page has none.

        Sketches of the previous batch that were not added are forgotten.
        """
        self._store_pending()
        self._sketches = sketches
        present = [(place, sketch) for place, sketch in enumerate(sketches) if sketch is not None]
        places = np.array([place for place, _ in present], np.int64)
        packed = Packed()
        packed.extend([sketch for _, sketch in present])
        self._nearest: dict[int, Match] = {}
        self._candidates = np.zeros(len(sketches), np.int64)
        for rows, pages, distances in self._index.compare_many(packed):
            self._candidates += np.bincount(places[rows], minlength=len(sketches))
            near = distances <= self._method.max_distance
            columns = places[rows[near]], pages[near], distances[near]
            for place, *match in zip(*(column.tolist() for column in columns), strict=True):
                found = Match(*match)
                self._nearest[place] = min(self._nearest.get(place, found), found)
        keys, counts, payloads = self._method.keys_of_many(packed)
        self._payloads = dict(zip(places.tolist(), payloads, strict=True))
        _, which, sizes = np.unique(keys, return_inverse=True, return_counts=True)
        is_shared = sizes[which] > 1
        # By place, the keys that others of the batch have, too; as arbitrary numbers.
        self._shared: defaultdict[int, list[int]] = defaultdict(list)
        of_keys = np.repeat(places, counts)[is_shared].tolist()
        for place, key in zip(of_keys, which[is_shared].tolist(), strict=True):
            self._shared[place].append(key)
        # Of what was added in this batch: places by such keys, numbers by place.
        self._places: defaultdict[int, list[int]] = defaultdict(list)
        self._numbers: dict[int, int] = {}

    def query(self, place: int) -> Match | None:
        """Return what `Index.query` would for the sketch at *place*, which was not added yet."""
        nearest = self._nearest.get(place)
        if (keys := self._shared.get(place)) is None:
            return nearest
        added = sorted({other for key in keys for other in self._places.get(key, ())})
        if not added:
            return nearest
        most = self._method.candidates_per_key
        if most is not None and self._candidates[place] + len(added) > most:
            # The latest candidates of some key may have changed.
            self._store_pending()
            return self._index.query(self._method.from_bytes(self._sketches[place] or b""))
        payloads = [self._payloads[other] for other in added]
        own = [self._payloads[place]] * len(added)
        distances = self._method.distances_of_pairs(own, payloads)
        matches = [
            Match(self._numbers[added[row]], distances[row].item())
            for row in np.flatnonzero(distances <= self._method.max_distance).tolist()
        ]
        return min([*matches, nearest] if nearest else matches, default=None)

    def add(self, place: int, number: int) -> None:
        """Store the sketch at *place* in the batch under a *number*, higher than those before."""
        self._pending.append(self._sketches[place] or b"")
        self._pending_numbers.append(number)
        for key in self._shared.get(place, ()):
            self._places[key].append(place)
        self._numbers[place] = number

    def _store_pending(self) -> None:
        if len(self._pending):
            self._index.add_many(self._pending, self._pending_numbers)
            self._pending, self._pending_numbers = Packed(), array("I")
