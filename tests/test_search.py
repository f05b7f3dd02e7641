"""Indexes that many stored sketches were put into, against the same sketches one by one."""

import random
from collections import deque
from functools import cache
from itertools import islice

import numpy as np
import pytest
from cases import examples, sampled
from hypothesis import given, settings
from hypothesis import strategies as st
from texts import CHINESE, ENGLISH, article, edited, replaced

from dedup.arrays import Packed
from dedup.index import Match
from dedup.methods import METHODS, FingerprintMethod
from dedup.methods.simhash import RandomProjection, SimHash
from dedup.methods.verified import Verified
from dedup.search import index_for
from dedup.text import Document

METHODS_TO_LOAD = {
    **{name: kind() for name, kind in METHODS.items()},
    "33 bits": SimHash(bits=33),
    "72 bits": RandomProjection(2, bits=72),
}


@cache
def sketches_of(name):
    """Sketches of pages that are alike to some degree, each stored some time."""
    texts = [article(number) for number in range(12)]
    texts += [replaced(article(n), count) for n in range(12) for count in (1, 4, 12, 30)]
    texts += [edited(ENGLISH + " 12 34 56"), ENGLISH, CHINESE, ENGLISH + CHINESE]
    texts += ["short", "a few words and no more", "No. 5. No. 6. No. 7!"]
    method = METHODS_TO_LOAD[name]
    texts = [text.replace(". ", ". There is ") for text in texts]  # with spots
    sketches = [method.sketch(Document.from_main_text(text)) for text in texts]
    return [sketch for sketch in sketches if sketch is not None]


def load(index, method, sketches, pages, sizes):
    """Put them in by pieces of *sizes*, and the rest at once."""
    left = iter(list(zip(sketches, pages, strict=True)))
    for size in [*sizes, len(sketches)]:
        if piece := list(islice(left, size)):
            data = Packed()
            data.extend([method.to_bytes(sketch) for sketch, _ in piece])
            index.add_many(data, [page for _, page in piece])


def answers(index, method, asked):
    """All that an index says, of each sketch."""
    beyond = index.nearest_beyond(asked, 2 * method.max_distance + 1)
    found = [(index.query(sketch), index.query_all(sketch)) for sketch in asked]
    return len(index), found, list(beyond)


@pytest.mark.slow
@pytest.mark.parametrize("name", METHODS_TO_LOAD)
@settings(max_examples=examples(3), deadline=None)
@given(
    sizes=st.lists(st.integers(0, 40), max_size=6),
    later=st.integers(0, 20),
    chooser=st.randoms(use_true_random=False),
)
def test_what_is_loaded_is_found_as_what_was_added(name, sizes, later, chooser):
    method, known = METHODS_TO_LOAD[name], sketches_of(name)
    sketches = chooser.choices(known, k=chooser.randrange(100))
    pages = sorted(chooser.sample(range(1000), len(sketches)))
    stop = max(0, len(sketches) - later)
    added, loaded = index_for(method), index_for(method)
    load(loaded, method, sketches[:stop], pages[:stop], sizes)
    for sketch, page in zip(sketches[:stop], pages[:stop], strict=True):
        added.add(sketch, page)
    for sketch in sketches[stop:]:  # a crawl goes on, and numbers are counted on
        assert loaded.add(sketch) == added.add(sketch)
    assert answers(loaded, method, known) == answers(added, method, known)


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


def matches_by_a_scan(method, stored, sketch):
    """All matches among *stored*, page -> sketch: the nearest first, ties to the lowest page."""
    matches = [Match(page, method.distance(sketch, other)) for page, other in stored.items()]
    keys = set(keys_of(method, sketch))
    return sorted(
        match
        for match in matches
        if match.distance <= method.max_distance and keys & keys_of(method, stored[match.page])
    )


def keys_of(method, sketch):
    # All fingerprints are compared: those within the threshold share a block.
    return {0} if isinstance(method, FingerprintMethod) else set(method.keys(sketch))


@pytest.mark.slow
@pytest.mark.parametrize("name", METHODS_TO_LOAD)
@settings(max_examples=examples(5), deadline=None)
@given(
    limit=st.sampled_from([20, 10**6]),
    most_gaps=st.sampled_from([0, 5]),
    share=st.sampled_from([0.2, 0.9]),
    chooser=st.randoms(use_true_random=False),
)
def test_claims_come_and_go_in_any_order(name, limit, most_gaps, share, chooser):
    """Added, queried and discarded by turns, under numbers in no order, as a scan of all finds."""
    method, known = METHODS_TO_LOAD[name], sketches_of(name)
    stored, unused = {}, chooser.sample(range(2**32 - 1), 120)
    counted = set(chooser.sample(unused, int(share * len(unused))))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dedup.index.hamming._SHORTEST_TAIL", limit)
        patch.setattr("dedup.index.sorted_table._SCANNED", 1.0)
        patch.setattr("dedup.index.keys._MOST_GAPS", most_gaps)
        index = index_for(method)
        for _ in range(100):
            step, sketch = chooser.random(), chooser.choice(known)
            if step < 0.4 and unused:
                page = unused.pop()
                index.add(sketch, page)
                stored[page] = sketch
            elif step < 0.7 and stored:
                page = chooser.choice(sorted(stored))
                assert index.discard(stored.pop(page), page)
            matches = matches_by_a_scan(method, stored, sketch)
            asked = []
            found = index.query(sketch, lambda page: asked.append(page) or page in counted)  # noqa: B023
            assert found == next((m for m in matches if m.page in counted), None)
            # Each match was asked about once, the nearest first, until one counted.
            assert asked == [m.page for m in matches][: len(asked)]
            assert (asked[-1:] == [found.page]) if found else len(asked) == len(matches)
            assert index.query_all(sketch) == matches
        assert len(index) == len(stored)
        within = 2 * method.max_distance + 1
        beyond = list(index.nearest_beyond(known, within, counted.__contains__))
        for page in stored.keys() - counted:
            assert index.discard(stored[page], page)
        assert list(index.nearest_beyond(known, within)) == beyond


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "few"),
    [("simhash", 30), ("72 bits", 30)]
    + [
        (name, 1 << 10)
        for name in sampled(METHODS_TO_LOAD, "simhash", "exact", "verified", "minhash")
    ],
)
def test_claims_that_were_released_take_no_memory(name, few, monkeypatch):
    """However many different sketches were added and discarded: only a few at a time."""
    monkeypatch.setattr("dedup.index.hamming._SHORTEST_TAIL", few)
    monkeypatch.setattr("dedup.index.sorted_table._SCANNED", 1.0)
    method, chooser = METHODS_TO_LOAD[name], np.random.default_rng(1)
    lengths = [len(method.to_bytes(sketch)) for sketch in sketches_of(name)]
    index, claims = index_for(method), deque()

    def claim_and_release(count):
        for number in range(count):
            sketch = method.from_bytes(random_sketch(method, lengths[number % len(lengths)]))
            claims.append((sketch, index.add(sketch)))
            if len(claims) > 20:
                assert index.discard(*claims.popleft())

    def random_sketch(method, length):
        data = chooser.bytes(length)
        if not isinstance(method, FingerprintMethod):
            return data
        return data[:-1] + bytes([data[-1] >> 8 * length - method.bits])

    claim_and_release(2_500)
    before = index.nbytes
    claim_and_release(5_000)
    assert index.nbytes <= before * 1.1 + 4_096
    assert all(index.discard(sketch, page) for sketch, page in claims)
    assert len(index) == 0


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
