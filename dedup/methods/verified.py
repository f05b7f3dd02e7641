"""Candidates by MinHash bands, verified on a small sketch of shingles, numbers and length."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dedup.arrays import Array, Packed, unique_pairs
from dedup.methods.arguments import fixed, share
from dedup.methods.base import BytesMethod, as_rows
from dedup.methods.hashing import PLAIN, Hashing, mix, seeds
from dedup.methods.one_permutation import bin_minimums, one_bit_signatures
from dedup.methods.shingles import ShingleMethod
from dedup.words import Words

_OTHER_DIGIT = re.compile(r"[^\D0-9]")
_BANDS, _ROWS = 12, 3
_KEY_BYTES = 3
_SIGNATURE_BITS = 1024
_NUMBERS = 16
# Fills the places of missing numbers; no number has this hash.
_NO_NUMBER = 2**16 - 1
_NUMBER = 2**32 - 1
_REPLACED = 10.0
_CHECKED = np.dtype(
    [
        ("tokens", "<u2"),
        ("numbers", "<u2"),
        ("least_numbers", "<u2", (_NUMBERS,)),
        ("signature", "u1", (_SIGNATURE_BITS // 8,)),
    ]
)


@dataclass(eq=False)
class Verified(ShingleMethod, BytesMethod):
    """Near-duplicates by their shingles and by the numbers that were replaced.

    The distance of two pages is 1 - J + 10 * sqrt(R) / N. J is the Jaccard similarity of their
    3-word shingles, estimated by 1,024 one-bit minimums with a standard deviation of .03. R is the
    number of numbers that the page with fewer numbers has and the other page lacks. N is the number
    of tokens of the shorter page. Pages are compared if they share one of 12 bands of 3 minimums:
    with a probability of .95 at J = .6, .98 at .65 and .998 at .75.

    The reasons, from the labelled collections (docs/methods.md):

    * The exact J separates copies from other pages on all of them, at nearly the same threshold; a
      distance of fingerprints does so on none.
    * One-bit minimums are the best estimate for their size. With a single hash function, 1,024 of
      them cost no more than the 64 sums of a simhash.
    * J fails for reports that are published again with other figures. If a copy was shortened or
      continued, one page contains all numbers of the other; in such reports they are replaced. A
      number matters more in a shorter text: one number distinguishes two notices of 50 words, but a
      new version number does not make a new manual. (With a factor from 6 to 15, no F1 changes by
      more than .01.)

    Pages of one template with few words of their own share their bands, however many there are. A
    page is compared with the 128 latest pages of each band. So among thousands of such pages, one
    that repeats an old page may be stored again, unless it is an exact duplicate.
    """

    name = "verified"
    version = 2
    candidates_per_key = 128
    sweep = ("max_distance", tuple(round(0.05 * step, 2) for step in range(1, 15)))

    max_distance: float = share(0.4)
    width: int = fixed(3)

    def sketches_of_shingles(self, hashes: Array, counts: Array, words: Words) -> list[bytes]:
        """Return of each text its block keys, and what is compared, of the dtype above."""
        tokens = words.counts[words.counts > 0]
        numbers, sizes = number_hashes(words, self.hashing)
        sizes = sizes[words.counts > 0]
        rank = np.arange(len(numbers)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        are_least = rank < _NUMBERS
        text = np.repeat(np.arange(len(sizes)), sizes)[are_least]
        checked = np.zeros(len(counts), _CHECKED)
        checked["tokens"] = np.minimum(tokens, 2**16 - 1)
        checked["numbers"] = np.minimum(sizes, 2**16 - 1)
        checked["least_numbers"] = _NO_NUMBER
        checked["least_numbers"][text, rank[are_least]] = numbers[are_least]
        checked["signature"] = one_bit_signatures(hashes, counts, _SIGNATURE_BITS)
        octets = checked.view(np.uint8).reshape(len(checked), -1)
        # Mixed once more, so that the bins are independent of those of the signature.
        minimums = bin_minimums(mix(hashes), counts, _BANDS * _ROWS).reshape(-1, _BANDS, _ROWS)
        keys = seeds(_BANDS)
        for row in range(_ROWS):
            keys = mix(keys ^ minimums[:, :, row])
        of_keys = keys.astype("<u8").view(np.uint8).reshape(-1, _BANDS, 8)[:, :, :_KEY_BYTES]
        return list(Packed.of_rows(np.hstack([of_keys.reshape(len(octets), -1), octets])))

    def payload(self, sketch: bytes) -> bytes:
        return sketch[-_CHECKED.itemsize :]

    def distances_of_pairs(self, payloads: Sequence[bytes], others: Any) -> Array:
        pages, others = (np.frombuffer(b"".join(side), _CHECKED) for side in (payloads, others))
        differing = np.bitwise_count(pages["signature"] ^ others["signature"])
        distances: Array = 2 * differing.sum(axis=1, dtype=np.int64) / _SIGNATURE_BITS
        # Most candidates are too far away even without the numbers.
        is_near = distances <= self.max_distance
        # If one page has no numbers, none were replaced.
        near = np.flatnonzero(is_near & (others["numbers"] > 0) & (pages["numbers"] > 0))
        if not len(near):
            return distances
        pages, others = pages[near], others[near]
        tokens = np.minimum(pages["tokens"], others["tokens"])
        distances[near] += _REPLACED * np.sqrt(_count_replaced_numbers(pages, others)) / tokens
        return distances

    def keys_of_many(self, sketches: Sequence[bytes]) -> tuple[Any, Any, Sequence[bytes]]:
        end = _KEY_BYTES * _BANDS
        octets = as_rows(sketches, end + _CHECKED.itemsize)
        units = 1 << 8 * np.arange(_KEY_BYTES, dtype=np.uint64)
        keys = np.sort(octets[:, :end].reshape(-1, _BANDS, _KEY_BYTES) @ units, axis=1)
        # With so few bits, two bands may have the same key by chance.
        is_first = np.ones(keys.shape, np.bool_)
        is_first[:, 1:] = keys[:, 1:] != keys[:, :-1]
        return keys[is_first], is_first.sum(axis=1), Packed.of_rows(octets[:, end:])


def number_hashes(words: Words, hashing: Hashing = PLAIN) -> tuple[Array, Array]:
    """Return the unique 16-bit hashes of the tokens with a digit: text by text, and sorted.

    Also returned is how many each text has, shape (texts,), int64. Each repetition of a number has
    another hash, as in a multiset.
    """
    octets = np.frombuffer(words.data, np.uint8)
    places = words.at(np.flatnonzero(octets - np.uint8(ord("0")) < 10))
    if not words.data.isascii() and _OTHER_DIGIT.search(words.data.decode()):
        others = words.at(np.flatnonzero(octets >= 128))
        has_digit = [bool(_OTHER_DIGIT.search(token.decode())) for token in words.tokens(others)]
        places = np.union1d(places, others[has_digit])
    texts = np.searchsorted(np.cumsum(words.counts), places, "right")
    tokens = words.tokens(places)
    different = {token: number for number, token in enumerate(dict.fromkeys(tokens))}
    numbers = np.fromiter(map(different.__getitem__, tokens), np.int64, len(tokens))
    order = np.lexsort((numbers, texts))
    texts, numbers = texts[order], numbers[order]
    is_first = np.ones(len(order), np.bool_)
    is_first[1:] = (texts[1:] != texts[:-1]) | (numbers[1:] != numbers[:-1])
    repetitions = np.arange(len(order)) - np.flatnonzero(is_first)[np.cumsum(is_first) - 1]
    # Years and small numbers are in many texts.
    features, which = np.unique(repetitions << 32 | numbers, return_inverse=True)
    names = list(different)
    hashes = hashing.feature_hashes(
        [f"{names[feature & _NUMBER].decode()}\x01{feature >> 32}" for feature in features.tolist()]
    )
    least = np.minimum(hashes >> np.uint64(48), np.uint64(_NO_NUMBER - 1))
    texts, values = unique_pairs(texts, least[which])
    return values, np.bincount(texts, minlength=len(words.counts))


def _count_replaced_numbers(pages: Any, others: Any) -> Any:
    """Return how many numbers of the page with fewer the other page lacks, shape (n,), float64.

    *pages*, *others*: shape (n,). Exact for up to 16 numbers; beyond, estimated from the 16 lowest
    hashes of both pages together.

    Source: Broder, "On the Resemblance and Containment of Documents", SEQUENCES 1997, section 3.
    """
    least = [pages["least_numbers"], others["least_numbers"]]
    together = np.sort(np.concatenate(least, axis=1), axis=1)
    is_number = together != _NO_NUMBER
    # Equal neighbours are one number that both pages have.
    is_repeated = np.zeros_like(is_number)
    is_repeated[:, 1:] = (together[:, 1:] == together[:, :-1]) & is_number[:, 1:]
    rank = np.cumsum(is_number & ~is_repeated, axis=1)
    counts = np.stack([others["numbers"], pages["numbers"]])
    considered = np.where(counts.max(axis=0, initial=0) > _NUMBERS, _NUMBERS, 2 * _NUMBERS)
    shared = (is_repeated & (rank <= considered[:, None])).sum(axis=1)
    jaccard = shared / np.maximum(1, np.minimum(rank[:, -1], considered))
    in_both = jaccard / (1 + jaccard) * counts.sum(axis=0, dtype=np.int64)
    return np.maximum(0.0, counts.min(axis=0) - in_both)
