"""Which sketches may match, by a few bits of each of their components."""

from collections.abc import Iterator

import numpy as np

from dedup.arrays import Array
from dedup.methods.base import Components
from dedup.spark.pairs.pairs import Pairs, joined

_ROWS_AT_ONCE = 1 << 16
# So that what is compared at once fits into the processor's cache.
_PLACES_AT_ONCE = 1 << 15
# All but one in 16 of components that differ do in one of so many bits.
_BITS_OF_COMPONENT = 4


class Sieve:
    """Which of many sketches may match, by the bits of their components: some ns a pair.

    None that match are missed. Of components that are no bits, the lowest bits are compared.
    """

    def __init__(self, planes: Array, most: int) -> None:
        """Take bits, shape (planes, words, n), uint64: places differ if they do in one plane."""
        self._planes = planes
        self._most = most

    @classmethod
    def of(cls, components: Components) -> "Sieve":
        values = components.values
        if components.are_bits:
            planes = [np.ascontiguousarray(values)]
        else:
            one = values.dtype.type(1)
            planes = [
                np.packbits((values >> values.dtype.type(bit) & one).astype(np.uint8), axis=1)
                for bit in range(_BITS_OF_COMPONENT)
            ]
        return cls(np.stack([_as_words(plane) for plane in planes]), components.most)

    def of_members(self, members: Array) -> "Sieve":
        """Return one that knows these *members* only, in this order."""
        return Sieve(self._planes[:, :, members], self._most)

    def sift(self, pairs: Pairs) -> Pairs:
        """Return those of *pairs* that may match."""
        earlier, later = pairs
        differing = np.zeros(len(earlier), np.int64)
        for word in range(self._planes.shape[1]):
            differs = np.zeros(len(earlier), np.uint64)
            for plane in self._planes[:, word]:
                differs |= plane[earlier] ^ plane[later]
            differing += np.bitwise_count(differs)
        may = differing <= self._most
        return Pairs(earlier[may], later[may])

    def pairs_of_leaders(self, first: int, last: int) -> Pairs:
        """Return those of `pairs_of_leaders` that may match."""
        end = self._planes.shape[2]
        found = [Pairs(np.empty(0, np.intp), np.empty(0, np.intp))]
        for leader in range(first, last):
            for start in range(leader + 1, end, _PLACES_AT_ONCE):
                later = self._near(leader, start, min(start + _PLACES_AT_ONCE, end))
                if len(later):
                    found.append(Pairs(np.full(len(later), leader), later))
        return joined(found)

    def pairs_of_all(self) -> Iterator[Pairs]:
        """Yield the pairs that may match, a part of them at a time."""
        size = self._planes.shape[2]
        step = max(1, _ROWS_AT_ONCE // size)
        for first in range(0, size, step):
            yield self.pairs_of_leaders(first, min(first + step, size))

    def _near(self, leader: int, start: int, end: int) -> Array:
        """Return which from *start* to before *end* may match *leader*."""
        words, size = self._planes.shape[1], end - start
        differs, in_plane = np.empty((2, size), np.uint64)
        in_word, differing = np.empty(size, np.uint8), np.zeros(size, np.uint16)
        for word in range(words):
            own = self._planes[:, word, leader]
            np.bitwise_xor(self._planes[0, word, start:end], own[0], out=differs)
            for plane in range(1, len(own)):
                np.bitwise_xor(self._planes[plane, word, start:end], own[plane], out=in_plane)
                differs |= in_plane
            differing += np.bitwise_count(differs, out=in_word)
            # Most that differ at all differ in too much by now.
            if 2 * (word + 1) == words:
                [left] = np.nonzero(differing <= self._most)
                if 8 * len(left) < size:
                    pairs = Pairs(np.full(len(left), leader), left + start)
                    return self.sift(pairs).later
        return np.flatnonzero(differing <= self._most) + start


def _as_words(octets: Array) -> Array:
    """Return rows of bytes as columns of words, shape (words, n), uint64."""
    rows = np.zeros((len(octets), -(-octets.shape[1] // 8) * 8), np.uint8)
    rows[:, : octets.shape[1]] = octets
    return np.ascontiguousarray(rows.view("<u8").astype(np.uint64).T)
