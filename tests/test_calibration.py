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
    Calibration,
    Candidates,
    _count_before_chance,
    find_candidates,
    recommend,
)
from dedup.methods import METHODS, FingerprintMethod, SimHash
from dedup.methods.minhash import MinHash
from dedup.search import order_to_compare
from dedup.text import Document

PAIRS = [10, 12, 15, 20, 30, 60, 150, 400]
SHARES = [1.0, 1.0, 0.95, 0.8, 0.5, 0.2, 0.05, 0.01]


def collection(sizes=PAIRS, method=None, first=0):
    """Candidates of a method, *sizes* of them at each distance from 0 on, and the pages' keys."""
    numbers = itertools.count(first)
    strata = {
        distance: [(2 * number, 2 * number + 1) for number in itertools.islice(numbers, size)]
        for distance, size in enumerate(sizes)
    }
    return Candidates(method or SimHash(), strata)


def keys_of(*candidates):
    last = max(pair[1] for found in candidates for s in found.strata.values() for pair in s)
    return [f"page {number}" for number in range(last + 1)]


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
    candidates = collection()
    keys = keys_of(candidates)
    covered, errors = [], []
    for seed in range(100):
        labels = labelled(candidates, SHARES, seed)
        calibration = Calibration(keys, [candidates], seed)
        judged = {pair: labels[pair] for pair in calibration.sample(80)}
        steps = calibration.steps(candidates, judged)
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
    calibration = Calibration(keys_of(candidates), [candidates])
    widths = []
    for count in (30, 120, 1000):
        judged = {pair: labels[pair] for pair in calibration.sample(count)}
        steps = calibration.steps(candidates, judged)
        widths.append(np.mean([step.precision.high - step.precision.low for step in steps]))
    assert widths == sorted(widths, reverse=True)
    assert widths[-1] == 0
    precision, recall = truth(candidates, labels)
    assert [step.precision.mean for step in steps] == pytest.approx(precision.tolist())
    assert [step.recall.mean for step in steps] == pytest.approx(recall.tolist())
    assert [step.found for step in steps][-1] == sum(label == YES for label in labels.values())


def test_of_a_stratum_the_first_pairs_in_the_order_count_however_the_others_were_chosen():
    candidates = collection([100])
    calibration = Calibration(keys_of(candidates), [candidates])
    order = calibration.sample(100)
    labels = dict.fromkeys(order[:10], YES) | dict.fromkeys(order[11:60], NO)
    [step] = calibration.steps(candidates, labels)
    assert (step.pairs, step.judged, step.right) == (100, 10, 10)


def test_pairs_of_which_nobody_can_tell_do_not_count():
    candidates = collection([40])
    calibration = Calibration(keys_of(candidates), [candidates])
    order = calibration.sample(40)
    labels = dict.fromkeys(order[:20], YES) | dict.fromkeys(order[20:], SKIP)
    [step] = calibration.steps(candidates, labels)
    assert (step.judged, step.right, step.found) == (20, 20, 20)
    assert step.precision.mean == step.recall.mean == 1
    [half] = calibration.steps(candidates, dict.fromkeys(order[:10], YES) | dict.fromkeys(
        order[10:20], SKIP))  # fmt: skip
    assert half.found == pytest.approx(20, abs=2)


def test_nothing_judged_is_nothing_known():
    candidates = collection([10, 10])
    [step] = Calibration(keys_of(candidates), [candidates]).steps(candidates, {})
    assert (step.pairs, step.judged, step.right) == (20, 0, 0)
    assert step.precision == (0, 0, 1)


def test_strata_that_nobody_judged_are_one_with_the_next_and_the_last_with_the_one_before():
    candidates = collection([10, 20, 30, 40])
    calibration = Calibration(keys_of(candidates), [candidates])
    strata = list(candidates.strata.values())
    judged = [*strata[1], *strata[2]]
    steps = calibration.steps(candidates, dict.fromkeys(judged, YES))
    thresholds = list(candidates.strata)
    # The first has no answer before those of the second, which are none of its own.
    assert [(step.threshold, step.pairs, step.judged) for step in steps] == [
        (thresholds[1], 30, 20), (thresholds[3], 70, 30)
    ]  # fmt: skip


def test_without_near_duplicates_none_is_missed():
    candidates = collection([10])
    calibration = Calibration(keys_of(candidates), [candidates])
    [step] = calibration.steps(candidates, dict.fromkeys(calibration.pairs, NO))
    assert (step.precision.mean, step.recall.mean) == (0, 1)


def test_a_sample_has_some_of_all_strata_and_a_larger_one_continues_it():
    candidates = collection([1, 25, 100, 400])
    calibration = Calibration(keys_of(candidates), [candidates])
    sample = calibration.sample(72)
    counts = [len(set(stratum) & set(sample)) for stratum in candidates.strata.values()]
    assert counts == [1, 10, 20, 41]
    few = calibration.sample(17)
    assert few == sample[:17]
    assert [len(set(stratum) & set(few)) for stratum in candidates.strata.values()] == [0, 2, 5, 10]
    assert sorted(calibration.sample(10_000)) == sorted(calibration.pairs)


def test_a_sample_depends_on_the_seed_and_not_on_the_order_of_the_pages():
    def chosen(keys, strata, seed=0):
        sample = Calibration(keys, [Candidates(SimHash(), strata)], seed).sample(5)
        return [frozenset(keys[number] for number in pair) for pair in sample]

    keys = [f"page {number}" for number in range(20)]
    pairs = [(one, other) for one in range(20) for other in range(one + 1, 20)]
    forwards = chosen(keys, {0: list(pairs)})
    assert forwards == chosen(keys[::-1], {0: pairs[::-1]})
    assert forwards != chosen(keys, {0: list(pairs)}, seed=1)


