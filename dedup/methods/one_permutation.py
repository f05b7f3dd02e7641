"""One-permutation hashing: many minimums of a set from a single hash of each element."""

from functools import cache

import numpy as np

from dedup.arrays import Array
from dedup.methods.hashing import mix, seeds

_NOTHING = np.uint32(2**32 - 1)
_PROBES_AT_FIRST, _PROBES_AT_ONCE = 32, 64
# So many sets are densified together. Few are faster one by one.
_SETS_AT_ONCE = 256
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
    bins = least.shape[1]
    flat = least.reshape(-1)
    firsts = np.repeat(np.arange(len(counts)) * bins, counts)
    # A product instead of a remainder.
    places = ((hashes >> np.uint64(32)) * np.uint64(bins)) >> np.uint64(32)
    np.minimum.at(flat, firsts + places.astype(np.intp), hashes.astype(np.uint32) >> np.uint32(1))
    filled = least != _NOTHING
    _ask_of_few_words(least, filled)
    empty, probes = least == _NOTHING, 0
    if len(counts) >= _FEW_SETS:
        empty, probes = _ask_together(least, filled, empty)
    _ask_one_by_one(least, filled, empty, probes)


def _ask_of_few_words(least: Array, filled: Array) -> None:
    """Fill most bins of texts with few words: to make all probes takes the longer, the fewer."""
    counts, bins = filled.sum(axis=1), least.shape[1]
    for row in np.flatnonzero(counts * _BINS_PER_FILLED <= bins):
        values = least[row]
        if counts[row] == 1:
            values[:] = values.min()
        else:
            first = _probes_that_ask(bins)[filled[row]].min(axis=0)
            values[:] = values.take(first % np.uint32(bins))


def _ask_together(least: Array, filled: Array, empty: Array) -> tuple[Array, int]:
    """Fill most *empty* bins of several sets; return which bins are still empty, as booleans.

    The number of probes that were made is returned, too. A bin has a bit for each set, in a few
    numbers, so that a probe is one look-up for all sets. The probe that found a donor is recorded
    in binary, with such bits for each binary digit.
    """
    count, bins = filled.shape
    bits, asking = _as_bits(filled), _as_bits(empty)
    pending = asking.copy()
    # The last digit is that of the bins which keep what they have: they ask themselves.
    digits = np.zeros((_PROBES_TOGETHER_BITS + 1, *bits.shape), np.uint64)
    found = np.empty_like(bits)
    probes = 0
    for donors in _first_probes(bins):
        bits.take(donors, axis=0, out=found, mode="clip")  # other modes copy the result
        found &= pending
        pending ^= found
        for digit in range(probes.bit_length()):
            if probes >> digit & 1:
                digits[digit] |= found
        probes += 1
        if probes % _PROBES_BETWEEN_COUNTS == 0 and np.bitwise_count(pending).sum() <= count:
            break
    digits[-1] = ~asking | pending
    asked = np.zeros((bins, count), np.uint8).T  # in memory as what is added to it
    for digit, numbers in enumerate(digits):
        asked |= _from_bits(numbers, count).view(np.uint8) << np.uint8(digit)
    places = np.ascontiguousarray(asked) * np.intp(bins)
    places += np.arange(bins)
    donors = _donors(bins).take(places).astype(np.intp)
    donors += np.arange(0, count * bins, bins)[:, None]
    least[:] = least.take(donors)
    return _from_bits(pending, count), probes


def _as_bits(values: Array) -> Array:
    """Pack booleans of shape (n, bins) into 64-bit numbers, shape (bins, ceil(n / 64))."""
    count, bins = values.shape
    octets = np.zeros((bins, -(-count // _BITS) * _BITS // 8), np.uint8)
    packed = np.packbits(np.ascontiguousarray(values.T), axis=1, bitorder="little")
    octets[:, : packed.shape[1]] = packed
    return octets.view("<u8").astype(np.uint64)


def _from_bits(numbers: Array, count: int) -> Array:
    """Unpack the numbers of `_as_bits` into booleans of shape (count, bins)."""
    octets = numbers.astype("<u8").view(np.uint8)
    return np.unpackbits(octets.T, axis=0, count=count, bitorder="little").view(np.bool_)


def _ask_one_by_one(least: Array, filled: Array, empty: Array, probe: int) -> None:
    """Fill the bins that are *empty*; their probes before *probe* have found nothing."""
    bins = least.shape[1]
    flat, filled = least.reshape(-1), filled.reshape(-1)
    places = np.flatnonzero(empty)
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
def _first_probes(bins: int) -> Array:
    """Return the donors of the probes that are made together, shape (probes, bins), intp."""
    return np.ascontiguousarray(_probes(bins, 0, 1 << _PROBES_TOGETHER_BITS).T.astype(np.intp))


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
    """Return the same, and last those of bins that ask themselves, as small as can be."""
    donors = np.vstack([_first_probes(bins), np.arange(bins)])
    return donors.astype(_probes(bins, 0, 1).dtype)


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
