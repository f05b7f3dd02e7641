"""The kinds of values that settings have: what is accepted, and what becomes of it."""

import logging
import math
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from scrapy.settings import BaseSettings

from dedup.plugins import list_in
from dedup.scrapy_plugin.settings.paths import Placeholders
from dedup.stores.shared.log_url import LogUrl, split_options, without_secrets
from dedup.suggestion import did_you_mean

PAGE_FIELDS = ("text", "title", "language", "coverage", "canonical")


class SettingError(ValueError):
    """A ``DEDUP_*`` setting has a wrong value; the message names it and the choices."""


def _show_parsed(_given: Any, parsed: Any) -> Any:
    return parsed


def _show_given(given: Any, _parsed: Any) -> Any:
    return given


@dataclass(frozen=True)
class Setting:
    """One setting: its default, and how its value is read."""

    default: Any
    parse: Callable[[Any], Any]
    """Turns the given value into the one that is used; raises ValueError if it is wrong."""
    show: Callable[[Any, Any], Any] = _show_parsed
    """Returns what the report says, from the given value and the one that is used."""
    has_placeholders: bool = False


class Reader:
    """Reads settings one by one, and keeps what the report shows of them."""

    def __init__(self, settings: BaseSettings, placeholders: Placeholders) -> None:
        self._settings = settings
        self._placeholders = placeholders
        self.shown: dict[str, Any] = {}

    def read(self, name: str, setting: Setting) -> Any:
        """Return the parsed value of the setting *name*; raises SettingError if it is wrong."""
        value = self._settings.get(name)
        if value is None:
            value = setting.default
        if setting.has_placeholders and isinstance(value, str | os.PathLike):
            value = os.fspath(value)
            fill = self._placeholders.fill_url if "://" in value else self._placeholders.fill
            try:
                value = fill(value)
            except ValueError as error:
                raise SettingError(f"{name} {_shown(value)!r}: {error}") from error
        parsed = parse(name, setting, value)
        self.shown[name] = setting.show(value, parsed)
        return parsed


def parse(name: str, setting: Setting, value: Any) -> Any:
    """Return *value* parsed; raises SettingError, which calls it *name*, if it is wrong."""
    try:
        return setting.parse(value)
    except ValueError as error:
        raise SettingError(f"{name} {error}") from None  # the message says all of it


def switch(default: bool) -> Setting:
    return Setting(default, _parse_switch)


def as_switch(name: str, value: Any) -> bool:
    """Return a truth value given in any form that Scrapy accepts; raises SettingError for others.

    The error calls the value *name*.
    """
    return bool(parse(name, switch(False), value))


def _parse_switch(value: Any) -> bool:
    try:
        return BaseSettings({"value": value}).getbool("value")
    except (TypeError, ValueError) as error:
        raise ValueError(f"must be True or False, got {value!r}") from error


def whole_number(default: int, *, at_least: int) -> Setting:
    return Setting(default, partial(parse_number, int, at_least))


def parse_number(kind: type, at_least: float, value: Any) -> Any:
    parsed = math.nan
    with suppress(TypeError, ValueError, OverflowError):
        if kind(value) == float(value):
            parsed = kind(value)
    if isinstance(value, bool) or not at_least <= parsed <= 10**15:
        what = "a whole number" if kind is int else "a number"
        raise ValueError(f"must be {what} of at least {at_least}, got {value!r}")
    return parsed


def choice(choices: Sequence[str]) -> Setting:
    """One of *choices*; the first one is the default."""
    return Setting(choices[0], partial(_parse_choice, choices))


def _parse_choice(choices: Sequence[str], value: Any) -> str:
    if not isinstance(value, str) or value not in choices:
        hint = did_you_mean(str(value), choices)
        raise ValueError(f"must be {alternatives(choices)}, got {value!r}{hint}")
    return value


def alternatives(choices: Sequence[str]) -> str:
    """Return *choices* as an error message lists them.

    >>> alternatives(("drop", "mark"))
    "'drop' or 'mark'"
    """
    return " or ".join(map(repr, choices))


class Revisits(NamedTuple):
    """What becomes of pages that an earlier crawl stored, and that are unchanged."""

    mode: str
    days: float
    """So long they are known. 0: for ever."""

    @property
    def are_kept(self) -> bool:
        return self.mode == "keep"

    @property
    def need_leaves(self) -> bool:
        """Whether some of them are not fetched."""
        return self.mode in ("skip", "ask")


def revisits() -> Setting:
    """What becomes of revisits, and how long pages are known: ``"drop"``, ``{"skip": "7d"}``."""
    return Setting("drop", _parse_revisits, _show_given)


def _parse_revisits(value: Any) -> Revisits:
    choices = ("drop", "keep", "skip", "ask")
    if isinstance(value, str) and not value.lstrip().startswith("{"):
        return Revisits(_parse_choice(choices, value), 0)
    given = parse_dictionary(value)
    if len(given) != 1:
        raise ValueError(
            f'must be {alternatives(choices)}, or such as {{"drop": "30d"}}, got {given!r}'
        )
    [(name, age)] = given.items()
    days = age[:-1] if isinstance(age, str) and age.endswith("d") else age
    return Revisits(_parse_choice(choices, name), parse_number(float, 0, days))


