"""Containment: how much of a page stands in another one, estimated from a sample of shingles."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass

import numpy as np

from dedup.arrays import Array
from dedup.methods.arguments import share, whole
from dedup.methods.base import ArrayMethod
from dedup.methods.digests import join_numbers
from dedup.methods.shingles import ShingleMethod
from dedup.words import Words

# One of so many hashes is a block key.
_HASHES_A_KEY = 6


@dataclass(eq=False)
class Containment(ShingleMethod, ArrayMethod):
    """Matches a page with a stored one that contains it: a part, a quoted text, an older version.

    The distance is the share of the page's shingles that the stored page lacks: 0 if all of the
    page stands there, whatever else does. So it is not symmetric: a page that contains a stored one
    is not near it.

    A sketch is the *hashes* least hashes of a page's shingles of *width* words; all of them if it
    has no more. Up to the lower of their greatest hashes, two sketches know all shingles of both
    pages; there they are compared. What is compared is a random sample of the page, or all of it if
    both pages are short. With fewer than *min_sample* hashes to compare, of a page that has more,
    two pages do not match: so a part is found in pages of up to about *hashes* / *min_sample* times
    its length. Among 32 hashes, the share has a standard deviation of .05 where it is .1.

    One of six hashes is a block key. A part that agrees in 29 hashes shares one with a probability
    of .995, and in 60 hashes always.

    Source: Broder, "On the Resemblance and Containment of Documents", SEQUENCES 1997, section 4
    (containment from the fingerprints that are 0 mod m); Gibbons, "Distinct Sampling for
    Highly-Accurate Answers to Distinct Values Queries and Event Reports", VLDB 2001 (a rate that
    falls as a page gets longer); Irber et al., "Lightweight compositional analysis of metagenomes
    with FracMinHash and minimum metagenome covers", bioRxiv 2022.
    """

    finds_parts = True

    name = "containment"
    version = 1
    candidates_per_key = 128
    sweep = ("max_distance", tuple(round(0.05 * step, 2) for step in range(19)))

    max_distance: float = share(0.1)
    _: KW_ONLY
    width: int = whole(5, 1)
    hashes: int = whole(256, 1)
    min_sample: int = whole(32, 1, "hashes")

    def sketches_of_shingles(self, hashes: Array, counts: Array, words: Words) -> Iterator[Array]:
        """Yield the least hashes of each text, sorted, shape (n,), uint32."""
        for own in np.split(hashes >> np.uint64(32), np.cumsum(counts)[:-1]):
            yield np.unique(own.astype(np.uint32))[: self.hashes]

    def keys_of_many(self, sketches: Sequence[bytes]) -> tuple[Array, Array, Sequence[bytes]]:
        hashes, of_sketch, sizes = _join(sketches)
        is_key = hashes % _HASHES_A_KEY == 0
        # Equal sketches always share one.
        is_key[np.cumsum(sizes) - sizes] = True
        counts = np.bincount(of_sketch[is_key], minlength=len(sketches))
        return hashes[is_key].astype(np.uint64), counts, sketches

    def distances_of_pairs(self, payloads: Sequence[bytes], others: Sequence[bytes]) -> Array:
        own, of_own, sizes = _join(payloads)
        known, of_known, known_sizes = _join(others)
        greatest = known[np.cumsum(known_sizes) - 1]
        # A sketch that is not full has all hashes of its page.
        greatest[known_sizes < self.hashes] = 2**32 - 1
        is_compared = own <= greatest[of_own]
        own, of_own = own[is_compared], of_own[is_compared]
        wanted, stored = of_own << 32 | own, of_known << 32 | known
        is_missing = stored.take(np.searchsorted(stored, wanted), mode="clip") != wanted
        sample = np.bincount(of_own, minlength=len(sizes))
        missing = np.bincount(of_own[is_missing], minlength=len(sizes))
        distances = np.full(len(sizes), math.inf)
        is_enough = sample >= np.minimum(sizes, self.min_sample)
        np.divide(missing, sample, out=distances, where=is_enough)
        return distances


def _join(sketches: Sequence[bytes]) -> tuple[Array, Array, Array]:
    """Return the hashes of all *sketches*, the number of the sketch of each, and the sizes."""
    hashes, sizes = join_numbers(sketches, "<u4")
    return hashes, np.repeat(np.arange(len(sizes)), sizes), sizes
