"""Runs whose members agree in much, and the pairs that are near in them, found one by one."""

from itertools import combinations

import numpy as np
from hypothesis import strategies as st

from dedup.methods.base import Components


def as_set(pairs):
    assert len(pairs.earlier) == len(pairs.later)
    return set(zip(pairs.earlier.tolist(), pairs.later.tolist(), strict=True))


def brute(values, max_distance):
    rows = [int.from_bytes(row.astype("<u8").tobytes(), "little") for row in values]
    return {
        (one, two)
        for one, two in combinations(range(len(rows)), 2)
        if (rows[one] ^ rows[two]).bit_count() <= max_distance
    }


@st.composite
def hot_values(draw):
    """Unique fingerprints that agree in many bits, so that they are split again and again."""
    words, bits = draw(st.sampled_from([1, 2])), draw(st.integers(3, 12))
    place = draw(st.permutations(range(64 * words)))[:bits]
    numbers = draw(st.sets(st.integers(0, 2**bits - 1), min_size=1, max_size=60))
    rows = [sum((number >> n & 1) << to for n, to in enumerate(place)) for number in numbers]
    data = b"".join(row.to_bytes(8 * words, "little") for row in rows)
    return np.frombuffer(data, "<u8").reshape(-1, words).astype(np.uint64)


@st.composite
def hot_components(draw):
    """Components that agree in many places, as numbers or as bits of bytes."""
    places = draw(st.integers(1, 12) | st.sampled_from([40, 100]))
    are_bits = draw(st.booleans())
    size, most_value = draw(st.integers(1, 60)), draw(st.sampled_from([1, 3, 255]))
    chooser = np.random.default_rng(draw(st.integers(0, 10**6)))
    kind = np.uint8 if are_bits else draw(st.sampled_from([np.uint8, np.uint32, np.uint64]))
    values = chooser.integers(0, most_value, (size, places), kind, endpoint=True)
    values[:, chooser.random(places) < 0.3] = 1
    values[chooser.random((size, places)) < draw(st.sampled_from([0, 0.5, 0.9]))] = 0
    most = draw(st.integers(0, 14) | st.sampled_from([places, 3 * places]))
    return Components(values, most, are_bits=are_bits)


def differing(components, one, other):
    differs = components.values[one] ^ components.values[other]
    if components.are_bits:
        return int(np.bitwise_count(differs).sum())
    return int(np.count_nonzero(differs))


def near(components, first=0):
    return {
        pair
        for pair in combinations(range(first, len(components.values)), 2)
        if differing(components, *pair) <= components.most
    }


@st.composite
def runs(draw):
    """Where runs of a few members start and end, one after the other."""
    ends = np.cumsum(draw(st.lists(st.integers(1, 9), min_size=1)))
    return np.append(0, ends[:-1]), ends


def inside(starts, ends):
    """Return all pairs that are in one run."""
    return {
        pair
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
        for pair in combinations(range(start, end), 2)
    }
