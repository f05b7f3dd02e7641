"""One-permutation hashing: many minimums of a set from a single hash of each element."""

from functools import cache

import numpy as np

from dedup.arrays import Array
from dedup.methods.hashing import mix, seeds

_NOTHING = np.uint32(2**32 - 1)
_PROBES_AT_FIRST, _PROBES_AT_ONCE = 32, 64
# So many sets are densified together. Few are faster one by one.
_SETS_AT_ONCE = 256
# What so many bins take fits into the processor's cache.
_BINS_IN_CACHE = 1 << 14
_BITS = 64  # of a number, one for each set
_FEW_SETS = 8
# A text has few words if not even one of so many bins is filled. Of two filled ones of 1,024, 98 %
# of the empty ones find one among so many probes.
_BINS_PER_FILLED, _PROBES_OF_FEW = 64, 2048
# Most empty bins find a donor among so many probes, except for short texts.
_PROBES_TOGETHER_BITS = 6
_PROBES_BETWEEN_COUNTS = 4


def bin_minimums(hashes: Array, counts: Array, bins: int) -> Array:
    """Return the least value in each of *bins* bins for each of several sets, shape (sets, bins).

    *hashes*: those of all elements, set by set, uint64, well mixed, in any order; *counts*: how
    many each set has, at least one, shape (sets,). The values are of uint32. The high half
    of a hash chooses its bin; 31 bits of the low half are its value. Each bin has its own order of
    donors; an empty bin takes the minimum of the first donor that is not empty. So a component of
    two sets is equal with a probability of nearly their Jaccard similarity, as with MinHash, at the
    cost of one hash function.

    Source: Li, Owen, Zhang, "One Permutation Hashing", NIPS 2012; Shrivastava, "Optimal
    Densification for Fast and Accurate Minwise Hashing", ICML 2017, section 4.
    """
    least = np.full((len(counts), bins), _NOTHING)
    ends = np.cumsum(counts)
    for start in range(0, len(counts), _SETS_AT_ONCE):
        part = slice(start, start + _SETS_AT_ONCE)
        first = ends[start] - counts[start]
        _fill(least[part], hashes[first : ends[part][-1]], counts[part])
    return least


def _fill(least: Array, hashes: Array, counts: Array) -> None:
    count, bins = least.shape
    sets = np.repeat(np.arange(count), counts)
    # A product instead of a remainder.
    places = (((hashes >> np.uint64(32)) * np.uint64(bins)) >> np.uint64(32)).astype(np.intp)
    values = hashes.astype(np.uint32) >> np.uint32(1)
    np.minimum.at(least.reshape(-1), sets * bins + places, values)
    filled = least != _NOTHING
    asking, probes = _ask_of_few_words(least, filled), 0
    if count >= _FEW_SETS:
        probes = _ask_together(least, filled, asking)
    _ask_one_by_one(least, filled, probes)


def _ask_of_few_words(least: Array, filled: Array) -> Array:
    """Fill most bins of texts with few words: to make all probes takes the longer, the fewer.

    Return which texts have more.
    """
    counts, bins = np.count_nonzero(filled, axis=1), least.shape[1]
    are_few: Array = counts * _BINS_PER_FILLED <= bins
    for row in np.flatnonzero(are_few):
        values = least[row]
        if counts[row] == 1:
            values[:] = values.min()
        else:
            first = _probes_that_ask(bins)[filled[row]].min(axis=0)
            values[:] = values.take(first % np.uint32(bins))
    return ~are_few


