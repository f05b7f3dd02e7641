"""Runs -> matches -> verdicts, as a scan on one machine has them; without Spark."""

from collections import Counter
from itertools import combinations

import judged
import numpy as np
import pytest
import without_spark
from hypothesis import given
from hypothesis import strategies as st

from dedup.evidence import STRICT, Evidence, Objection
from dedup.methods import METHODS
from dedup.record import PageRecord
from dedup.rule import Rule
from dedup.spark import comparison
from dedup.spark.comparison import Comparison, Members, Shared
from dedup.spark.pairs import components, fingerprints

RULES = [Rule(), Rule(min_tokens=40, short_pages="keep"), Rule(demands=STRICT), Rule(demands=None)]


def have_limits(patch, limits, name):
    """Everything is long and more than enough, so that small collections meet all there is."""
    if limits != "as it is":
        # At distance 12, a run is split into 13, each of these again, and so on.
        _have_short_runs(patch, 16 if name == "random-projection" else 4)
    if limits == "small budgets":
        patch.setattr(comparison, "_LEAST_BUDGET", 2)
        patch.setattr(comparison, "_LINKS_A_MEMBER", 1)
        patch.setattr(comparison, "_PAIRS_AT_ONCE", 3)


def _have_short_runs(patch, short=4):
    for module in (comparison, components, fingerprints):
        patch.setattr(module, "SHORT", short)
    patch.setattr(components, "_PAIRS_TO_SORT", 0)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(METHODS))
@given(
    seed=st.integers(0, 10**9),
    rule=st.sampled_from(RULES),
    limits=st.sampled_from(["as it is", "short runs", "small budgets"]),
)
def test_texts_and_pages_are_judged_as_in_a_scan(name, seed, rule, limits):
    method = METHODS[name]()
    for collection in (judged.records(method, seed), judged.pages(method, seed)):
        with pytest.MonkeyPatch.context() as patch:
            have_limits(patch, limits, name)
            verdicts, _, objections = without_spark.judged(method, rule, collection)
        counts = Counter(objections.values())
        assert (verdicts, counts) == judged.expected_with_objections(method, rule, collection)


def shown(record, *, size=1000, coverage=1.0, title):
    """Return *record* with its own view, as that of a page of its own host."""
    view = int(record.key[9:]).to_bytes(16, "big")
    evidence = Evidence(coverage, view, size, title, b"").to_bytes()
    return record.under(f"http://host{record.key[9:]}/")._replace(evidence=evidence)


def check_objections(method, collection, expected):
    """Check that a scan and Spark keep all of *collection*, by the objections *expected*."""
    verdicts, _, objections = without_spark.judged(method, Rule(), collection)
    scan = judged.expected_with_objections(method, Rule(), collection)
    assert (verdicts, Counter(objections.values())) == scan
    assert objections == expected


def test_of_what_is_at_no_distance_the_earliest_is_asked_though_another_is_equal():
    method = METHODS["long-sentences"]()
    names = "first second third"
    sentences = [f"The {name} of three sentences is long enough." for name in names.split()]
    # The second and third have the same long sentences, of which the first one has but two.
    texts = [sentences[:2], sentences, [*sentences, "Short."]]
    collection = judged.read(method, ["\n".join(text * 2) for text in texts])
    sizes = [1000, 1900, 1900]
    collection = [
        shown(record, size=size, title=f"{place:4}".encode())
        for place, (record, size) in enumerate(zip(collection, sizes, strict=True))
    ]
    check_objections(method, collection, {1: Objection.LONGER, 2: Objection.LONGER})


def test_pages_that_only_match_what_shows_nothing_have_an_objection_if_they_are_weak():
    method = METHODS["exact"]()
    first, second = judged.read(method, ["a text of some words " * 9] * 2)
    collection = [first, shown(second, coverage=0.2, title=b"name")]
    check_objections(method, collection, {1: Objection.WEAK})


@pytest.mark.slow
@pytest.mark.parametrize("coverage", [0.2, 1.0])
def test_of_many_pages_with_one_text_those_are_asked_that_a_scan_asks(coverage):
    """Each has a name and a view of its own, and the first ones are much longer than the others."""
    method, rule = METHODS["simhash"](), Rule()
    collection = [
        PageRecord(f"http://host{number}/", "", 30, bytes(16), bytes(8))._replace(
            evidence=Evidence(
                coverage, number.to_bytes(16, "big"), 900 if number < 2 else 100 + number % 7,
                b"%4d" % number, b"%4d" % number,
            ).to_bytes()
        )
        for number in range(700)
    ]  # fmt: skip
    verdicts, _, objections = without_spark.judged(method, rule, collection)
    expected = judged.expected_with_objections(method, rule, collection)
    assert (verdicts, Counter(objections.values())) == expected
    assert len(objections) == 699


SETS = ["segments", "long-sentences", "feature-code"]


def payloads_of(name, seed, size):
    """Return what is compared of pages of which some are alike, in some or in most components."""
    chooser = np.random.default_rng(seed)
    if name in SETS:
        common = chooser.integers(0, 2**63, 30, np.uint64)
        own = [chooser.choice(common, chooser.integers(2, 12), replace=False) for _ in range(size)]
        return [np.unique(np.append(row, common[:2])).astype("<u8").tobytes() for row in own]
    length = {"minhash": 400, "shingling": 48, "combined": 96, "verified": 164}[name]
    unit = {"minhash": 4, "shingling": 8}.get(name, 1)
    rows = chooser.integers(0, 256, (size, length // unit, unit), np.uint8)
    for _ in range(size):
        one, other = chooser.integers(0, size, 2)
        share = chooser.choice([0.3, 0.6, 0.8, 0.97])
        is_equal = chooser.random(length // unit) < share
        rows[one, is_equal] = rows[other, is_equal]
    if name == "verified":
        rows[:, 0] = 200  # tokens
        rows[:, 1:4] = chooser.choice([0, 1], p=[0.9, 0.1])  # numbers
    return [row.tobytes() for row in rows]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["minhash", "shingling", "combined", "verified", *SETS])
@pytest.mark.parametrize("strict", [False, True])
@given(seed=st.integers(0, 10**9), size=st.integers(5, 150))
def test_of_a_hot_key_all_that_match_are_linked_however_few_pairs_are_compared(
    name, strict, seed, size
):
    method = METHODS[name]()
    if strict:
        method.max_distance = 0.05 if method.max_distance < 1 else 2
    payloads = payloads_of(name, seed, size)
    nodes = np.arange(size)
    with pytest.MonkeyPatch.context() as patch:
        _have_short_runs(patch)
        patch.setattr(comparison, "_LINKS_A_MEMBER", 4)
        compared = Comparison(method, Rule())
        members = Members(Shared.KEY, np.array([0]), nodes, nodes, payloads, [None] * size)
        links = list(compared.links(members))
    found = {
        (page, original): distance
        for part in links
        for page, original, distance in zip(
            part.pages.tolist(), part.originals.tolist(), part.distances.tolist(), strict=True
        )
    }
    pairs = [(later, earlier) for earlier, later in combinations(range(size), 2)]
    columns = ([payloads[pair[n]] for pair in pairs] for n in (0, 1))
    distances = method.distances_of_pairs(*columns).tolist()
    assert found == {
        pair: distance
        for pair, distance in zip(pairs, distances, strict=True)
        if distance <= method.max_distance
    }
    assert not any(len(part) for part in compared.incomplete)
