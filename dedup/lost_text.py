"""How much of the text of dropped pages stands in no kept page, estimated in bounded memory."""

import math
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from struct import Struct, unpack
from typing import Any, NamedTuple

import numpy as np

from dedup.arrays import Array
from dedup.methods.hashing import PLAIN, Hashing, mix
from dedup.methods.shingles import shingle_hashes_of
from dedup.text import Document
from dedup.units import count_of

_ALL = 2**64
_WORDS = 3
# As many as a number of 8 bits tells apart.
_TEXTS_AT_ONCE = 256


class Sequences(NamedTuple):
    """The 3-word sequences of a text: how many different ones, and a sample of them.

    *different* is exact. *sample* has the hashes below 2^64 / 2^*halvings*, each once and in
    ascending order, as 8 bytes in little-endian order. A text of fewer words is one sequence, one
    without words has none.
    """

    different: int
    halvings: int
    sample: bytes

    def to_bytes(self) -> bytes:
        """Return what `from_bytes` takes."""
        return _HEAD.pack(self.different, self.halvings) + self.sample

    @classmethod
    def from_bytes(cls, data: bytes) -> "Sequences":
        """Return the sequences that `to_bytes` wrote; raises ValueError for anything else."""
        if len(data) >= _HEAD.size:
            different, halvings = _HEAD.unpack_from(data)
            sample = data[_HEAD.size :]
            hashes = len(sample) // 8
            if not len(sample) % 8 and hashes <= different and halvings < 64:
                return cls(different, halvings, sample)
        raise ValueError(f"must be sequences as they were written, got {data!r:.200}")


_HEAD = Struct("<IB")


def sequences_of(
    documents: Sequence[Document], halvings: int = 0, hashing: Hashing = PLAIN
) -> list[Sequences]:
    """Return the sequences of each text; together, they take less time than one by one."""
    shingles, counts = shingle_hashes_of(documents, _WORDS, hashing)
    # Mixed once more: who samples by the same hashes as a sketch would sample what that saw.
    hashes = mix(shingles ^ _SALT)
    if len(counts) == 1:
        return [_sequences_of_one(hashes, halvings)]
    texts = np.repeat(np.arange(len(counts), dtype=np.uint32), counts)
    different = _count_different(hashes, texts, len(counts))
    is_sampled = hashes <= np.uint64((_ALL >> halvings) - 1)
    hashes, texts = hashes[is_sampled], texts[is_sampled]
    order = np.lexsort((hashes, texts))
    hashes, texts = hashes[order], texts[order]
    is_first = np.ones(len(hashes), np.bool_)
    is_first[1:] = (hashes[1:] != hashes[:-1]) | (texts[1:] != texts[:-1])
    hashes, texts = hashes[is_first], texts[is_first]
    data = hashes.astype("<u8").tobytes()
    ends = [0, *(8 * np.cumsum(np.bincount(texts, minlength=len(counts)))).tolist()]
    return [
        Sequences(count, halvings, data[start:end])
        for count, start, end in zip(different, ends, ends[1:], strict=False)
    ]


def _sequences_of_one(hashes: Array, halvings: int) -> Sequences:
    hashes.sort()
    is_first = np.ones(len(hashes), np.bool_)
    np.not_equal(hashes[1:], hashes[:-1], out=is_first[1:])
    below = _count_below(hashes, _ALL >> halvings)
    sample = hashes[:below][is_first[:below]].astype("<u8").tobytes()
    return Sequences(int(np.count_nonzero(is_first)), halvings, sample)


def _count_different(hashes: Array, texts: Array, count: int) -> list[int]:
    """Return how many different ones of *hashes* each of *count* texts has, by 56 of their bits."""
    different = []
    for first in range(0, count, _TEXTS_AT_ONCE):
        start, end = np.searchsorted(texts, (first, first + _TEXTS_AT_ONCE))
        own = (texts[start:end] - first).astype(np.uint64)
        # One sort for all texts: their numbers come first.
        both = own << np.uint64(56) | hashes[start:end] >> np.uint64(8)
        both.sort()  # np.unique takes three times as long
        is_first = np.ones(len(both), np.bool_)
        is_first[1:] = both[1:] != both[:-1]
        numbers = (both[is_first] >> np.uint64(56)).astype(np.intp)
        different += np.bincount(numbers, minlength=min(_TEXTS_AT_ONCE, count - first)).tolist()
    return different