def test_what_only_other_methods_find_is_not_guessed_anew_for_each_of_them():
    """The recall of a method that finds everything, beside ever more that find little else."""
    best = collection([40, 40], MinHash())
    labels = dict.fromkeys(best.strata[0], YES) | dict.fromkeys(best.strata[1], NO)
    first = 80
    others = []
    for _ in range(8):
        other = collection([6, 6, 6, 6], first=first)
        labels |= dict.fromkeys((pair for s in other.strata.values() for pair in s), NO)
        others.append(other)
        first += 24
    recalls = []
    for count in (1, 8):
        calibration = Calibration(keys_of(*others), [best, *others[:count]])
        judged = {pair: labels[pair] for pair in [*calibration.sample(1000)][: 30 * count]}
        recalls.append(calibration.steps(best, judged)[-1].recall)
    assert all(recall.high > 0.99 for recall in recalls)
    assert recalls[1].mean > 0.9


def test_methods_share_the_judgements_and_recall_is_of_what_any_of_them_finds():
    one = Candidates(SimHash(), {3: [(0, 1), (2, 3), (4, 5)]})
    other = Candidates(MinHash(), {10: [(0, 1), (6, 7)], 20: [(8, 9), (2, 3)], 30: []})
    calibration = Calibration([str(number) for number in range(10)], [one, other])
    assert sorted(calibration.sample(9)) == [(0, 1), (2, 3), (4, 5), (6, 7), (8, 9)]
    labels = dict.fromkeys(calibration.pairs, YES) | {(4, 5): NO}
    [step] = calibration.steps(one, labels)
    assert (step.precision.mean, step.recall.mean) == (pytest.approx(2 / 3), 2 / 4)
    assert [step.recall.mean for step in calibration.steps(other, labels)] == [2 / 4, 1]


@pytest.mark.slow
def test_samples_of_several_methods_are_random_for_each():
    one, other = collection(method=SimHash()), collection([500, 500], MinHash(), first=100)
    keys = keys_of(one, other)
    labels = labelled(other, [0.9, 0.1], 0) | labelled(one, SHARES, 0)
    exact = sum(labels[pair] == YES for pair in other.strata[0]) / 500
    means = []
    for seed in range(40):
        calibration = Calibration(keys, [one, other], seed)
        judged = {pair: labels[pair] for pair in calibration.sample(150)}
        means.append(calibration.steps(other, judged)[0].precision.mean)
    assert np.mean(means) == pytest.approx(exact, abs=0.04)


@each(
    ("sizes", "kept"),
    [
        ([5, 5, 5], 3),
        ([5, 600, 5], 3),  # there are few pairs before
        ([0, 600], 2),
        ([49, 51, 51], 2),
        ([50, 26, 5], 1),
        ([50, 25, 38], 2),
        ([50, 25, 37], 3),
        ([1000], 1),
    ],
)
def test_strata_end_where_pairs_are_alike_by_chance(sizes, kept):
    assert _count_before_chance([[(0, 1)] * size for size in sizes], 1000) == kept


@pytest.fixture(scope="module")
def documents():
    texts = [article(number) for number in range(60)]
    copies = [edited(article(number), f"word{number}") for number in range(0, 60, 5)]
    return [Document.from_main_text(text) for text in texts + copies]


@pytest.mark.slow
@pytest.mark.parametrize("kind", METHODS.values(), ids=METHODS)
def test_every_method_can_be_calibrated(documents, kind):
    found = find_candidates(kind, {}, documents)
    sketches = [found.method.sketch(document) for document in documents]
    bounds = [-1, *found.strata]
    for (low, high), stratum in zip(itertools.pairwise(bounds), found.strata.values(), strict=True):
        for pair in stratum:
            # A part is judged after what contains it.
            other, one = sorted(pair, key=order_to_compare(found.method, documents).index)
            assert pair[0] < pair[1]
            assert low < found.method.distance(sketches[one], sketches[other]) <= high
    if issubclass(kind, FingerprintMethod):
        near = {
            pair
            for pair in itertools.combinations(range(len(documents)), 2)
            if found.method.distance(*(sketches[n] for n in pair)) <= found.max_distance
        }
        assert {pair for stratum in found.strata.values() for pair in stratum} == near


@each(
    ("kind", "arguments", "thresholds"),
    [
        (SimHash, {"max_distance": 2}, [0, 1, 2]),
        (MinHash, {"max_distance": 6}, [0, 4, 6]),
        (METHODS["exact"], {}, [0]),
        (METHODS["i-match"], {"randomised": 3}, [3]),
    ],
)
def test_thresholds_are_those_of_the_sweep_up_to_the_one_that_is_given(
    documents, kind, arguments, thresholds
):
    assert list(find_candidates(kind, arguments, documents).strata) == thresholds


def test_a_given_threshold_is_not_narrowed(documents):
    assert find_candidates(SimHash, {"max_distance": 30}, documents).max_distance == 30
    assert find_candidates(SimHash, {}, documents).max_distance < 16


def test_the_largest_threshold_that_is_precise_enough_is_recommended():
    candidates = collection([20, 20, 20])
    calibration = Calibration(keys_of(candidates), [candidates])
    labels = labelled(candidates, [1, 1, 0], 0)
    steps = calibration.steps(candidates, labels)
    assert recommend(steps).threshold == 1
    assert recommend(calibration.steps(candidates, dict.fromkeys(labels, YES))).threshold == 2
    assert recommend(calibration.steps(candidates, dict.fromkeys(labels, NO))) is None
    # Nothing that was judged says that there is any.
    assert recommend(calibration.steps(candidates, dict.fromkeys(labels, SKIP))) is None
