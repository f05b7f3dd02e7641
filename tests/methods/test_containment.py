import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.methods.containment import Containment
from dedup.methods.shingles import shingle_hashes
from dedup.text import Document

METHOD = Containment()


def words(count, name="word"):
    return [f"{name}{number}" for number in range(count)]


def sketch(tokens, method=METHOD):
    text = tokens if isinstance(tokens, str) else " ".join(tokens)
    return method.sketch(Document.from_main_text(text))


def distance(page, stored, method=METHOD):
    return method.distance(sketch(page, method), sketch(stored, method))


def missing(page, stored, width=5):
    """The exact share of the shingles of a page that the stored one lacks."""
    own, others = ({tuple(t[i : i + width]) for i in range(len(t) - 4)} for t in (page, stored))
    return len(own - others) / len(own)


def test_the_distance_of_short_pages_is_the_exact_share_that_is_missing():
    chooser = random.Random(1)
    for _ in range(50):
        stored = chooser.choices(words(1000), k=200)
        start = chooser.randrange(100)
        page = stored[start : start + 90]
        for place in chooser.sample(range(90), chooser.randrange(6)):
            page[place] = "changed"
        assert distance(page, stored) == pytest.approx(missing(page, stored))


@pytest.mark.parametrize("share", [0, 0.1, 0.5])
def test_of_long_pages_it_is_estimated_without_bias(share):
    errors = []
    for seed in range(40):
        stored = words(2000, f"n{seed}x")
        page = stored[:500]
        page[: round(500 * share)] = words(round(500 * share), "other")
        errors.append(distance(page, stored) - missing(page, stored))
    # At least 32 hashes are compared: a standard deviation of .09 at most, .014 for the mean.
    assert abs(np.mean(errors)) < 0.04
    assert max(map(abs, errors)) < 0.3


def test_a_sketch_is_the_least_hashes_of_the_shingles():
    tokens = words(1000)
    hashes = sorted(set((shingle_hashes(tokens, 5) >> np.uint64(32)).tolist()))
    assert sketch(tokens).tolist() == hashes[:256]


def test_a_part_of_a_page_that_is_too_long_to_know_is_kept():
    stored = words(5000)
    assert distance(stored[100:200], stored) == math.inf
    assert distance(stored[:2500], stored) == 0
    more = Containment(hashes=4096)
    assert distance(stored[100:200], stored, more) == 0


@given(st.integers(0, 10**6), st.integers(30, 400), st.floats(1, 6))
def test_a_part_shares_a_key_with_what_contains_it(seed, size, times):
    chooser = random.Random(seed)
    stored = [str(chooser.getrandbits(60)) for _ in range(round(size * times))]
    part, whole = sketch(stored[-size:]), sketch(stored)
    common = np.intersect1d(part, whole)
    shared = np.intersect1d(METHOD.keys(part), METHOD.keys(whole))
    assert set(common[common % 6 == 0].tolist()) <= set(shared.tolist())
    # Five sixths of the hashes are no keys.
    assert len(shared) > 0 or len(common) < 100