def _count_below(hashes: Array, threshold: int) -> int:
    return int(np.searchsorted(hashes, np.uint64(threshold - 1), side="right"))


class LostText(NamedTuple):
    """How much text was lost with the dropped pages, in 3-word sequences.

    *sequences*: how many the dropped pages have, each once a page; exact. *share*: of these, the
    part that stands in no kept page, and *error*, twice its standard error: the exact share lies
    within *error* of it in some 95 of 100 crawls. 0 if all sequences were looked at.
    """

    sequences: int
    share: float
    error: float

    def __str__(self) -> str:
        if not self.sequences:
            return "no text"
        sequences = count_of(self.sequences, "three-word sequence")
        return f"{sequences}, {self.percent} of them nowhere stored"

    @property
    def percent(self) -> str:
        """The share with its error, for people.

        >>> LostText(1_106_579, 0.025, 0.002).percent, LostText(9, 0.25, 0).percent
        ('2.5 % (± 0.2)', '25 %')
        """
        error = f" (± {_percent(self.error)})" if self.error else ""
        return f"{_percent(self.share)} %{error}"


def _percent(share: float) -> str:
    percent = 100 * share
    if 0 < percent < 0.01:
        return "below 0.01"
    return f"{percent:.{0 if percent >= 10 or not percent else 1 if percent >= 0.1 else 2}f}"


class LossyDrop(NamedTuple):
    """A dropped page, what it was dropped for, and about how many sequences were lost with it."""

    key: str
    original: str
    lost: float
    sequences: int


