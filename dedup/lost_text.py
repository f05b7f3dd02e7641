"""How much of the text of dropped pages stands in no kept page, estimated in bounded memory."""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from struct import Struct
from typing import Any, NamedTuple

import numpy as np

from dedup.arrays import sort_runs
from dedup.methods.hashing import PLAIN, Hashing, mix
from dedup.methods.shingles import shingle_hashes_of
from dedup.text import Document
from dedup.units import Count

_ALL = 2**64
_WORDS = 3
SEQUENCES_OF_A_SAMPLE = 1 << 17
"""So many are in a `LostTextSample`, each as often as pages have it."""


class Sequences(NamedTuple):
    """The 3-word sequences of a text: how many different ones, and a sample of them.

    *different* is exact. *sample* has the hashes below 2^64 / 2^*halvings*, each once and in
    ascending order, as 8 bytes in little-endian order. A text of fewer words is one sequence, one
    without words has none.
    """

    different: int
    halvings: int
    sample: bytes

    @property
    def sampled(self) -> int:
        """How many are in the sample."""
        return len(self.sample) // 8

    def thinned(self, halvings: int) -> "Sequences":
        """Return them with the sample that so many *halvings* leave, if they are more."""
        if halvings <= self.halvings:
            return self
        below = int(_hashes(self.sample).searchsorted(np.uint64(_ALL >> halvings)))
        return Sequences(self.different, halvings, self.sample[: 8 * below])

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


