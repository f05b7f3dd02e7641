"""The method, the extractor and the scope of a crawl, which settings name or hold as objects."""

import os
import pickle
from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

from dedup.methods.arguments import check_arguments
from dedup.methods.base import Method
from dedup.methods.keyed import KeyedHashing, with_keyed_hashing
from dedup.plugins import load_extractor, load_method_class, load_preference, name_of
from dedup.preference import URL_CRITERIA
from dedup.scopes import Scope
from dedup.scrapy_plugin.settings.values import (
    Reader,
    Setting,
    SettingError,
    as_switch,
    parse_dictionary,
    parse_number,
)
from dedup.search import index_for


def extractor() -> Setting:
    """A callable that turns HTML into main text, or its name."""
    return Setting("trafilatura", load_extractor, name_of)


def scope() -> Setting:
    """What `Scope.of` takes."""
    return Setting("crawl", Scope.of, lambda _given, parsed: parsed.name)


def criteria() -> Setting:
    """Criteria by which URLs are better, by name, import path or function; none by default."""
    return Setting((), partial(load_preference, URL_CRITERIA), lambda _given, parsed: parsed.names)


def read_method(reader: Reader) -> Method:
    """Return the method that DEDUP_METHOD and DEDUP_MAX_DISTANCE describe, with the secret.

    Raises SettingError.
    """
    choice = reader.read("DEDUP_METHOD", Setting({"name": "simhash"}, _parse_method, _show_method))
    distance = reader.read("DEDUP_MAX_DISTANCE", Setting(None, _parse_distance))
    arguments = dict(choice.arguments)
    if distance is not None and arguments.setdefault("max_distance", distance) != distance:
        raise SettingError(
            f"DEDUP_MAX_DISTANCE is {distance}, and in DEDUP_METHOD it is "
            f"{arguments['max_distance']!r}: set one of them only"
        )
    name = choice.name
    try:
        check_arguments(choice.method_class, arguments)
    except TypeError as error:
        raise SettingError(f"DEDUP_METHOD, DEDUP_MAX_DISTANCE: {name} {error}") from error
    try:
        method: Method = choice.method_class(**arguments)
    except (TypeError, ValueError) as error:
        is_distance = distance is not None and "max_distance" in str(error)
        source = "DEDUP_MAX_DISTANCE" if is_distance else "DEDUP_METHOD"
        raise SettingError(f"{source}: {error}") from error
    _check_attributes(method, name)
    reader.shown["DEDUP_MAX_DISTANCE"] = method.parameters.get("max_distance")
    if secret := os.environ.get("DEDUP_SECRET"):
        reader.shown["DEDUP_SECRET"] = "set"  # never its value
        method = _add_secret(method, secret)
    if not choice.simplifies_chinese:
        return method
    try:
        return method.simplifying_chinese()
    except ValueError as error:
        raise SettingError(f"DEDUP_METHOD: simplify_chinese {error}") from error


class _Choice(NamedTuple):
    """A method before it is built."""

    name: str
    method_class: Any
    arguments: dict[str, Any]
    simplifies_chinese: bool


def _parse_method(value: Any) -> _Choice:
    if not isinstance(value, Mapping) and not str(value).lstrip().startswith("{"):
        loaded = load_method_class(value)
        return _Choice(name_of(value, loaded), loaded, {}, False)
    arguments = parse_dictionary(value)
    if "name" not in arguments:
        raise ValueError(f'must have the name of the method as "name", got {value!r}')
    given = arguments.pop("name")
    loaded = load_method_class(given)
    simplify = as_switch("simplify_chinese", arguments.pop("simplify_chinese", False))
    return _Choice(name_of(given, loaded), loaded, arguments, simplify)


def _show_method(_given: Any, choice: _Choice) -> Any:
    simplify = {"simplify_chinese": True} if choice.simplifies_chinese else {}
    shown = {"name": choice.name, **choice.arguments, **simplify}
    return choice.name if len(shown) == 1 else shown


def _parse_distance(value: Any) -> float | None:
    if value is None:
        return None
    distance: float = parse_number(float, 0, value)
    # Most methods count something; some have a share, from 0 to 1.
    return int(distance) if distance.is_integer() else distance


def _check_attributes(method: Method, name: str) -> None:
    """Raise SettingError if a method of the user's own lacks what every method must have."""
    for attribute, kind in (("name", str), ("version", int), ("max_distance", (int, float))):
        if not isinstance(getattr(method, attribute, None), kind):
            expected = "number" if isinstance(kind, tuple) else kind.__name__
            raise SettingError(f"DEDUP_METHOD {name} lacks a {attribute} ({expected})")
    try:
        index_for(method)
    except TypeError as error:
        raise SettingError(f"DEDUP_METHOD: {error}") from error


def _add_secret(method: Method, secret: str) -> Method:
    try:
        return with_keyed_hashing(method, KeyedHashing(secret))
    except ValueError as error:
        raise SettingError(f"DEDUP_SECRET: {error}") from error


def check_for_workers(name: str, plugin: Any) -> None:
    """Raise SettingError if a worker process cannot load *plugin*, the value of *name*."""
    try:
        pickle.dumps(plugin)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise SettingError(
            f"{name} cannot be sent to a worker process: {error}; define it in a module, or "
            "set DEDUP_WORKERS = 0"
        ) from error
    if plugin.__module__ == "__main__":
        raise SettingError(
            f"{name} is defined in the main script, which a worker process cannot import; "
            "define it in a module, or set DEDUP_WORKERS = 0"
        )
