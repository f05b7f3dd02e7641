import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.report.counts import Quantiles

SECONDS = st.lists(st.floats(1e-9, 1e6), min_size=1)


def filled(durations):
    quantiles = Quantiles()
    for seconds in durations:
        quantiles.add(seconds)
    return quantiles


def exact_quantile(durations, share):
    """The smallest duration that *share* of all do not exceed."""
    return next(
        value
        for place, value in enumerate(sorted(durations), start=1)
        if place >= share * len(durations)
    )


@given(SECONDS, st.sampled_from([0, 0.25, 0.5, 0.9, 0.95, 1]))
def test_a_quantile_is_right_within_one_percent(durations, share):
    expected = exact_quantile(durations, share)
    assert filled(durations).quantile(share) == pytest.approx(expected, rel=0.01)


@given(SECONDS)
def test_durations_are_counted_and_summed(durations):
    quantiles = filled(durations)
    assert (quantiles.count, quantiles.sum) == (len(durations), pytest.approx(sum(durations)))


def test_without_durations_there_is_no_quantile():
    quantiles = Quantiles()
    assert (quantiles.quantile(0.5), quantiles.count, quantiles.sum) == (None, 0, 0.0)


@pytest.mark.parametrize("seconds", [0.0, -1.0, 1e-300])
def test_what_no_clock_can_measure_counts_as_a_nanosecond(seconds):
    assert filled([seconds]).quantile(0.5) == pytest.approx(1e-9, rel=0.01)


def test_the_memory_does_not_grow_with_the_number_of_durations():
    quantiles = filled(0.001 + i / 1e7 for i in range(100_000))
    assert len(quantiles._counts) < 150