def sure_halvings(sequences: int) -> int:
    """Return how often a `LostTextSample` of so many *sequences* is halved, or less often."""
    return max(0, (sequences // SEQUENCES_OF_A_SAMPLE).bit_length() - 1)


def sequences_of(
    documents: Sequence[Document], hashing: Hashing = PLAIN, halvings: int = 0
) -> list[Sequences]:
    """Return the sequences of each text, with the sample that so many *halvings* leave.

    Together, they take less time than one by one.
    """
    shingles, counts = shingle_hashes_of(documents, _WORDS, hashing)
    # Mixed once more: who samples by the same hashes as a sketch would sample what that saw.
    hashes = mix(shingles ^ _SALT)
    firsts, different = sort_runs(hashes, counts)
    hashes = hashes[firsts]
    is_sampled = hashes <= np.uint64((_ALL >> halvings) - 1)
    data = hashes[is_sampled].astype("<u8").tobytes()
    ends = (8 * np.append(0, np.cumsum(is_sampled))[np.cumsum(different)]).tolist()
    return [
        Sequences(count, halvings, data[start:end])
        for count, start, end in zip(different.tolist(), [0, *ends], ends, strict=False)
    ]


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
        sequences = Count(self.sequences)
        return f"{sequences:three-word sequence}, {self.percent} of them nowhere stored"

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

    It has every sequence whose hash is below a threshold, 2^64 / 2^`halvings`, as often as there
    are pages with it. So whether one of them was seen in a kept page is known exactly, and each
    different sequence is as likely to be in it as any other. When they are more than *most*, the
    threshold is halved. So nothing depends on the order of the pages, and the threshold not on
    which of them are kept either. A kept page counts whether it came before the dropped one or
    after it.

    Takes 8 bytes for each of *most*, and some 400 for each drop that seems to lose one.

    Source: Gibbons, "Distinct Sampling for Highly-Accurate Answers to Distinct Values Queries and
    Event Reports", VLDB 2001; the error is that of a ratio: Cochran, "Sampling Techniques", 1977,
    section 2.11.
    """

    def __init__(self, most: int = SEQUENCES_OF_A_SAMPLE) -> None:
        """Create an empty sample."""
        self._most = most
        self.halvings = 0
        # The samples of all kept pages, and of all dropped ones.
        self._kept, self._dropped = bytearray(), bytearray()
        self._sequences = 0
        # Those that may have a sequence which no kept page has.
        self._drops: list[tuple[str, str, Sequences]] = []
        self._most_drops = _DROPS_AT_ONCE

    def add_kept(self, sequences: Sequences) -> None:
        """Take note of a page that is stored."""
        self._kept += self._cut_to_sample(sequences).sample
        self._keep_small()

    def add_dropped(self, sequences: Sequences, key: str = "", original: str = "") -> None:
        """Take note of a page *key* that was dropped for *original*."""
        own = self._cut_to_sample(sequences)
        self._sequences += own.different
        self._dropped += own.sample
        if own.sample:
            self._drops.append((key, original, own))
        if len(self._drops) > self._most_drops:
            self._drops = [drop for drop, _ in self._lossy_drops()]
            self._most_drops = 2 * len(self._drops) + _DROPS_AT_ONCE
        self._keep_small()

    def cut_for(self, sequences: int) -> None:
        """Have no more than the pages of so many *sequences* have by `sure_halvings`."""
        self._halve(sure_halvings(sequences))

    def result(self) -> LostText:
        """Return the estimate for the pages so far."""
        values, weights = np.unique(_hashes(self._dropped), return_counts=True)
        is_lost = ~self._is_kept(values)
        total = float(weights.sum())
        if not total:
            return LostText(self._sequences, 0.0, 1.0 if self._sequences else 0.0)
        share = float(weights[is_lost].sum()) / total
        if not self.halvings:
            return LostText(self._sequences, share, 0.0)
        # Two sequences of mean weight more of each kind: else where none was lost, none could be.
        squares = float((weights**2).sum())
        mean = squares / total
        near = (share * total + 2 * mean) / (total + 4 * mean)
        # Sums of whole numbers, which are the same in any order.
        lost = float((weights[is_lost] ** 2).sum()) + 2 * mean**2
        stored = squares - float((weights[is_lost] ** 2).sum()) + 2 * mean**2
        spread = lost * (1 - near) ** 2 + stored * near**2
        error = 2 * math.sqrt((1 - 2**-self.halvings) * spread) / (total + 4 * mean)
        return LostText(self._sequences, share, error + abs(near - share))

    def lossiest(self, count: int = 10) -> list[LossyDrop]:
        """Return the drops that lost most text, the worst first, by what is kept now.

        They are those that lost most of the sample. A drop of which the sample has few sequences is
        left out: of very many, some lose all of these by chance, and hardly any text.
        """
        drops = []
        for (key, original, own), lost in self._lossy_drops():
            if own.sampled >= min(own.different, _ENOUGH):
                estimate = own.different * lost / own.sampled
                drops.append((lost, LossyDrop(key, original, estimate, own.different)))
        drops.sort(key=lambda each: (-each[0], -each[1].lost, each[1].key))
        return sorted((drop for _, drop in drops[:count]), key=lambda drop: (-drop.lost, drop.key))

    def _lossy_drops(self) -> list[tuple[tuple[str, str, Sequences], int]]:
        """Return the drops that lose any of the sample, and how many, by what is kept now."""
        samples = b"".join([own.sample for _, _, own in self._drops])
        is_lost = ~self._is_kept(_hashes(samples))
        owners = np.repeat(np.arange(len(self._drops)), [own.sampled for _, _, own in self._drops])
        lost = np.bincount(owners[is_lost], minlength=len(self._drops)).tolist()
        return [pair for pair in zip(self._drops, lost, strict=True) if pair[1]]

    def _is_kept(self, hashes: Any) -> Any:
        """Return which of *hashes* any kept page has."""
        if not self._kept:
            return np.zeros(len(hashes), np.bool_)
        kept = np.sort(_hashes(self._kept))  # np.isin takes six times as long
        return kept.take(kept.searchsorted(hashes), mode="clip") == hashes

    def _cut_to_sample(self, sequences: Sequences) -> Sequences:
        """Return what is in the sample, which has no more than that of *sequences* from now."""
        self._halve(sequences.halvings)
        return sequences.thinned(self.halvings)

    def _keep_small(self) -> None:
        while len(self) > self._most:
            self._halve(self.halvings + 1)

    def _halve(self, halvings: int) -> None:
        """Have the threshold halved so many times in all, if it was fewer times."""
        if halvings <= self.halvings:
            return
        self.halvings = halvings
        below = np.uint64(_ALL >> halvings)
        self._kept, self._dropped = (
            bytearray(hashes[hashes < below].tobytes())
            for hashes in (_hashes(self._kept), _hashes(self._dropped))
        )
        thinned = ((key, original, own.thinned(halvings)) for key, original, own in self._drops)
        self._drops = [drop for drop in thinned if drop[-1].sample]

    def __len__(self) -> int:
        """Return the number of sequences in the sample, each as often as pages have it."""
        return (len(self._kept) + len(self._dropped)) // 8


def _hashes(samples: bytes | bytearray) -> Any:
    return np.frombuffer(samples, "<u8")


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


_DROPS_AT_ONCE = 1000
_ENOUGH = 8
"""So many sequences of a sample tell how much a page has lost."""
_SALT: Any = np.uint64(0x9E3779B97F4A7C15)
