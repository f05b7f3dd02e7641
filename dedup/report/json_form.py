"""Dataclasses <-> what JSON can hold: one key a field."""

from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache, partial
from types import UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

T = TypeVar("T")


def as_json(value: Any) -> Any:
    """Return *value* with dataclasses as dictionaries, in the order of fields, and tuples as lists.

    A field that would be a keyword of Python ends in an underscore, and its key does not.
    """
    if is_dataclass(value):
        return {_key(field.name): as_json(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, dict):
        return {key: as_json(child) for key, child in value.items()}
    return [as_json(child) for child in value] if isinstance(value, list | tuple) else value


def from_json(kind: type[T], value: Any) -> T:
    """Return *value*, which `as_json` gave and JSON may have held since, as the dataclass *kind*.

    A field that is missing has its default, as one has that older reports lack. Raises ValueError
    if it has none, and if a value is not of its type; keys without a field are ignored.
    """
    read: T = _read(kind, value, kind.__name__)
    return read


def _read(kind: Any, value: Any, place: str) -> Any:
    """Return *value* as a *kind*, which is a type or an annotation; *place* is for messages."""
    origin, arguments = get_origin(kind), get_args(kind)
    if kind is Any:
        return value
    if origin is UnionType:  # with None
        return None if value is None else _read(arguments[0], value, place)
    if is_dataclass(kind):
        return _read_fields(kind, value, place)
    if origin is tuple:
        _check(value, (list, tuple), place)
        kinds = arguments[:1] * len(value) if arguments[-1] is ... else arguments
        if len(kinds) != len(value):
            raise ValueError(f"{place} must have {len(kinds)} values, got {len(value)}")
        return tuple(map(partial(_read, place=place), kinds, value))
    if hasattr(origin, "keys"):
        _check(value, dict, place)
        to_key = _number if arguments[0] is float else str
        return {to_key(key): _read(arguments[1], child, place) for key, child in value.items()}
    _check(value, (int, float) if kind is float else kind, place)
    return value


def _read_fields(kind: Any, value: Any, place: str) -> Any:
    _check(value, dict, place)
    needed = [_key(field.name) for field in fields(kind) if not _has_default(field)]
    if missing := [key for key in needed if key not in value]:
        raise ValueError(f"{place} lacks {', '.join(missing)}")
    return kind(
        **{
            name: _read(hint, value[_key(name)], f"{place}.{_key(name)}")
            for name, hint in _hints(kind).items()
            if _key(name) in value
        }
    )


def _has_default(field: Field[Any]) -> bool:
    return field.default is not MISSING or field.default_factory is not MISSING


def _check(value: Any, kind: Any, place: str) -> None:
    if not isinstance(value, kind):
        raise ValueError(f"{place} has a value of the wrong type: {value!r:.100}")


def _number(key: Any) -> float:
    """Return a key that is a number again; JSON has strings only."""
    number = float(key)
    return int(number) if number.is_integer() else number


def _key(name: str) -> str:
    return name.removesuffix("_")


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)
