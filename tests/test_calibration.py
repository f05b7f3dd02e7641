import itertools
import random

import numpy as np
import pytest
from cases import each
from texts import article, edited

from dedup.calibration import (
    NO,
    SKIP,
    YES,
    Candidates,
    _count_before_chance,
    find_candidates,
    recommend,
    shuffle,
)
from dedup.methods import METHODS, FingerprintMethod, SimHash
from dedup.methods.keyed import KeyedHashing
from dedup.plugins import MethodChoice
from dedup.search import order_to_compare
from dedup.text import Document

PAIRS = [10, 12, 15, 20, 30, 60, 150, 400]
SHARES = [1.0, 1.0, 0.95, 0.8, 0.5, 0.2, 0.05, 0.01]


def collection(sizes=PAIRS, site="page"):
    """Candidates of a method, *sizes* of them at each distance from 0 on, in a random order."""
    numbers = itertools.count()
    keys = [f"{site} {number}" for number in range(2 * sum(sizes))]
    strata = {
        distance: shuffle([(2 * n, 2 * n + 1) for n in itertools.islice(numbers, size)], keys)
        for distance, size in enumerate(sizes)
    }
    return Candidates(SimHash(), strata)


def labelled(candidates, shares, seed):
    chooser = random.Random(seed)
    return {
        pair: YES if chooser.random() < share else NO
        for stratum, share in zip(candidates.strata.values(), shares, strict=True)
        for pair in stratum
    }


def truth(candidates, labels):
    """The exact precision and recall at each threshold."""
    right = np.cumsum([sum(labels[pair] == YES for pair in s) for s in candidates.strata.values()])
    pairs = np.cumsum([len(stratum) for stratum in candidates.strata.values()])
    return right / pairs, right / right[-1]


@pytest.mark.slow
def test_the_intervals_hold_the_truth_about_as_often_as_they_say():
    covered, errors = [], []
    for seed in range(100):
        candidates = collection(site=f"site {seed}")
        labels = labelled(candidates, SHARES, seed)
        steps = candidates.steps({pair: labels[pair] for pair in candidates.sample(80)})
        exact = np.array(truth(candidates, labels)).T
        estimates = [[step.precision, step.recall] for step in steps]
        covered.append(
            [
                [e.low - 1e-9 <= value <= e.high + 1e-9 for e, value in zip(*both, strict=True)]
                for both in zip(estimates, exact, strict=True)
            ]
        )
        errors.append(np.array([[e.mean for e in both] for both in estimates]) - exact)
    assert np.mean(covered) > 0.93
    assert np.mean(covered, axis=0).min() > 0.88
    assert np.abs(np.mean(errors, axis=0)).max() < 0.08


def test_more_judgements_make_it_surer_and_all_of_them_sure():
    candidates = collection()
    labels = labelled(candidates, SHARES, 1)
    widths = []
    for count in (30, 120, 1000):
        judged = {pair: labels[pair] for pair in candidates.sample(count)}
        steps = candidates.steps(judged)
        widths.append(np.mean([step.precision.high - step.precision.low for step in steps]))
    assert widths == sorted(widths, reverse=True)
    assert widths[-1] == 0
    precision, recall = truth(candidates, labels)
    assert [step.precision.mean for step in steps] == pytest.approx(precision.tolist())
    assert [step.recall.mean for step in steps] == pytest.approx(recall.tolist())
    assert [step.found for step in steps][-1] == sum(label == YES for label in labels.values())


def test_of_a_stratum_the_first_pairs_in_the_order_count_however_the_others_were_chosen():
    candidates = collection([100])
    order = candidates.sample(100)
    labels = dict.fromkeys(order[:10], YES) | dict.fromkeys(order[11:60], NO)
    [step] = candidates.steps(labels)
    assert (step.pairs, step.judged, step.right) == (100, 10, 10)


def test_pairs_of_which_nobody_can_tell_count_as_those_that_nobody_judged():
    candidates = collection([40])
    order = candidates.sample(40)
    judged = dict.fromkeys(order[:20], YES)
    [step] = candidates.steps(judged | dict.fromkeys(order[20:], SKIP))
    assert [step] == candidates.steps(judged)
    assert (step.judged, step.right, step.found) == (20, 20, 40)
    # But they do not hide the answers after them.
    [step] = candidates.steps(judged | {order[9]: SKIP})
    assert (step.judged, step.right) == (19, 19)


def test_pairs_that_nobody_judged_may_be_anything():
    candidates = collection([10, 20, 30])
    _, judged, rest = candidates.strata.values()
    steps = candidates.steps(dict.fromkeys(judged, YES) | dict.fromkeys(rest[:3], NO))
    assert [(step.pairs, step.judged) for step in steps] == [(10, 0), (20, 20), (30, 3)]
    assert steps[1].precision == (pytest.approx(2 / 3), pytest.approx(2 / 3), 1)


