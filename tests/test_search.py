"""What every index has to do, whatever the method of its sketches."""

import random
from functools import cache

import numpy as np
import pytest
from cases import examples, mixed, sampled
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from texts import CHINESE, ENGLISH, article, edited, replaced

from dedup.arrays import Packed, lengths_of
from dedup.index import Match
from dedup.methods import METHODS, FingerprintMethod
from dedup.methods.simhash import SimHash
from dedup.methods.verified import Verified
from dedup.search import index_for
from dedup.text import Document

SHAPES = [
    (64, 3), (64, 0), (64, 7), (64, 10), (64, 16), (32, 3), (33, 5), (50, 4), (65, 3), (100, 4),
    (128, 5), (384, 12), (384, 29),
]  # fmt: skip
METHODS_TO_LOAD = {
    **{n: kind() for n, kind in METHODS.items() if not issubclass(kind, FingerprintMethod)},
    **{f"{bits} bits, {most} differ": SimHash(most, bits=bits) for bits, most in SHAPES},
}
# How the blocks of fingerprints are chosen: by their cost; tables at any cost, without and with
# probes.
CHOICES = {
    "cheapest": {},
    "tables": {"_SCANNED": 1.0},
    "probes": {"_SCANNED": 1.0, "_TABLE": 1e6, "_PROBED_TABLE": 0.0, "_PROBE": 0.0},
}


@cache
def sketches_of(name):
    """Different sketches that are alike to some degree."""
    method, chooser = METHODS_TO_LOAD[name], random.Random(5)
    if isinstance(method, FingerprintMethod):
        # Few centres: most are within or just beyond the distance.
        centres = [0, (1 << method.bits) - 1, chooser.getrandbits(method.bits)]
        flips = (0, 1, method.max_distance, method.max_distance + 1)
        return [
            centre ^ sum(1 << bit for bit in chooser.sample(range(method.bits), count))
            for centre in centres
            for count in [*flips] * 9
        ]
    texts = [article(number) for number in range(12)]
    texts += [replaced(article(n), count) for n in range(12) for count in (1, 4, 12, 30)]
    texts += [edited(ENGLISH + " 12 34 56"), ENGLISH, CHINESE, ENGLISH + CHINESE]
    texts += ["short", "a few words and no more", "No. 5. No. 6. No. 7!"]
    texts = [text.replace(". ", ". There is ") for text in texts]  # with spots
    sketches = [method.sketch(Document.from_main_text(text)) for text in texts]
    return [sketch for sketch in sketches if sketch is not None]