def _ask_together(least: Array, filled: Array, asking: Array) -> int:
    """Fill most empty bins of the sets that are *asking*; return how many probes were made.

    A bin has a bit for each set, in a few numbers, so that a probe is one look-up for all sets. The
    probe that found a donor is recorded in binary, with such bits for each binary digit.
    """
    count, bins = least.shape
    bits = _as_bits(filled.T)
    pending = ~bits & _as_bits(asking[None])
    digits = np.zeros((_PROBES_TOGETHER_BITS + 1, *bits.shape), np.uint64)
    # The last digit is that of the bins which keep what they have: they ask themselves.
    digits[-1] = ~pending
    found = np.empty_like(bits)
    probes = 0
    for donors in _donors(bins)[:-1]:
        bits.take(donors, axis=0, out=found, mode="clip")  # other modes copy the result
        found &= pending
        pending ^= found
        for digit in range(probes.bit_length()):
            if probes >> digit & 1:
                digits[digit] |= found
        probes += 1
        if probes % _PROBES_BETWEEN_COUNTS == 0 and np.bitwise_count(pending).sum() <= count:
            break
    digits[-1] |= pending
    asked = np.zeros((bins, count), np.uint8)
    for digit, numbers in enumerate(digits):
        recorded = _from_bits(numbers, count)
        recorded <<= np.uint8(digit)
        asked |= recorded
    step = max(1, _BINS_IN_CACHE // bins)
    for start in range(0, count, step):
        part = slice(start, start + step)
        _take(least[part], np.ascontiguousarray(asked[:, part].T))
    return probes


def _as_bits(values: Array) -> Array:
    """Pack booleans of shape (bins, n) into 64-bit numbers, shape (bins, ceil(n / 64))."""
    bins, count = values.shape
    whole = np.zeros((bins, -(-count // _BITS) * _BITS), np.bool_)
    whole[:, :count] = values
    return np.packbits(whole, axis=1, bitorder="little").view("<u8").astype(np.uint64)


def _from_bits(numbers: Array, count: int) -> Array:
    """Unpack the numbers of `_as_bits` into 0 and 1, shape (bins, count), uint8."""
    octets = numbers.astype("<u8").view(np.uint8)
    return np.unpackbits(octets, axis=1, count=count, bitorder="little")


def _take(least: Array, asked: Array) -> None:
    """Have each bin take what the donor has that it *asked*."""
    count, bins = least.shape
    places = asked * np.intp(bins)
    places += np.arange(bins)
    donors = _donors(bins).take(places, mode="clip")
    donors += np.arange(0, count * bins, bins)[:, None]
    least[:] = least.take(donors, mode="clip")


def _ask_one_by_one(least: Array, filled: Array, probe: int) -> None:
    """Fill the bins that are empty; their probes before *probe* have found nothing."""
    bins = least.shape[1]
    flat, filled = least.reshape(-1), filled.reshape(-1)
    places = np.flatnonzero(flat == _NOTHING)
    while len(places):
        count = _PROBES_AT_FIRST if probe < _PROBES_AT_ONCE else _PROBES_AT_ONCE
        own = places % bins
        donors = _probes(bins, probe, count).take(own, axis=0) + (places - own)[:, None]
        is_filled = filled.take(donors)
        first = is_filled.argmax(axis=1) + np.arange(0, donors.size, count)
        found = is_filled.reshape(-1).take(first)
        flat[places[found]] = flat.take(donors.reshape(-1).take(first[found]))
        places = places[~found]
        probe += count


@cache
def _probes_that_ask(bins: int) -> Array:
    """Return when each donor is first asked by each bin, shape (donors, bins), uint32.

    That is the number of the probe, from 1, times *bins*, plus the donor. A bin asks itself first,
    and once more in place of a donor that it does not ask in time.
    """
    own = np.arange(bins, dtype=np.uint32)
    asked = np.tile(own + np.uint32((_PROBES_OF_FEW + 1) * bins), (bins, 1))
    probes = _probes.__wrapped__(bins, 0, _PROBES_OF_FEW)  # they are needed only here
    for probe in range(_PROBES_OF_FEW, 0, -1):
        donors = probes[:, probe - 1]
        asked[donors, own] = donors + np.uint32(probe * bins)
    asked[own, own] = own
    return asked


@cache
def _donors(bins: int) -> Array:
    """Return the donors of the probes that are made together, and last the bins themselves."""
    probes = _probes(bins, 0, 1 << _PROBES_TOGETHER_BITS).T
    return np.vstack([probes, np.arange(bins)]).astype(np.intp)


@cache
def _probes(bins: int, first: int, count: int) -> Array:
    """Return the donors of each bin for *count* probes from *first* on, shape (bins, count)."""
    probe = np.arange(first, first + count, dtype=np.uint64)
    values = mix(seeds(bins)[:, None] ^ (probe + np.uint64(1)))
    return (values % np.uint64(bins)).astype(np.uint16 if bins <= 1 << 16 else np.intp)


def one_bit_signatures(hashes: Array, counts: Array, bits: int) -> Array:
    """Return one bit of each of *bits* minimums of sets, packed: shape (sets, bits / 8), uint8.

    *hashes* and *counts* are those of `bin_minimums`.

    A bit of two sets is equal with a probability of (1 + J) / 2. It is the highest bit of the
    minimum times an odd number that belongs to the bin, so that bins that share a minimum have
    independent bits.

    Source: Li, König, "b-Bit Minwise Hashing", WWW 2010, section 2; Dietzfelbinger et al., "A
    Reliable Randomized Algorithm for the Closest-Pair Problem", Journal of Algorithms 25, 1997.
    """
    factors = seeds(bits).astype(np.uint32) | np.uint32(1)
    return np.packbits(bin_minimums(hashes, counts, bits) * factors >= np.uint32(2**31), axis=1)
