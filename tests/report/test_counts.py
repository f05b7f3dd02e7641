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
    expected, quantiles = exact_quantile(durations, share), filled(durations)
    assert quantiles.quantile(share) == pytest.approx(expected, rel=0.01)
    assert (quantiles.count, quantiles.sum) == (len(durations), pytest.approx(sum(durations)))


def test_what_no_clock_can_measure_counts_as_a_nanosecond_and_nothing_has_no_quantile():
    assert filled([-1.0]).quantile(0.5) == pytest.approx(1e-9, rel=0.01)
    quantiles = Quantiles()
    assert (quantiles.quantile(0.5), quantiles.count, quantiles.sum) == (None, 0, 0.0)


def test_the_memory_does_not_grow_with_the_number_of_durations():
    quantiles = filled(0.001 + i / 1e7 for i in range(100_000))
    assert len(quantiles._counts) < 150
