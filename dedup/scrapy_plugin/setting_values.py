"""The values of settings: what is accepted, what becomes of it, and what the report shows."""

import math
import os
import pickle
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from scrapy import Spider
from scrapy.settings import BaseSettings

from dedup.choices import did_you_mean, list_in
from dedup.stores.server_url import ServerUrl, split_options, without_secrets

PAGE_FIELDS = ("text", "title", "language", "coverage", "canonical")
_STORE_OPTIONS = {"commit": ("stored", "passed"), "store_down": ("keep", "stop")}
_PLACEHOLDER = re.compile(r"%(?:%|\(([^)]*)\)s)")


class SettingError(ValueError):
    """A ``DEDUP_*`` setting has a wrong value; the message names it and the choices."""


def _show_given(given: Any, _parsed: Any) -> Any:
    return given


@dataclass(frozen=True)
class Setting:
    """One setting: its default, and how its value is read."""

    default: Any
    parse: Callable[[Any], Any]
    """Turns the given value into the one that is used; raises ValueError if it is wrong."""
    show: Callable[[Any, Any], Any] = lambda _given, parsed: parsed
    """Returns what the report says, from the given value and the one that is used."""
    has_placeholders: bool = False


class Reader:
    """Reads settings one by one, and keeps what the report shows of them."""

    def __init__(self, settings: BaseSettings, spider: Spider | None) -> None:
        """Note the current time, which all paths share; they may name attributes of *spider*."""
        self._settings = settings
        self._spider = spider
        self._time = datetime.now(UTC).replace(microsecond=0).isoformat().replace(":", "-")
        self.shown: dict[str, Any] = {}

    def read(self, name: str, setting: Setting) -> Any:
        """Return the parsed value of the setting *name*; raises SettingError if it is wrong."""
        value = self._settings.get(name)
        if value is None:
            value = setting.default
        try:
            if setting.has_placeholders and isinstance(value, str | os.PathLike):
                value = self.fill(os.fspath(value))
            parsed = setting.parse(value)
        except ValueError as error:
            raise SettingError(f"{name} {error}") from None  # the message says all of it
        self.shown[name] = setting.show(value, parsed)
        return parsed

    def fill(self, path: str) -> str:
        """Return *path* with its placeholders replaced, and ``%%`` by ``%``; in a URL, quoted.

        These are ``%(time)s`` and the attributes of the spider, as in FEEDS:

        >>> reader = Reader(BaseSettings(), Spider("news", page=7))
        >>> reader.fill("%(name)s-%(page)s-100%%.sqlite")
        'news-7-100%.sqlite'
        >>> reader.fill("redis://:%40@host/0?namespace=%(name)s%%")
        'redis://:%40@host/0?namespace=news%25'

        Raises ValueError if a placeholder does not exist, or a ``%`` of a path begins none.
        """
        if "%" not in path:
            return path
        # As Scrapy does it for feeds.
        values: dict[str, Any] = {"time": self._time}
        for name in dir(self._spider):
            value = getattr(self._spider, name)
            if isinstance(value, str | int | float) and value != "":
                values[name] = value
        is_url = "://" in path

        def replace(found: re.Match[str]) -> str:
            value = "%" if found[0] == "%%" else str(values[found[1]])
            return quote(value, safe="") if is_url else value

        try:
            if not is_url and "%" in _PLACEHOLDER.sub("", path):
                raise ValueError("a % that begins none")
            return _PLACEHOLDER.sub(replace, path)
        except (KeyError, ValueError) as error:
            # Scrapyd's _job may be used; what else begins so, nobody looks for.
            there = ", ".join(f"%({name})s" for name in values if not name.startswith("_"))
            raise ValueError(
                f"{shown_place(path)!r} has a wrong placeholder ({error}): there are {there}, and "
                "%% stands for a percent sign"
            ) from None


def parse_switch(value: Any) -> bool:
    """Return a truth value given in any form that Scrapy accepts."""
    try:
        return BaseSettings({"value": value}).getbool("value")
    except (TypeError, ValueError) as error:
        raise ValueError(f"must be True or False, got {value!r}") from error


def shown_place(value: str) -> str:
    """Return what may be shown of a path or a URL."""
    return without_secrets(value) if "://" in value else value


def switch(default: bool) -> Setting:
    return Setting(default, parse_switch)


def whole_number(default: int) -> Setting:
    return Setting(default, partial(_parse_number, int))


def parse_distance(value: Any) -> float | None:
    if value is None:
        return None
    distance: float = _parse_number(float, value)
    # Most methods count something; some have a share, from 0 to 1.
    return int(distance) if distance.is_integer() else distance


def _parse_number(kind: type, value: Any) -> Any:
    parsed = math.nan
    with suppress(TypeError, ValueError, OverflowError):
        if kind(value) == float(value):
            parsed = kind(value)
    if isinstance(value, bool) or not 0 <= parsed <= 10**15:
        what = "a whole number" if kind is int else "a number"
        raise ValueError(f"must be {what} of at least 0, got {value!r}")
    return parsed


def choice(choices: Sequence[str]) -> Setting:
    """One of *choices*; the first one is the default."""
    return Setting(choices[0], partial(_parse_choice, choices))


def _parse_choice(choices: Sequence[str], value: Any) -> str:
    if not isinstance(value, str) or value not in choices:
        hint = did_you_mean(str(value), choices)
        raise ValueError(f"must be {_alternatives(choices)}, got {value!r}{hint}")
    return value


def _alternatives(choices: Sequence[str]) -> str:
    return " or ".join(map(repr, choices))