class LostTextSample:
    """A sample of the sequences of all pages, by which `LostText` is estimated.

    It has every sequence whose hash is below a threshold, 2^64 / 2^`halvings`. So whether one of
    them was seen in a kept page is known exactly, and each different sequence is as likely to be in
    it as any other. When there are more than *most*, the threshold is halved. A kept page counts
    whether it came before the dropped one or after it.

    Takes some 100 bytes for each of *most*, and up to 1.6 MB for the drops it remembers.

    Source: Gibbons, "Distinct Sampling for Highly-Accurate Answers to Distinct Values Queries and
    Event Reports", VLDB 2001; the error is that of a ratio: Cochran, "Sampling Techniques", 1977,
    section 2.11.
    """

    drops_remembered = 100
    """Of so many drops, those that seemed to lose most, the loss is estimated one by one."""

    hashes_of_a_drop = 1024
    """By so many of its sequences at most."""

    def __init__(self, most: int = 1 << 16) -> None:
        """Create an empty sample; raises ValueError if *most* is below 1."""
        if most < 1:
            raise ValueError(f"most must be at least 1, got {most}")
        self._most = most
        self.halvings = 0
        self._kept: set[int] = set()
        # How many dropped pages have each sequence.
        self._dropped: Counter[int] = Counter()
        self._sequences = 0
        self._drops: list[tuple[float, str, str, int, Array]] = []

    def add_kept(self, sequences: Sequences) -> None:
        """Take note of a page that is stored."""
        values = self._cut_to_sample(sequences)  # this may replace the sets
        self._kept.update(values)
        self._shrink()

    def add_dropped(self, sequences: Sequences, key: str = "", original: str = "") -> None:
        """Take note of a page *key* that was dropped for *original*."""
        values = self._cut_to_sample(sequences)
        self._sequences += sequences.different
        self._dropped.update(values)
        lost = len(set(values) - self._kept) * self._factor
        if lost:
            first = np.array(values[: self.hashes_of_a_drop], np.uint64)
            self._remember((lost, key, original, sequences.different, first))
        self._shrink()

    def result(self) -> LostText:
        """Return the estimate for the pages so far."""
        weights = np.fromiter(self._dropped.values(), np.float64, len(self._dropped))
        is_lost = np.fromiter((value not in self._kept for value in self._dropped), np.bool_)
        total = float(weights.sum())
        if not total:
            return LostText(self._sequences, 0.0, 1.0 if self._sequences else 0.0)
        share = float(weights[is_lost].sum()) / total
        if self._factor == 1:
            return LostText(self._sequences, share, 0.0)
        # Two sequences of mean weight more of each kind: else where none was lost, none could be.
        squares = float((weights**2).sum())
        mean = squares / total
        near = (share * total + 2 * mean) / (total + 4 * mean)
        spread = float((weights**2 * (is_lost - near) ** 2).sum()) + 2 * mean**2 * (
            near**2 + (1 - near) ** 2
        )
        error = 2 * math.sqrt((1 - 1 / self._factor) * spread) / (total + 4 * mean)
        return LostText(self._sequences, share, error + abs(near - share))

    def lossiest(self, count: int = 10) -> list[LossyDrop]:
        """Return the drops that lost most text, the worst first, by what is kept now."""
        drops = sorted(self._lossy_drops(), key=lambda drop: (-drop.lost, drop.key))
        return drops[:count]

    def _lossy_drops(self) -> Iterator[LossyDrop]:
        for _, key, original, count, sampled in self._drops:
            values = sampled[: _count_below(sampled, self._threshold)].tolist()
            if lost := len(set(values) - self._kept):
                yield LossyDrop(key, original, count * lost / len(values), count)

    def _remember(self, drop: tuple[float, str, str, int, Array]) -> None:
        self._drops.append(drop)
        if len(self._drops) >= 2 * self.drops_remembered:
            self._drops.sort(key=lambda one: -one[0])
            del self._drops[self.drops_remembered :]

    def _cut_to_sample(self, sequences: Sequences) -> list[int]:
        """Return the hashes in the sample, which has no more than that of *sequences* from now."""
        self._halve(sequences.halvings)
        data = sequences.sample
        hashes = list(unpack(f"<{len(data) // 8}Q", data))
        if sequences.halvings < self.halvings:
            del hashes[bisect_left(hashes, self._threshold) :]
        return hashes

    def _shrink(self) -> None:
        while len(self) > self._most:
            self._halve(self.halvings + 1)

    def _halve(self, halvings: int) -> None:
        """Have the threshold halved so many times in all, if it was fewer times."""
        if halvings <= self.halvings:
            return
        self.halvings = halvings
        below = self._threshold
        self._kept = {value for value in self._kept if value < below}
        dropped = self._dropped.items()
        self._dropped = Counter({value: pages for value, pages in dropped if value < below})

    @property
    def _threshold(self) -> int:
        return _ALL >> self.halvings

    @property
    def _factor(self) -> float:
        """How many sequences each one of the sample stands for."""
        return _ALL / self._threshold

    def __len__(self) -> int:
        """Return the number of sequences in the sample, those of kept and dropped pages twice."""
        return len(self._kept) + len(self._dropped)


def lost_with(
    pairs: Iterable[tuple[int, int]], texts: Sequence[Sequences], order: Sequence[int]
) -> LostText:
    """Return what is lost of *texts* if copies are dropped, by *pairs* of numbers of texts.

    Of two in a pair, the later one in *order*, which has all numbers, is dropped, if the earlier
    one is kept.
    """
    places = {number: place for place, number in enumerate(order)}
    earlier = defaultdict(list)
    for pair in pairs:
        original, copy = sorted(pair, key=places.__getitem__)
        earlier[copy].append(original)
    sample = LostTextSample()
    dropped: set[int] = set()
    for number in order:
        if set(earlier.get(number, ())) - dropped:
            dropped.add(number)
            sample.add_dropped(texts[number])
        else:
            sample.add_kept(texts[number])
    return sample.result()


_SALT: Any = np.uint64(0x9E3779B97F4A7C15)
