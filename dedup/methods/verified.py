"""Candidates by MinHash bands, verified on a small sketch of shingles, numbers and length."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from dedup.methods.base import KeyMethod, check_share
from dedup.methods.hashing import feature_hashes, mix, seeds, shingle_hashes
from dedup.methods.one_permutation import bin_minimums, one_bit_signature
from dedup.text import Document

_DIGIT = re.compile(r"\d")
_WIDTH = 3
_BANDS, _ROWS = 12, 3
_KEY_BITS, _KEY_BYTES = 24, 3
_SIGNATURE_BITS = 1024
_NUMBERS = 16
_NO_NUMBER = 2**16 - 1
_CHECKED = np.dtype(
    [
        ("tokens", "<u2"),
        ("numbers", "<u2"),
        ("least_numbers", "<u2", (_NUMBERS,)),
        ("signature", "u1", (_SIGNATURE_BITS // 8,)),
    ]
)


class VerifiedSketch(NamedTuple):
    """The block keys of a page, and what it is compared by (of the dtype above, as bytes)."""

    bands: tuple[int, ...]
    checked: bytes


class Verified(KeyMethod):
    """Near-duplicates by their shingles, unless they are one form filled in with other numbers.

    Two pages match if the Jaccard similarity of their 3-word shingles is at least 1 -
    *max_distance*, as 1,024 one-bit minimums estimate it (with a standard deviation of .03), and if
    their numbers do not tell otherwise. They are compared if they share one of 12 bands of 3
    minimums: with a probability of .98 at a similarity of .65 and of .998 at .75.

    Why so, by the labelled collections (docs/methods.md):

    * The exact similarity of 3-word shingles separates copies from other pages on every one of
      them, with nearly the same threshold; a distance of fingerprints does so on none.
    * MinHash bands find .998 of these pairs. A simhash search up to distance 10 finds .975 of them
      among news, and meets a hundred times as many candidates.
    * One-bit minimums estimate it best for their size. Of one hash function, 1,024 cost as much as
      a simhash.
    * What exact similarity gets wrong are reports that come out again with other figures. In a copy
      that was shortened or continued, the numbers of the one are among those of the other; in such
      reports they are replaced. So numbers are compared by containment: in pages of fewer than 64
      tokens at least .9 of them must be the same, in longer ones .75, where the similarity is below
      .7. (Longer pages that are equal but for their numbers are mostly versions of one page.)
    """

    name = "verified"
    version = 1
    key_bits = _KEY_BITS
    sweep = ("max_distance", tuple(round(0.05 * step, 2) for step in range(1, 15)))

    def __init__(self, max_distance: float = 0.4) -> None:
        """Create the method with the inclusive threshold *max_distance*, from 0 to 1.

        Raises ValueError if *max_distance* is outside that range.
        """
        check_share("max_distance", max_distance)
        self.max_distance = max_distance

    def sketch(self, document: Document) -> VerifiedSketch | None:
        """Return the sketch of *document*, or ``None`` if it has no tokens."""
        if not document.tokens:
            return None
        shingles = np.unique(shingle_hashes(document.tokens, _WIDTH))
        numbers = number_hashes(document.tokens)
        checked = np.zeros((), _CHECKED)
        checked["tokens"] = min(len(document.tokens), 2**16 - 1)
        checked["numbers"] = min(len(numbers), 2**16 - 1)
        checked["least_numbers"] = _NO_NUMBER
        checked["least_numbers"][: len(numbers)] = np.sort(numbers)[:_NUMBERS]
        checked["signature"] = one_bit_signature(shingles, _SIGNATURE_BITS)
        return VerifiedSketch(_bands(shingles), checked.tobytes())

    def keys(self, sketch: VerifiedSketch) -> Iterable[int]:
        return sketch.bands

    def distance(self, one: VerifiedSketch, other: VerifiedSketch) -> float:
        return self.distances(one, [other.checked])[0]

    def kept(self, sketch: VerifiedSketch) -> bytes:
        return sketch.checked

    def distances(self, sketch: VerifiedSketch, kept: Sequence[bytes]) -> list[float]:
        one = np.frombuffer(sketch.checked, _CHECKED)
        others = np.frombuffer(b"".join(kept), _CHECKED)
        differing = np.bitwise_count(one["signature"] ^ others["signature"])
        distance = 2 * differing.sum(axis=1, dtype=np.int64) / _SIGNATURE_BITS
        # Most candidates are too far anyway.
        for place in np.flatnonzero(distance <= self.max_distance).tolist():
            if not _numbers_agree(one[0], others[place], distance[place]):
                distance[place] = np.inf
        return distance.tolist()  # type: ignore[no-any-return]

    def to_bytes(self, sketch: VerifiedSketch) -> bytes:
        keys = b"".join(key.to_bytes(_KEY_BYTES, "little") for key in sketch.bands)
        return keys + sketch.checked

    def from_bytes(self, data: bytes) -> VerifiedSketch:
        ends = range(_KEY_BYTES, _KEY_BYTES * _BANDS + 1, _KEY_BYTES)
        bands = tuple(int.from_bytes(data[end - _KEY_BYTES : end], "little") for end in ends)
        return VerifiedSketch(bands, data[_KEY_BYTES * _BANDS :])


_SHORT = 64


def _bands(shingles: Any) -> tuple[int, ...]:
    # Other bins than those of the signature: hashed once more.
    minimums = bin_minimums(mix(shingles), _BANDS * _ROWS).reshape(_BANDS, _ROWS)
    keys = seeds(_BANDS)
    for row in range(_ROWS):
        keys = mix(keys ^ minimums[:, row])
    return tuple((keys & np.uint64(2**_KEY_BITS - 1)).tolist())


def number_hashes(tokens: Iterable[str]) -> Any:
    """Return a 16-bit hash, shape (n,), of every token that has a digit.

    A number that comes again has another hash each time, as in a multiset.
    """
    counts = Counter(filter(_DIGIT.search, tokens))
    numbers = [f"{number}\x01{i}" for number, count in counts.items() for i in range(count)]
    return (feature_hashes(numbers, len(numbers)) >> np.uint64(48)).astype(np.uint16)


def _numbers_agree(one: Any, other: Any, distance: float) -> bool:
    if min(one["tokens"], other["tokens"]) < _SHORT:
        return _containment(one, other) >= 0.9
    return distance <= 0.3 or _containment(one, other) >= 0.75


def _containment(one: Any, other: Any) -> float:
    """Return the share of the numbers of the page with fewer that the other page has, too.

    Exact for up to 16 numbers; of more, by the 16 least hashes of both pages together. 1 if a page
    has no number.

    Source: Broder, "On the Resemblance and Containment of Documents", SEQUENCES 1997, section 3.
    """
    counts = int(one["numbers"]), int(other["numbers"])
    if not min(counts):
        return 1.0
    own, theirs = one["least_numbers"].tolist(), other["least_numbers"].tolist()
    least = sorted({*own, *theirs} - {_NO_NUMBER})
    if max(counts) > _NUMBERS:
        least = least[:_NUMBERS]
    jaccard = len({*least}.intersection(own, theirs)) / len(least)
    return min(1.0, jaccard / (1 + jaccard) * sum(counts) / min(counts))