def test_a_sample_has_some_of_all_strata_and_a_larger_one_continues_it():
    candidates = collection([1, 25, 100, 400])
    sample = candidates.sample(72)
    counts = [len(set(stratum) & set(sample)) for stratum in candidates.strata.values()]
    assert counts == [1, 10, 20, 41]
    few = candidates.sample(17)
    assert few == sample[:17]
    assert [len(set(stratum) & set(few)) for stratum in candidates.strata.values()] == [0, 2, 5, 10]
    assert sorted(candidates.sample(10_000)) == sorted(candidates.pairs())


def test_a_sample_does_not_depend_on_the_order_of_the_pages():
    def chosen(keys, pairs):
        sample = Candidates(SimHash(), {0: shuffle(pairs, keys)}).sample(5)
        return [frozenset(keys[number] for number in pair) for pair in sample]

    keys = [f"page {number}" for number in range(20)]
    pairs = [(one, other) for one in range(20) for other in range(one + 1, 20)]
    assert chosen(keys, list(pairs)) == chosen(keys[::-1], pairs[::-1])
    assert chosen(keys, list(pairs)) != chosen([f"{key} of another" for key in keys], list(pairs))


@each(
    ("sizes", "least", "kept"),
    [
        ([5, 600, 5], 1, 3),  # there are few pairs before
        ([0, 600], 1, 2),
        ([50, 26, 5], 1, 1),
        ([50, 25, 38], 1, 2),
        ([50, 25, 37], 1, 3),
        ([50, 26, 600, 600], 3, 3),
    ],
)
def test_strata_end_where_pairs_are_alike_by_chance(sizes, least, kept):
    assert _count_before_chance([[(0, 1)] * size for size in sizes], 1000, least) == kept


@each("name", ["simhash", "verified", "minhash"])
def test_the_pairs_within_the_default_threshold_are_always_there(name):
    documents = [Document.from_main_text(f"{article(1)} {number}") for number in range(40)]
    choice = MethodChoice.of(name)
    keys = [str(number) for number in range(40)]
    found = find_candidates(choice, keys, documents)
    assert found.method.max_distance >= choice.method().max_distance


def found(kind, arguments, documents):
    keys = [str(number) for number in range(len(documents))]
    return find_candidates(MethodChoice("", kind, arguments, False), keys, documents)


@pytest.fixture(scope="module")
def documents():
    texts = [article(number) for number in range(60)]
    copies = [edited(article(number), f"word{number}") for number in range(0, 60, 5)]
    return [Document.from_main_text(text) for text in texts + copies]


@pytest.mark.slow
@pytest.mark.parametrize("kind", METHODS.values(), ids=METHODS)
def test_every_method_can_be_calibrated(documents, kind):
    all_found = found(kind, {}, documents)
    sketches = [all_found.method.sketch(document) for document in documents]
    bounds = [-1, *all_found.strata]
    for (low, high), stratum in zip(
        itertools.pairwise(bounds), all_found.strata.values(), strict=True
    ):
        for pair in stratum:
            # A part is judged after what contains it.
            other, one = sorted(pair, key=order_to_compare(all_found.method, documents).index)
            assert pair[0] < pair[1]
            assert low < all_found.method.distance(sketches[one], sketches[other]) <= high
    if issubclass(kind, FingerprintMethod):
        near = {
            pair
            for pair in itertools.combinations(range(len(documents)), 2)
            if all_found.method.distance(*(sketches[n] for n in pair))
            <= all_found.method.max_distance
        }
        assert {pair for stratum in all_found.strata.values() for pair in stratum} == near


@each(
    ("kind", "arguments", "thresholds"),
    [
        (SimHash, {"max_distance": 2}, [0, 1, 2]),
        (METHODS["minhash"], {"max_distance": 6}, [0, 4, 6]),
        (METHODS["exact"], {}, [0]),
        (METHODS["i-match"], {"randomised": 3}, [3]),
        (SimHash, {"max_distance": 30}, [*range(17), 30]),
    ],
)
def test_thresholds_are_those_of_the_sweep_up_to_the_one_that_is_given(
    documents, kind, arguments, thresholds
):
    assert list(found(kind, arguments, documents).strata) == thresholds


def test_candidates_are_found_with_a_secret(documents):
    hashing = KeyedHashing("correct horse battery staple")
    keys = [str(number) for number in range(len(documents))]
    choice = MethodChoice.of("simhash")
    candidates = find_candidates(choice, keys, documents, hashing=hashing)
    assert candidates.method.hashing is hashing
    assert candidates.pairs() != find_candidates(choice, keys, documents).pairs()


def test_the_largest_threshold_that_is_precise_enough_is_recommended():
    candidates = collection([20, 20, 20])
    labels = labelled(candidates, [1, 1, 0], 0)
    steps = candidates.steps(labels)
    assert recommend(steps).threshold == 1
    assert recommend(candidates.steps(dict.fromkeys(labels, YES))).threshold == 2
    assert recommend(candidates.steps(dict.fromkeys(labels, NO))) is None
    # Nothing that was judged says that there is any.
    assert recommend(candidates.steps(dict.fromkeys(labels, SKIP))) is None
