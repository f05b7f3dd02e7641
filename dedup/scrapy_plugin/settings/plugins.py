"""The method, the extractor and the scope of a crawl, which settings name or hold as objects."""

import os
import pickle
from functools import partial
from typing import Any

from dedup.methods.base import Method
from dedup.methods.keyed import KeyedHashing, with_keyed_hashing
from dedup.plugins import MethodChoice, load_extractor, load_preference, name_of
from dedup.preference import URL_CRITERIA
from dedup.scopes import Scope
from dedup.scrapy_plugin.settings.values import (
    Reader,
    Setting,
    SettingError,
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
    setting = Setting("simhash", MethodChoice.of, lambda _given, choice: choice.shown())
    choice: MethodChoice = reader.read("DEDUP_METHOD", setting)
    distance = reader.read("DEDUP_MAX_DISTANCE", Setting(None, _parse_distance))
    names = "DEDUP_METHOD"
    if distance is not None:
        names = "DEDUP_METHOD, DEDUP_MAX_DISTANCE"
        if choice.arguments.setdefault("max_distance", distance) != distance:
            raise SettingError(
                f"DEDUP_MAX_DISTANCE is {distance}, and in DEDUP_METHOD it is "
                f"{choice.arguments['max_distance']!r}: set one of them only"
            )
    try:
        method = choice.method()
    except ValueError as error:
        raise SettingError(f"{names}: {error}") from error
    _check_attributes(method, choice.name)
    reader.shown["DEDUP_MAX_DISTANCE"] = method.parameters.get("max_distance")
    secret = os.environ.get("DEDUP_SECRET")
    if not secret:
        return method
    reader.shown["DEDUP_SECRET"] = "set"  # never its value
    try:
        return with_keyed_hashing(method, KeyedHashing(secret))
    except ValueError as error:
        raise SettingError(f"DEDUP_SECRET: {error}") from error


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
