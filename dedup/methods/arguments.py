"""Checks for the arguments of methods."""

import inspect
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np


def check_arguments(kind: type, arguments: Mapping[str, Any]) -> None:
    """Raise TypeError, naming the choices, unless the constructor of *kind* takes *arguments*."""
    signature = inspect.signature(kind)
    try:
        signature.bind(**arguments)
    except TypeError as error:
        choices = ", ".join(signature.parameters) or "no arguments"
        raise TypeError(f"takes {choices}, got {arguments!r}") from error


def is_whole(value: Any) -> bool:
    """Return whether *value* is an int other than a bool."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    """Return whether *value* is an integer of Python or NumPy, but not a bool."""
    # The first test is fast, for the most frequent case.
    return type(value) is int or (
        isinstance(value, int | np.integer) and not isinstance(value, bool)
    )


def check_whole(name: str, value: Any, least: int, most: int | None = None) -> None:
    """Raise ValueError, naming *name*, unless *value* is an integer from *least* to *most*."""
    if not is_whole(value) or value < least or (most is not None and value > most):
        wanted = f"{least} or more" if most is None else f"from {least} to {most}"
        raise ValueError(f"{name} must be {wanted}, got {value!r}")


def check_share(name: str, value: Any) -> None:
    """Raise ValueError, naming *name*, unless *value* is a number from 0 to 1."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not (is_number and 0 <= value <= 1):
        raise ValueError(f"{name} must be from 0 to 1, got {value!r}")


def check_choice(name: str, value: Any, choices: Iterable[str]) -> None:
    """Raise ValueError, naming *name* and the *choices*, unless *value* is one of them."""
    choices = tuple(choices)
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(choices)}, got {value!r}")
