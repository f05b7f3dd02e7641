"""Indexes that are asked in batches, against the same pages one by one."""

import random
from itertools import count

import pytest
from cases import mixed
from test_keys import Sets
from texts import CHINESE, ENGLISH, article, edited

from dedup.methods import METHODS
from dedup.methods.simhash import SimHash
from dedup.search import BatchIndex, index_for
from dedup.text import Document


def one_by_one(method, sketches):
    """What each matches of those before it that matched nothing, and its distance."""
    index, found = index_for(method), []
    for sketch in sketches:
        match = None if sketch is None else index.query(sketch)
        found.append(match)
        if sketch is not None and match is None:
            index.add(sketch)
    return found


def in_batches(method, sketches, size):
    index, found, numbers = BatchIndex(method), [], count()
    for start in range(0, len(sketches), size):
        batch = sketches[start : start + size]
        index.begin([None if sketch is None else method.to_bytes(sketch) for sketch in batch])
        for place, sketch in enumerate(batch):
            match = None if sketch is None else index.query(place)
            found.append(match)
            if sketch is not None and match is None:
                index.add(place, next(numbers))
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("name", "size"), mixed(list(METHODS), [1, 7, 100]))
def test_every_method_gets_the_same_matches(name, size):
    method = METHODS[name]()
    texts = [article(number % 25) for number in range(40)]
    texts += [edited(article(number), f"w{n}") for number in range(20) for n in range(2)]
    texts += ["", "short", "short", ENGLISH, CHINESE, ENGLISH]
    random.Random(1).shuffle(texts)
    sketches = [method.sketch(Document(text)) for text in texts]
    expected = one_by_one(method, sketches)
    assert in_batches(method, sketches, size) == expected
    assert any(expected)


class OfLatest(Sets):
    """Of each key, only the latest few are compared."""

    def __init__(self, most, max_distance=3):
        super().__init__()
        self.candidates_per_key = most
        self.max_distance = max_distance


@pytest.mark.slow
@pytest.mark.parametrize(
    ("size", "most", "max_distance"),
    mixed([1, 2, 5, 16, 64], [1, 2, 5, 40, None], [0, 1, 3]),
)
def test_pages_that_share_their_keys_with_many_others(most, size, max_distance):
    """The nearest one of so many of each key, ties to the oldest, as if all came one by one."""
    method, chooser = OfLatest(most, max_distance), random.Random(size)
    for _ in range(3):
        sketches = [
            frozenset(chooser.sample(range(9), chooser.randrange(1, 5))) for _ in range(150)
        ]
        assert in_batches(method, sketches, size) == one_by_one(method, sketches)


def test_pages_that_share_keys_with_all_others_are_looked_up_in_parts(monkeypatch):
    monkeypatch.setattr("dedup.index.keys._MOST_PAIRS", 20)
    test_pages_that_share_their_keys_with_many_others(None, 16, 3)
    test_pages_that_share_their_keys_with_many_others(5, 16, 0)


def test_of_many_that_are_near_each_other_few_are_compared(monkeypatch):
    method, pairs = METHODS["minhash"](), []
    compare = method.distances_of_pairs

    def counting(payloads, others):
        pairs.extend(others)
        return compare(payloads, others)

    monkeypatch.setattr(method, "distances_of_pairs", counting)
    texts = [edited(article(1), f"w{number}") for number in range(200)]
    found = in_batches(method, [method.sketch(Document(text)) for text in texts], 100)
    assert found.count(None) == 1
    assert len(pairs) < 400


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shape", "size"), mixed([(64, 3), (33, 0), (64, 16), (384, 12)], [1, 5, 256])
)
def test_fingerprints_get_the_same_matches_in_batches(monkeypatch, shape, size):
    """Many of few originals with a few other bits, found by tables and by comparing all."""
    bits, max_distance = shape
    monkeypatch.setattr("dedup.index.hamming._SHORTEST_TAIL", 100)
    monkeypatch.setattr("dedup.index.sorted_table._SCANNED", 1.0)
    method, chooser = SimHash(max_distance, bits=bits), random.Random(bits)
    originals = [chooser.getrandbits(bits) for _ in range(200)]
    sketches: list[int | None] = []
    for _ in range(1200):
        flips = chooser.sample(range(bits), chooser.randrange(2 * max_distance + 2))
        sketches.append(chooser.choice(originals) ^ sum(1 << bit for bit in flips))
    sketches[::50] = [None] * len(sketches[::50])
    expected = one_by_one(method, sketches)
    assert in_batches(method, sketches, size) == expected
    assert len({match.distance for match in expected if match}) > max_distance / 2