_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
LOG_LEVEL = Setting("INFO", lambda value: _parse_choice(_LEVELS, str(value).upper()))


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


def _parse_revisits(value: Any) -> Revisits:
    choices = ("drop", "keep", "skip", "ask")
    if isinstance(value, str) and not value.lstrip().startswith("{"):
        return Revisits(_parse_choice(choices, value), 0)
    given = _parse_dictionary(value)
    if len(given) != 1:
        raise ValueError(
            f'must be {_alternatives(choices)}, or such as {{"drop": "30d"}}, got {given!r}'
        )
    [(name, age)] = given.items()
    mode = _parse_choice(choices, name)
    days = age[:-1] if isinstance(age, str) and age.endswith("d") else age
    try:
        return Revisits(mode, _parse_number(float, days))
    except ValueError:
        raise ValueError(f"must have an age in days, such as '30d', got {age!r}") from None


REVISITS = Setting("drop", _parse_revisits, _show_given)


def _parse_field(value: Any) -> str | None:
    if not isinstance(value, str):
        raise ValueError(f"must be a string, got {value!r}")
    return value or None


ITEM_FIELD = Setting("", _parse_field, _show_given)


def _parse_dictionary(value: Any) -> dict[str, Any]:
    try:
        return BaseSettings({"value": value}).getdict("value")
    except (TypeError, ValueError) as error:
        raise ValueError(f"must be a dict or one in JSON, got {value!r}") from error


def _parse_filled_fields(value: Any) -> Mapping[str, str]:
    fields = _parse_dictionary(value)
    for key, field in fields.items():
        if key not in PAGE_FIELDS or not isinstance(field, str):
            raise ValueError(
                f"must map {_alternatives(PAGE_FIELDS)} to the name of an item's field, "
                f"got {key!r}: {field!r}"
            )
    return fields


FILLED_FIELDS = Setting({}, _parse_filled_fields)


def _parse_field_names(value: Any) -> frozenset[str]:
    names = list_in(value)
    if not isinstance(names, list | tuple | set | frozenset) or not all(
        isinstance(name, str) for name in names
    ):
        raise ValueError(f"must be a list of names of fields, got {value!r}")
    return frozenset(name.strip() for name in names if name.strip())


FIELD_NAMES = Setting([], _parse_field_names, lambda _given, parsed: sorted(parsed))


def _parse_path(kind: str, value: Any) -> Path | None:
    if not isinstance(value, str):
        raise ValueError(f"must be the path of a {kind}, got {value!r}")
    if "://" in value:
        raise ValueError(f"must be the path of a local {kind}, got the URL {shown_place(value)!r}")
    if not value:
        return None
    path = Path(value).absolute()
    try:
        if path.exists() and not (path.is_dir() if kind == "folder" else path.is_file()):
            raise ValueError(f"must be a {kind}, got {value!r}")
        # It is created when there is something to write; whether it can be must show now.
        existing = next(parent for parent in (path, *path.parents) if parent.exists())
    except OSError as error:
        raise ValueError(f"cannot be used: {value!r} ({error.strerror})") from error
    mode = os.W_OK | os.X_OK if existing.is_dir() else os.W_OK
    if (existing != path and not existing.is_dir()) or not os.access(existing, mode):
        raise ValueError(f"cannot be written: {value!r}")
    return path


FILE = Setting("", partial(_parse_path, "file"), _show_given, True)
FOLDER = Setting("", partial(_parse_path, "folder"), _show_given, True)


@dataclass(frozen=True)
class StorePlace:
    """Where pages are stored, and what the options of its URL say."""

    place: Path | ServerUrl | None = None
    is_shared: bool = False
    """Whether other crawls use it at the same time."""
    commit: str = "stored"
    """When a page counts as stored: with its feeds, or when its items have "passed"."""
    store_down: str = "keep"
    """What becomes of items while it cannot be reached: "keep", or "stop" the crawl."""

    @property
    def waits_for_feeds(self) -> bool:
        """Whether a page counts as stored when its feeds are flushed, too."""
        return self.commit == "stored"


def _parse_store_place(value: Any) -> StorePlace:
    if not isinstance(value, str) or "://" not in value:
        return StorePlace(FILE.parse(value))
    place, options = split_options(value)
    try:
        for name, given in options.items():
            if name in _STORE_OPTIONS:
                _parse_choice(_STORE_OPTIONS[name], given)
        share = options.pop("share", None)
        is_shared = share is not None and parse_switch(share)
    except ValueError as error:
        raise ValueError(f"has a wrong option: {error}") from error
    if isinstance(place, ServerUrl):
        if share is not None:
            raise ValueError(f"has a wrong option: share is for a file, got {shown_place(value)!r}")
        return StorePlace(place, True, **options)
    if not is_shared and "store_down" in options:
        raise ValueError(f"has store_down for a file that crawls do not share, got {value!r}")
    return StorePlace(FILE.parse(place), is_shared, **options)


def _show_store_place(given: Any, parsed: StorePlace) -> Any:
    return str(parsed.place) if isinstance(given, str) and "://" in given else given


STORE_PLACE = Setting("", _parse_store_place, _show_store_place, True)


def check_for_workers(name: str, plugin: Any) -> None:
    """Raise SettingError if a worker process cannot load *plugin*, the value of *name*."""
    advice = "define it in a module, or set DEDUP_WORKERS = 0"
    try:
        pickle.dumps(plugin)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise SettingError(
            f"{name} cannot be sent to a worker process: {error}; {advice}"
        ) from error
    if plugin.__module__ == "__main__":
        raise SettingError(
            f"{name} is defined in the main script, which a worker process cannot import; {advice}"
        )
