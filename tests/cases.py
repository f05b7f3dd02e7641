"""Tests of many small cases: a test each would take longer to start than to run."""

import inspect
import os
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from itertools import product
from reprlib import Repr
from typing import Any

_short = Repr()
_short.maxstring = _short.maxother = 200

Test = Callable[..., None]

IS_THOROUGH = bool(os.environ.get("THOROUGH"))
"""Whether all there is to try is tried, as before a release, and not only a sample of it."""


def sampled(everything: Iterable[Any], *few: Any) -> list[Any]:
    """Return *few* of *everything*, or all if tests are to be thorough."""
    return list(everything) if IS_THOROUGH else list(few)


def examples(count: int) -> int:
    """Return a fifth of *count*, or all if tests are to be thorough."""
    return count if IS_THOROUGH else max(3, count // 5)


def mixed(*columns: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Return rows with each value of each column; all combinations if tests are to be thorough."""
    if IS_THOROUGH:
        return list(product(*columns))
    return [
        tuple(
            column[(row + number * (row // len(column))) % len(column)]
            for number, column in enumerate(columns)
        )
        for row in range(max(map(len, columns)))
    ]


def each(names: str | tuple[str, ...], cases: Iterable[Any]) -> Callable[[Test], Test]:
    """Have one test run with each of *cases*, and tell all that fail, with their values.

    *names* and *cases* are those of `pytest.mark.parametrize`. All cases have the same fixtures, so
    what they change is changed for the next ones, too.
    """
    all_cases = [(case,) if isinstance(names, str) else tuple(case) for case in cases]
    all_names = [names] if isinstance(names, str) else list(names)
    assert all_cases

    def decorate(test: Test) -> Test:
        assert not inspect.iscoroutinefunction(test)

        @wraps(test)
        def run_all(*instance: Any, **fixtures: Any) -> None:
            errors = []
            for case in all_cases:
                values = dict(zip(all_names, case, strict=True))
                try:
                    test(*instance, **fixtures, **values)
                except Exception as error:
                    error.add_note(f"the case: {_short.repr(values)}")
                    errors.append(error)
            if len(errors) == 1:
                raise errors[0]
            if errors:
                raise ExceptionGroup(f"{len(errors)} of {len(all_cases)} cases failed", errors)

        signature = inspect.signature(test)
        assert set(all_names) <= set(signature.parameters)
        left = [one for name, one in signature.parameters.items() if name not in all_names]
        run_all.__signature__ = signature.replace(parameters=left)  # type: ignore[attr-defined]
        return run_all

    return decorate
