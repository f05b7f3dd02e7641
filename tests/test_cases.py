"""One test of many cases, and of how many."""

import inspect

import pytest
from cases import each


@each(("one", "other"), [(1, 1), (1, 2), (3, 3), (3, 4)])
def equal(fixture: list[int], one: int, other: int) -> None:
    fixture.append(one)
    assert one == other


def test_all_cases_run_and_those_that_fail_are_told_with_their_values():
    tried: list[int] = []
    with pytest.raises(ExceptionGroup, match="2 of 4 cases failed") as raised:
        equal(fixture=tried)
    assert tried == [1, 1, 3, 3]
    assert [error.__notes__ for error in raised.value.exceptions] == [
        ["the case: {'one': 1, 'other': 2}"],
        ["the case: {'one': 3, 'other': 4}"],
    ]
    assert list(inspect.signature(equal).parameters) == ["fixture"]