class AnyOrder(RuleBasedStateMachine):
    """Sketches come alone and together, are discarded and asked for; a scan of all is the oracle.

    *numbers* of sketches are from 0 on, again and again.
    """

    name = "simhash"
    numbers = st.integers(0, 99)

    def __init__(self):
        super().__init__()
        self.method = METHODS_TO_LOAD[self.name]
        self.is_of_fingerprints = isinstance(self.method, FingerprintMethod)
        self.index = index_for(self.method)
        self.stored = {}

    def sketch(self, number):
        known = sketches_of(self.name)
        return known[number % len(known)]

    def several(self, numbers):
        """The sketches in one of the forms in which an index takes many."""
        sketches = list(map(self.sketch, numbers))
        if self.is_of_fingerprints and len(numbers) % 2:
            return sketches
        data = list(map(self.method.to_bytes, sketches))
        return Packed.of(b"".join(data), lengths_of(data))

    def are_equal(self, one, other):
        return self.method.to_bytes(one) == self.method.to_bytes(other)

    def keys(self, sketch):
        # All fingerprints are compared: those within the threshold share a block.
        return {0} if self.is_of_fingerprints else set(self.method.keys(sketch))

    def matches(self, sketch, within=None):
        """All matches, or what is beyond them *within* a distance: the nearest first."""
        limit, keys = self.method.max_distance, self.keys(sketch)
        found = [
            Match(page, self.method.distance(sketch, other))
            for page, other in self.stored.items()
            if keys & self.keys(other)
        ]
        if within is None:
            return sorted(match for match in found if match.distance <= limit)
        return sorted(match for match in found if limit < match.distance <= within)

    @rule(number=numbers)
    def add(self, number):
        page = self.index.add(self.sketch(number))
        assert page not in self.stored
        self.stored[page] = self.sketch(number)

    @rule(number=numbers, page=st.integers(0, 2**32 - 1000))
    def add_a_page_of_ones_own(self, number, page):
        if page not in self.stored:
            assert self.index.add(self.sketch(number), page) == page
            self.stored[page] = self.sketch(number)

    @rule(numbers=st.lists(numbers, max_size=30))
    def add_several(self, numbers):
        pages = self.index.add_many(self.several(numbers)).tolist()
        self.stored.update(zip(pages, map(self.sketch, numbers), strict=True))

    @precondition(lambda self: self.stored)
    @rule(seed=st.integers(0, 999), count=st.integers(1, 20))
    def discard(self, seed, count):
        pages = sorted(self.stored)
        for page in random.Random(seed).sample(pages, min(count, len(pages))):
            sketch = self.stored.pop(page)
            other = next(one for one in sketches_of(self.name) if not self.are_equal(one, sketch))
            assert not self.index.discard(other, page)
            assert self.index.discard(sketch, page)
            assert not self.index.discard(sketch, page)

    @rule(number=numbers)
    def query(self, number):
        sketch, asked = self.sketch(number), []
        matches = self.matches(sketch)
        assert self.index.query_all(sketch) == matches
        assert self.index.query(sketch) == (matches[0] if matches else None)
        found = self.index.query(sketch, lambda page: asked.append(page) or page % 2)
        assert found == next((match for match in matches if match.page % 2), None)
        # Each match was asked about once, the nearest first, until one counted.
        assert asked == [match.page for match in matches][: len(asked)]
        assert (asked[-1:] == [found.page]) if found else len(asked) == len(matches)

    @rule(numbers=st.lists(numbers, max_size=9))
    def compare_many(self, numbers):
        found = [
            row
            for block in self.index.compare_many(self.several(numbers))
            for row in zip(*(column.tolist() for column in block), strict=True)
        ]
        assert sorted(row for row in found if row[2] <= self.method.max_distance) == sorted(
            (place, match.page, match.distance)
            for place, number in enumerate(numbers)
            for match in self.matches(self.sketch(number))
        )

    @rule(number=numbers, within=st.floats(0, 1))
    def nearest_beyond(self, number, within):
        sketch = self.sketch(number)
        within *= 2 * self.method.max_distance + 1
        matches = self.matches(sketch, within)
        assert list(self.index.nearest_beyond([sketch], within)) == (matches[:1] or [None])
        odd = [match for match in matches if match.page % 2]
        found = self.index.nearest_beyond([sketch], within, lambda page: page % 2)
        assert list(found) == (odd[:1] or [None])

    @invariant()
    def nothing_is_lost(self):
        assert len(self.index) == len(self.stored)

    def teardown(self):
        found = {m.page for s in sketches_of(self.name) for m in self.index.query_all(s)}
        assert found == {page for page, sketch in self.stored.items() if self.matches(sketch)}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "choice", "few"), mixed([*METHODS_TO_LOAD], [*CHOICES], [0, 1 << 11])
)
def test_any_order_of_operations_agrees_with_a_scan(name, choice, few, monkeypatch):
    for constant, cost in CHOICES[choice].items():
        monkeypatch.setattr(f"dedup.index.sorted_table.{constant}", cost)
    monkeypatch.setattr("dedup.index.hamming._SHORTEST_TAIL", 8)
    monkeypatch.setattr("dedup.index.hamming._MOST_IN_BATCH", few)
    monkeypatch.setattr("dedup.index.keys._MOST_GAPS", few and 5)
    machine = type("Machine", (AnyOrder,), {"name": name}).TestCase
    machine.settings = settings(max_examples=examples(40), stateful_step_count=30, deadline=None)
    machine("runTest").runTest()


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    sampled(
        (n for n, m in METHODS_TO_LOAD.items() if not isinstance(m, FingerprintMethod)),
        "exact",
        "minhash",
        "spotsigs",
        "verified",
    ),
)
def test_many_that_are_loaded_take_no_more_memory_than_one_by_one(name):
    method, chooser = METHODS_TO_LOAD[name], np.random.default_rng(1)
    lengths = [len(method.to_bytes(sketch)) for sketch in sketches_of(name)]
    stored = [chooser.bytes(lengths[n % len(lengths)]) for n in range(6000)]
    added, loaded = index_for(method), index_for(method)
    for sketch in stored:
        added.add(method.from_bytes(sketch))
    loaded.add_many(stored, range(6000))
    assert loaded.nbytes <= added.nbytes * 1.02


def test_of_those_that_share_a_key_the_highest_numbers_are_compared(monkeypatch):
    """Whatever the order in which they were added, and whatever was discarded."""
    monkeypatch.setattr(Verified, "candidates_per_key", 5)
    monkeypatch.setattr("dedup.index.keys._MOST_GAPS", 0)
    method, chooser = Verified(max_distance=1), random.Random(1)
    sketch, pages = sketches_of("verified")[0], list(range(30))
    chooser.shuffle(pages)
    index = index_for(method)
    for page in pages:
        index.add(sketch, page)
    for number in range(30, 4, -1):
        assert [match.page for match in index.query_all(sketch)] == sorted(pages)[-5:]
        page = pages.pop(chooser.randrange(number))
        assert index.discard(sketch, page)