def item_field() -> Setting:
    """The name of an item's field; empty for none."""
    return Setting("", lambda value: parse_text(value) or None, _show_given)


def parse_text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"must be a string, got {value!r}")
    return value


def parse_dictionary(value: Any) -> dict[str, Any]:
    try:
        return BaseSettings({"value": value}).getdict("value")
    except (TypeError, ValueError) as error:
        raise ValueError(f"must be a dict or one in JSON, got {value!r}") from error


def fields_of_items() -> Setting:
    """Which fields of items are filled with which `PAGE_FIELDS`; none by default."""
    return Setting({}, _parse_fields)


def _parse_fields(value: Any) -> dict[str, Any]:
    fields = parse_dictionary(value)
    for key, field in fields.items():
        if key not in PAGE_FIELDS or not isinstance(field, str):
            raise ValueError(
                f"must map {alternatives(PAGE_FIELDS)} to the name of an item's field, "
                f"got {key!r}: {field!r}"
            )
    return fields


def names_of_fields() -> Setting:
    """A list of names of items' fields, also as JSON, or with commas between them."""
    return Setting([], _parse_names, lambda _given, parsed: sorted(parsed))


def _parse_names(value: Any) -> frozenset[str]:
    names = list_in(value)
    if not isinstance(names, list | tuple | set | frozenset) or not all(
        isinstance(name, str) for name in names
    ):
        raise ValueError(f"must be a list of names of fields, got {value!r}")
    return frozenset(name.strip() for name in names if name.strip())


def log_level(default: str) -> Setting:
    return Setting(default, _parse_log_level)


def _parse_log_level(value: Any) -> str:
    levels = logging.getLevelNamesMapping()
    is_number = str(value).isdecimal()
    level = logging.getLevelName(int(value)) if is_number else str(value).upper()
    if level not in levels:
        raise ValueError(f"must be {alternatives(tuple(levels))}, got {value!r}")
    return level


def file() -> Setting:
    """The path of a file, which need not exist; none by default."""
    return Setting("", partial(_parse_path, "file", Path.is_file), _show_given, True)


@dataclass(frozen=True)
class StorePlace:
    """Where pages are stored, and what the options of its URL say."""

    place: Path | LogUrl | None = None
    is_shared: bool = False
    """Whether other crawls use it at the same time."""
    commit: str = "stored"
    """When a page counts as stored: with its feeds, or when its items have "passed"."""
    store_down: str = "keep"
    """What becomes of items while it cannot be reached: "keep", or "stop" the crawl."""


_CHOICES = {"commit": ("stored", "passed"), "store_down": ("keep", "stop")}


def index() -> Setting:
    """The path of a file, or the URL of one or of a server that crawls share; none by default.

    Its options are ``share``, ``commit`` and ``store_down``.
    """
    return Setting("", _parse_index, _show_index, True)


def _parse_index(value: Any) -> StorePlace:
    if not isinstance(value, str) or "://" not in value:
        return StorePlace(_parse_path("file", Path.is_file, value))
    place, options = split_options(value)
    try:
        for name, given in options.items():
            if name in _CHOICES:
                _parse_choice(_CHOICES[name], given)
        share = options.pop("share", None)
        is_shared = share is not None and _parse_switch(share)
    except ValueError as error:
        raise ValueError(f"has a wrong option: {error}") from error
    if isinstance(place, LogUrl):
        if share is not None:
            raise ValueError(f"has a wrong option: share is for a file, got {_shown(value)!r}")
        return StorePlace(place, True, **options)
    if not is_shared and "store_down" in options:
        raise ValueError(f"has store_down for a file that crawls do not share, got {value!r}")
    return StorePlace(_parse_path("file", Path.is_file, place), is_shared, **options)


def _show_index(given: Any, parsed: StorePlace) -> Any:
    return str(parsed.place) if isinstance(given, str) and "://" in given else given


def _shown(value: str) -> str:
    """Return what may be shown of a path or a URL."""
    return without_secrets(value) if "://" in value else value


def folder() -> Setting:
    """The path of a folder, which need not exist; none by default."""
    return Setting("", partial(_parse_path, "folder", Path.is_dir), _show_given, True)


def _parse_path(kind: str, is_right_kind: Callable[[Path], bool], value: Any) -> Path | None:
    if not isinstance(value, str):
        raise ValueError(f"must be the path of a {kind}, got {value!r}")
    if "://" in value:
        raise ValueError(f"must be the path of a local {kind}, got the URL {_shown(value)!r}")
    if not value:
        return None
    path = Path(value).absolute()
    try:
        if path.exists() and not is_right_kind(path):
            raise ValueError(f"must be a {kind}, got {value!r}")
        # It is created when there is something to write; whether it can be must show now.
        existing = next(parent for parent in (path, *path.parents) if parent.exists())
    except OSError as error:
        raise ValueError(f"cannot be used: {value!r} ({error.strerror})") from error
    mode = os.W_OK | os.X_OK if existing.is_dir() else os.W_OK
    if (existing != path and not existing.is_dir()) or not os.access(existing, mode):
        raise ValueError(f"cannot be written: {value!r}")
    return path
