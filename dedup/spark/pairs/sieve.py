"""Which sketches may match, by a few bits of each of their components."""

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from dedup.arrays import Array
from dedup.methods.base import Components
from dedup.spark.pairs.pairs import Pairs, joined

_LEADERS_AT_ONCE = 64
_PAIRS_AT_ONCE = 1 << 16
# So that what is compared at once fits into the processor's cache.
_PLACES_AT_ONCE = 1 << 14
_WORDS_AT_ONCE = 4
# To sift a pair takes as long as to compare so many words where all pairs are compared.
_WORDS_TO_SIFT = 80
_SAMPLE = 1 << 12
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
        differing = np.zeros(len(earlier), np.uint16)
        words = self._planes.shape[1]
        for word in range(words):
            first, *others = self._planes[:, word]
            differs = first[earlier] ^ first[later]
            for plane in others:
                differs |= plane[earlier] ^ plane[later]
            differing += np.bitwise_count(differs)
            if word == words - 1 or word % _WORDS_AT_ONCE == _WORDS_AT_ONCE - 1:
                may = differing <= self._most
                earlier, later, differing = earlier[may], later[may], differing[may]
        return Pairs(earlier, later)

    def pairs_of_leaders(self, first: int, last: int) -> Pairs:
        """Return those of `pairs_of_leaders` that may match."""
        size = self._planes.shape[2]
        found = [Pairs(np.empty(0, np.intp), np.empty(0, np.intp))]
        # All leaders are compared with some places while these are in the processor's cache.
        for start in range(first + 1, size, _PLACES_AT_ONCE):
            end = min(start + _PLACES_AT_ONCE, size)
            for leader, later in self._near(range(first, min(last, end - 1)), start, end):
                found.append(Pairs(np.full(len(later), leader), later))
        pairs = joined(found)
        return pairs if self._words_first == self._planes.shape[1] else self.sift(pairs)

    def pairs_of_all(self) -> Iterator[Pairs]:
        """Yield the pairs that may match, a part of them at a time."""
        size = self._planes.shape[2]
        first, leaders = 0, 1
        while first < size:
            pairs = self.pairs_of_leaders(first, min(first + leaders, size))
            yield pairs
            first += leaders
            are_few = len(pairs.earlier) < _PAIRS_AT_ONCE
            leaders = min(2 * leaders, _LEADERS_AT_ONCE) if are_few else max(1, leaders // 2)

    def _near(self, leaders: range, start: int, end: int) -> Iterator[tuple[int, Array]]:
        """Yield of each of *leaders* which later places from *start* to before *end* may match.

        They are told by the first few words.
        """
        planes = self._planes[:, : self._words_first]
        part = planes[:, :, start:end]
        differs, in_plane = np.empty((2, *part.shape[1:]), np.uint64)
        in_words = np.empty(part.shape[1:], np.uint8)
        differing = np.empty(end - start, np.uint16)
        may = np.empty(end - start, np.bool_)
        for leader in leaders:
            own = planes[:, :, leader, None]
            np.bitwise_xor(part[0], own[0], out=differs)
            for plane, of_leader in zip(part[1:], own[1:], strict=True):
                differs |= np.bitwise_xor(plane, of_leader, out=in_plane)
            np.bitwise_count(differs, out=in_words)
            np.add.reduce(in_words, axis=0, dtype=np.uint16, out=differing)
            np.less_equal(differing, self._most, out=may)
            may[: max(0, leader + 1 - start)] = False
            if may.any():
                yield leader, np.flatnonzero(may) + start

    @cached_property
    def _words_first(self) -> int:
        """How many words are compared of all pairs: as few as tell most pairs apart."""
        words, size = self._planes.shape[1:]
        ones, others = np.random.default_rng(0).integers(0, size, (2, _SAMPLE))
        differs = np.bitwise_or.reduce(self._planes[:, :, ones] ^ self._planes[:, :, others])
        differing = np.cumsum(np.bitwise_count(differs), axis=0, dtype=np.uint16)
        left = (differing <= self._most).mean(axis=1)
        costs = np.arange(1, words + 1) + _WORDS_TO_SIFT * left
        # All words leave nothing to sift.
        costs[-1] = words
        return int(np.argmin(costs)) + 1


def _as_words(octets: Array) -> Array:
    """Return rows of bytes as columns of words, shape (words, n), uint64."""
    rows = np.zeros((len(octets), -(-octets.shape[1] // 8) * 8), np.uint8)
    rows[:, : octets.shape[1]] = octets
    return np.ascontiguousarray(rows.view("<u8").astype(np.uint64).T)
