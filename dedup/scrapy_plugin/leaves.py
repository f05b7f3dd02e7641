"""The single values that values are made of."""

from collections import deque
from collections.abc import Callable, ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from datetime import date, time, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import partial
from itertools import islice
from pathlib import PurePath
from types import (
    AsyncGeneratorType,
    BuiltinFunctionType,
    CoroutineType,
    FunctionType,
    GeneratorType,
    MethodType,
    ModuleType,
)
from typing import Any
from uuid import UUID

from itemadapter import ItemAdapter
from itemloaders import ItemLoader
from parsel import Selector
from scrapy import Request, Spider
from scrapy.http import Response

from dedup.scrapy_plugin.handover import values_of, values_within

OPAQUE = object()
"""Stands for an object that cannot be looked into: an iterator, a connection, one made in C."""

_MOST_LEAVES = 10_000
_DEEPEST = 20


class UnclearBaggageError(Exception):
    """Values are more than can be compared, or cannot be read."""


def leaves_of(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the single values that *value* is made of, under the names that lead to them.

    A response is a single value. Raises UnclearBaggageError if they are too many or too deep.
    """
    # With what each is in: kept, since the identity of an object that is gone may be reused.
    open_values: list[tuple[str, Any, tuple[Any, ...]]] = [(name, value, ())]
    count = 0
    while open_values:
        name, value, around = open_values.pop()
        if value is None or isinstance(value, Spider):
            continue
        count += 1
        if count > _MOST_LEAVES or len(around) > _DEEPEST:
            raise UnclearBaggageError
        if value is OPAQUE or isinstance(value, _SINGLE):
            yield name, value
        elif not any(value is outer for outer in around):
            parts = list(islice(_parts_of(value), _MOST_LEAVES + 1))
            around = (*around, value)
            open_values += [(f"{name}.{part}", inner, around) for part, inner in reversed(parts)]


def _parts_of(value: Any) -> Iterable[tuple[str, Any]]:
    """Return names and values of what *value* is made of."""
    for kinds, parts in _PARTS:
        if isinstance(value, kinds):
            return parts(value)
    if ItemAdapter.is_item(value):
        return _named(ItemAdapter(value))
    if isinstance(value, Mapping):
        return _named(value)
    if type(value).__module__.partition(".")[0] in _TOOLS:
        return ()
    return _state(value)


def _named(values: Mapping[Any, Any]) -> Iterable[tuple[str, Any]]:
    return ((str(name), inner) for name, inner in values.items())


def _numbered(values: Iterable[Any]) -> Iterable[tuple[str, Any]]:
    return ((str(place), inner) for place, inner in enumerate(values))


def _unordered(values: Iterable[Any]) -> Iterable[tuple[str, Any]]:
    return (("", inner) for inner in sorted(values, key=repr))


def _of_loader(loader: ItemLoader) -> Iterable[tuple[str, Any]]:
    values = dict(getattr(loader, "_values", {}))
    return [("item", loader.item), ("values", values), ("selector", loader.selector)]


def _of_selector(selector: Selector) -> Iterable[tuple[str, Any]]:
    response = getattr(selector, "response", None)
    return [("response", response if response is not None else selector.get())]


def _of_request(request: Request) -> Iterable[tuple[str, Any]]:
    return [("url", request.url), ("body", request.body), *values_of(request)]


def _of_generator(generator: Any) -> Iterable[tuple[str, Any]]:
    frames = (getattr(generator, name, None) for name in ("gi_frame", "ag_frame", "cr_frame"))
    frame = next(filter(None, frames), None)
    return list(frame.f_locals.items()) if frame else ()


def _state(value: Any) -> Iterable[tuple[str, Any]]:
    slots = {name for kind in type(value).__mro__ for name in _slots_of(kind)}
    state = {name: getattr(value, name) for name in slots if hasattr(value, name)}
    state |= getattr(value, "__dict__", {})
    if not state and type(value) is not object:
        return [("", OPAQUE)]
    return sorted(state.items())


def _slots_of(kind: type) -> Iterable[str]:
    slots = vars(kind).get("__slots__", ())
    return [slots] if isinstance(slots, str) else [slot for slot in slots if slot[:2] != "__"]


_SINGLE = (
    str, bytes, bytearray, int, float, complex, Decimal, Fraction, UUID, PurePath,
    date, time, timedelta, Response,
)  # fmt: skip
_PARTS: list[tuple[tuple[type, ...], Callable[[Any], Iterable[tuple[str, Any]]]]] = [
    ((ItemLoader,), _of_loader),
    ((Selector,), _of_selector),
    ((list, tuple, deque, KeysView, ValuesView, ItemsView), _numbered),
    ((set, frozenset), _unordered),
    ((Request,), _of_request),
    ((GeneratorType, AsyncGeneratorType, CoroutineType), _of_generator),
    ((FunctionType, MethodType, partial), values_within),
    ((type, ModuleType, BuiltinFunctionType), lambda code: ()),
]
# Objects of these packages are tools, not contents.
_TOOLS = frozenset(
    {"asyncio", "logging", "_thread", "threading", "scrapy", "twisted", "playwright"}
)
