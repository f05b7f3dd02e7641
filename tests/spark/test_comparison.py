"""Runs -> matches -> verdicts, as a scan on one machine has them; without Spark."""

import judged
import pytest
import without_spark
from hypothesis import given
from hypothesis import strategies as st

from dedup.evidence import STRICT
from dedup.methods import METHODS
from dedup.rule import Rule
from dedup.spark import comparison, kernel

RULES = [Rule(), Rule(min_tokens=40, short_pages="keep"), Rule(demands=STRICT), Rule(demands=None)]


@pytest.fixture(params=["as it is", "short runs", "small budgets"])
def limits(request, monkeypatch):
    """Everything is long and more than enough, so that small collections meet all there is."""
    if request.param != "as it is":
        monkeypatch.setattr(kernel, "SHORT", 4)
        monkeypatch.setattr(comparison, "SHORT", 4)
    if request.param == "small budgets":
        monkeypatch.setattr(comparison, "_LEAST_BUDGET", 2)
        monkeypatch.setattr(comparison, "_LINKS_A_MEMBER", 1)
        monkeypatch.setattr(comparison, "_PAIRS_AT_ONCE", 3)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(METHODS))
@pytest.mark.usefixtures("limits")
@given(seed=st.integers(0, 10**9), rule=st.sampled_from(RULES))
def test_texts_and_pages_are_judged_as_in_a_scan(name, seed, rule):
    method = METHODS[name]()
    for collection in (judged.records(method, seed), judged.pages(method, seed)):
        verdicts, _ = without_spark.judged(method, rule, collection)
        assert verdicts == judged.expected(method, rule, collection)
