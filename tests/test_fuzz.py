"""A short form of ``benchmarks/fuzz.py``, which is run for hours before a release."""

import runpy
from pathlib import Path

import pytest

FUZZ = Path(__file__).parents[1] / "benchmarks" / "fuzz.py"


@pytest.fixture(scope="module")
def fuzz():
    return runpy.run_path(str(FUZZ))


@pytest.mark.slow
def test_mutated_pages_are_read_in_both_ways_alike_in_bounded_time_and_memory(fuzz):
    figures = fuzz["measure"]([], range(250), 1)
    assert figures["faults"] == []
    assert figures["counts"]["pages"] == 250
    assert figures["counts"]["read"] > 240
    assert figures["counts"]["with a sketch"] > 100


def test_a_page_of_the_fuzz_is_the_same_by_its_number(fuzz):
    def pages(seed, numbers):
        originals = fuzz["originals"]([])
        return [fuzz["mutated"](originals, seed, number) for number in numbers]

    assert pages(1, range(40))[20:] == pages(1, range(20, 40))
    assert pages(1, range(40)) != pages(2, range(40))
