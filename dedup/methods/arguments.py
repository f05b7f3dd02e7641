"""The arguments of methods: fields of dataclasses, with what is checked when one is made."""

import inspect
from collections.abc import Collection, Mapping
from dataclasses import field
from typing import Any


def whole(default: int, least: int, most: int | str | None = None) -> Any:
    """Return the field of an integer from *least* to *most*, which may name another field."""

    def check(method: Any, name: str, value: Any) -> None:
        check_whole(name, value, least, getattr(method, most) if isinstance(most, str) else most)

    return field(default=default, metadata={"check": check})


def share(default: float) -> Any:
    """Return the field of a number from 0 to 1."""

    def check(_method: Any, name: str, value: Any) -> None:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not (is_number and 0 <= value <= 1):
            raise ValueError(f"{name} must be from 0 to 1, got {value!r}")

    return field(default=default, metadata={"check": check})


def choice(default: str, choices: Collection[str]) -> Any:
    """Return the field of one of *choices*."""

    def check(_method: Any, name: str, value: Any) -> None:
        if value not in choices:
            raise ValueError(f"{name} must be one of {', '.join(choices)}, got {value!r}")

    return field(default=default, metadata={"check": check})


def fixed(value: Any) -> Any:
    """Return the field of an argument that only the base class takes."""
    return field(default=value, init=False)


def check_arguments(kind: type, arguments: Mapping[str, Any]) -> None:
    """Raise TypeError, naming the choices, unless the constructor of *kind* takes *arguments*."""
    signature = inspect.signature(kind)
    try:
        signature.bind(**arguments)
    except TypeError as error:
        choices = ", ".join(signature.parameters) or "no arguments"
        raise TypeError(f"takes {choices}, got {arguments!r}") from error


def check_whole(name: str, value: Any, least: int, most: int | None = None) -> None:
    """Raise ValueError, naming *name*, unless *value* is an int from *least* to *most*."""
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    if not is_whole or value < least or (most is not None and value > most):
        wanted = f"{least} or more" if most is None else f"from {least} to {most}"
        raise ValueError(f"{name} must be {wanted}, got {value!r}")
