"""The only reader of ``DEDUP_*``."""

import difflib
import importlib.util
import inspect
import logging
import os
import pickle
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy import Spider
from scrapy.settings import BaseSettings
from scrapy.utils.job import job_dir
from scrapy.utils.misc import load_object

from dedup.extraction import EXTRACTORS, Extractor
from dedup.logs import logger_named
from dedup.methods import METHODS, Method
from dedup.methods.arguments import check_arguments
from dedup.methods.keyed import KeyedHashing, with_keyed_hashing
from dedup.rule import SHORT_PAGES
from dedup.scopes import SCOPES
from dedup.scrapy_plugin.crawling import is_crawl
from dedup.scrapy_plugin.paths import Placeholders, feed_files, find_shared
from dedup.search import index_for

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

logger = logger_named(__name__)

ACTIONS = ("drop", "mark")
REVISITS = ("drop", "keep")
IN_USE = ("stop", "wait", "own")
LEDGER_OF_A_JOB = "dedup.sqlite"
"""The name of the ledger in a JOBDIR."""
PAGE_FIELDS = ("text", "title", "language")
_OUTSIDE_A_CRAWL = {
    "DEDUP_ENABLED": False,
    "DEDUP_WORKERS": 0,
    "DEDUP_INDEX": "",
    "DEDUP_REPORT": "",
    "DEDUP_DUPLICATES": "",
    "JOBDIR": "",
}
"""Nothing is judged there, made, or kept from a crawl; DEDUP_FIELDS are filled."""


class SettingError(ValueError):
    """A ``DEDUP_*`` setting has a wrong value; the message names it and the choices."""


@dataclass(frozen=True)
class DedupSettings:
    """The settings of one crawl, checked. docs/settings.md says what each means."""

    enabled: bool
    method: Method
    extractor: Extractor
    min_tokens: int
    short_pages: str
    scope: str
    action: str
    follow_duplicates: bool
    item_field: str | None
    fields: Mapping[str, str]
    workers: int
    page_timeout: float
    wait_timeout: float
    max_page_bytes: int
    log_level: str
    report: Path | None
    report_texts: int
    index: Path | None
    index_in_use: str
    job: str | None
    revisits: str
    reset: bool
    max_age: float
    close_unchanged: int
    checkpoint_interval: float
    fsync: bool
    duplicates: Path | None
    shown: Mapping[str, Any] = field(repr=False)
    """The values for the report, by the name of the setting."""

    @classmethod
    def from_crawler(cls, crawler: "Crawler") -> "DedupSettings":
        """Read the ``DEDUP_*`` settings of *crawler*; outside a crawl, dedup is switched off.

        Raises SettingError and warns as `from_settings`.
        """
        settings = crawler.settings
        if not is_crawl(crawler):
            settings = settings.copy()
            settings.setdict(_OUTSIDE_A_CRAWL, "cmdline")
        return cls.from_settings(settings, crawler.spider)

    @classmethod
    def from_settings(cls, settings: BaseSettings, spider: Spider | None = None) -> "DedupSettings":
        """Read the ``DEDUP_*`` settings; *spider*: whose attributes paths may name.

        Raises SettingError for a wrong value; warns about a setting that does not exist.
        """
        placeholders = Placeholders(spider)
        read = _Reader(settings, placeholders)
        method = read.with_keyed_hashing(read.method())
        extractor = read.extractor()
        item_field = read.text("DEDUP_ITEM_FIELD", "") or None
        job = job_dir(settings)
        index = read.file("DEDUP_INDEX")
        in_use = read.choice("DEDUP_INDEX_IN_USE", IN_USE)
        if job and index is None:
            # A second crawl would not only want its ledger, but its requests.
            index, in_use = Path(job, LEDGER_OF_A_JOB).absolute(), "stop"
        workers = read.number("DEDUP_WORKERS", 1, int, at_least=0)
        if workers:
            read.check_importable("DEDUP_METHOD", method)
            read.check_importable("DEDUP_EXTRACTOR", extractor)
        result = cls(
            enabled=read.switch("DEDUP_ENABLED", True),
            method=method,
            extractor=extractor,
            min_tokens=read.number("DEDUP_MIN_TOKENS", 20, int, at_least=0),
            short_pages=read.choice("DEDUP_SHORT_PAGES", SHORT_PAGES),
            scope=read.choice("DEDUP_SCOPE", tuple(SCOPES)),
            action=read.choice("DEDUP_ACTION", ACTIONS),
            follow_duplicates=read.switch("DEDUP_FOLLOW_DUPLICATES", True),
            item_field=item_field,
            fields=read.fields(),
            workers=workers,
            page_timeout=read.number(
                "DEDUP_PAGE_TIMEOUT", 30.0, float, at_least=0.1, at_most=86400
            ),
            wait_timeout=read.number("DEDUP_WAIT_TIMEOUT", 60.0, float, at_least=0),
            max_page_bytes=read.number("DEDUP_MAX_PAGE_BYTES", 10_000_000, int, at_least=1),
            log_level=read.log_level(),
            report=read.folder("DEDUP_REPORT"),
            report_texts=read.number("DEDUP_REPORT_TEXTS", 2000, int, at_least=0),
            index=index,
            index_in_use=in_use,
            job=job,
            revisits=read.choice("DEDUP_REVISITS", REVISITS),
            reset=read.switch("DEDUP_RESET", False),
            max_age=read.number("DEDUP_MAX_AGE", 0.0, float, at_least=0),
            close_unchanged=read.number("DEDUP_CLOSE_UNCHANGED", 0, int, at_least=0),
            checkpoint_interval=read.number("DEDUP_CHECKPOINT_INTERVAL", 5.0, float, at_least=0),
            fsync=read.switch("DEDUP_FSYNC", False),
            duplicates=read.file("DEDUP_DUPLICATES"),
            shown=read.shown,
        )
        if item_field and not result.follow_duplicates:
            raise SettingError(
                "DEDUP_FOLLOW_DUPLICATES=False needs a verdict on the page, DEDUP_ITEM_FIELD gives "
                "one on each item: set one of them only"
            )
        if item_field and result.fields:
            raise SettingError(
                "DEDUP_FIELDS needs the text of the page, DEDUP_ITEM_FIELD takes the item's own: "
                "set one of them only"
            )
        paths = {
            "DEDUP_INDEX": result.index,
            "DEDUP_DUPLICATES": result.duplicates,
            "DEDUP_REPORT": result.report,
        }
        if shared := find_shared(paths, feed_files(settings, placeholders)):
            raise SettingError(f"{shared[0]} and {shared[1]} are one file: give each its own")
        read.warn_of_unknown()
        return result

    @classmethod
    def defaults(cls) -> Mapping[str, Any]:
        """Return the values of a crawl that sets nothing, in the form of *shown*."""
        return cls.from_settings(BaseSettings({"DEDUP_SECRET": ""})).shown

    @property
    def identity(self) -> dict[str, Any]:
        """What stored sketches depend on: a ledger is for crawls with an equal one."""
        return {
            **self.method.identity,
            "extractor": self.shown["DEDUP_EXTRACTOR"],
            "item_field": self.item_field,
            "scope": self.scope,
        }


class _Reader:
    """Reads single settings, remembers what it read, and names the setting in every error."""

    def __init__(self, settings: BaseSettings, placeholders: Placeholders) -> None:
        self._settings = settings
        self._placeholders = placeholders
        self.shown: dict[str, Any] = {}

    def _get(self, name: str, default: Any) -> Any:
        value = self._settings.get(name)
        if value is None:
            value = default
        self.shown[name] = value
        return value

    def text(self, name: str, default: str) -> str:
        value = self._get(name, default)
        if not isinstance(value, str):
            raise SettingError(f"{name} must be a string, got {value!r}")
        return value

    def choice(self, name: str, choices: tuple[str, ...]) -> str:
        value: str = self._get(name, choices[0])
        if not isinstance(value, str) or value not in choices:
            raise SettingError(f"{name} must be {_or(choices)}, got {value!r}")
        return value

    def switch(self, name: str, default: bool) -> bool:
        self.shown[name] = as_switch(name, self._get(name, default))
        return bool(self.shown[name])

    def number(
        self, name: str, default: Any, kind: type, *, at_least: float, at_most: float | None = None
    ) -> Any:
        value = self._get(name, default)
        what = "a whole number" if kind is int else "a number"
        try:
            number = kind(value)
            exact = number == float(value) and number <= (at_most or 10**15)
        except (TypeError, ValueError, OverflowError):
            exact = False
        if not exact or number < at_least or isinstance(value, bool):
            choices = f"{what} of at least {at_least}" + (f", at most {at_most}" if at_most else "")
            raise SettingError(f"{name} must be {choices}, got {value!r}")
        self.shown[name] = number
        return number

    def dictionary(self, name: str) -> dict[str, Any]:
        self._get(name, {})
        try:
            value = self._settings.getdict(name)
        except (TypeError, ValueError) as error:
            got = self._settings.get(name)
            raise SettingError(f"{name} must be a dict or one in JSON, got {got!r}") from error
        self.shown[name] = value
        return value

    def file(self, name: str) -> Path | None:
        """Return the path of a file that need not be there, ``None`` for an empty setting."""
        return self._path(name, "file", Path.is_file)

    def folder(self, name: str) -> Path | None:
        """Return the path of a folder that need not be there, ``None`` for an empty setting."""
        return self._path(name, "folder", Path.is_dir)

    def _path(self, name: str, kind: str, is_right: Callable[[Path], bool]) -> Path | None:
        value = self._get(name, "")
        if not isinstance(value, str | os.PathLike):
            raise SettingError(f"{name} must be the path of a {kind}, got {value!r}")
        text = os.fspath(value)
        if "://" in text:
            raise SettingError(f"{name} must be the path of a local {kind}, got the URL {value!r}")
        try:
            text = self._placeholders.fill(text)
        except ValueError as error:
            raise SettingError(f"{name} {value!r}: {error}") from error
        self.shown[name] = text
        if not text:
            return None
        path = Path(text).absolute()
        try:
            if path.exists() and not is_right(path):
                raise SettingError(f"{name} must be a {kind}, got {value!r}")
            # It is made when there is something to put in; that it can be made must show now.
            there = next(one for one in (path, *path.parents) if one.exists())
        except OSError as error:
            raise SettingError(f"{name} cannot be used: {value!r} ({error.strerror})") from error
        mode = os.W_OK | os.X_OK if there.is_dir() else os.W_OK
        if (there != path and not there.is_dir()) or not os.access(there, mode):
            raise SettingError(f"{name} cannot be written: {value!r}")
        return path

    def log_level(self) -> str:
        name, levels = "DEDUP_LOG_LEVEL", logging.getLevelNamesMapping()
        value = self._get(name, "DEBUG")
        is_number = str(value).isdecimal()
        level = logging.getLevelName(int(value)) if is_number else str(value).upper()
        if level not in levels:
            raise SettingError(f"{name} must be {_or(tuple(levels))}, got {value!r}")
        self.shown[name] = level
        return level

    def fields(self) -> dict[str, str]:
        fields = self.dictionary("DEDUP_FIELDS")
        for key, item_field in fields.items():
            if key not in PAGE_FIELDS or not isinstance(item_field, str):
                raise SettingError(
                    f"DEDUP_FIELDS must map {_or(PAGE_FIELDS)} to the name of an item's field, "
                    f"got {key!r}: {item_field!r}"
                )
        return fields

    def extractor(self) -> Extractor:
        name = "DEDUP_EXTRACTOR"
        value = self._get(name, "trafilatura")
        if isinstance(value, str) and value in EXTRACTORS and not importlib.util.find_spec(value):
            raise SettingError(f"{name} {value!r} needs: pip install 'scrapy-dedup[{value}]'")
        extractor = self._load(name, value, EXTRACTORS)
        if not callable(extractor):
            raise SettingError(f"{name} must be callable, got {value!r}")
        self.shown[name] = value if isinstance(value, str) else _import_path(extractor)
        return extractor  # type: ignore[no-any-return]  # a callable is all that can be checked

    def method(self) -> Method:
        name = "DEDUP_METHOD"
        value = self._get(name, "simhash")
        method_class = self._load(name, value, METHODS)
        if not (isinstance(method_class, type) and issubclass(method_class, Method)):
            raise SettingError(f"{name} must be a subclass of dedup.methods.Method, got {value!r}")
        if inspect.isabstract(method_class):
            missing = ", ".join(sorted(method_class.__abstractmethods__))
            raise SettingError(f"{name}: {value!r} lacks {missing}")
        self.shown[name] = value if isinstance(value, str) else _import_path(method_class)
        arguments = self.dictionary("DEDUP_METHOD_ARGS")
        if self._settings.get("DEDUP_MAX_DISTANCE") is not None:
            distance = self.number("DEDUP_MAX_DISTANCE", None, float, at_least=0)
            # Most methods count something; some have a share, from 0 to 1.
            distance = int(distance) if distance.is_integer() else distance
            self.shown["DEDUP_MAX_DISTANCE"] = distance
            if arguments.setdefault("max_distance", distance) != distance:
                raise SettingError(
                    f"DEDUP_MAX_DISTANCE is {distance}, and in DEDUP_METHOD_ARGS it is "
                    f"{arguments['max_distance']!r}: set one of them only"
                )
        try:
            check_arguments(method_class, arguments)
        except TypeError as error:
            raise SettingError(
                f"DEDUP_METHOD_ARGS, DEDUP_MAX_DISTANCE: {self.shown[name]} {error}"
            ) from error
        try:
            method = method_class(**arguments)
        except (TypeError, ValueError) as error:
            by_itself = self._settings.get("DEDUP_MAX_DISTANCE") is not None
            is_distance = by_itself and "max_distance" in str(error)
            source = "DEDUP_MAX_DISTANCE" if is_distance else "DEDUP_METHOD_ARGS"
            raise SettingError(f"{source}: {error}") from error
        for attribute, kind in (("name", str), ("version", int), ("max_distance", (int, float))):
            if not isinstance(getattr(method, attribute, None), kind):
                expected = "number" if isinstance(kind, tuple) else kind.__name__
                raise SettingError(f"{name}: {self.shown[name]} lacks a {attribute} ({expected})")
        self.shown["DEDUP_MAX_DISTANCE"] = method.parameters.get("max_distance")
        try:
            index_for(method)
        except TypeError as error:
            raise SettingError(f"{name}: {error}") from error
        return method

    def with_keyed_hashing(self, method: Method) -> Method:
        """Return *method* with the key of a secret, if there is one: that is not shown."""
        name = "DEDUP_SECRET"
        value = self._settings.get(name)
        if value is None:
            value = os.environ.get(name, "")
        if not isinstance(value, str):
            raise SettingError(f"{name} must be a string, got another type")
        self.shown[name] = "set" if value else ""
        try:
            return with_keyed_hashing(method, KeyedHashing(value)) if value else method
        except ValueError as error:
            raise SettingError(f"{name}: {error}") from error

    def check_importable(self, name: str, used: Any) -> None:
        """Refuse what a worker process could not load."""
        try:
            pickle.dumps(used)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise SettingError(
                f"{name} cannot be sent to a worker process: {error}; define it in a module, or "
                "set DEDUP_WORKERS = 0"
            ) from error
        if used.__module__ == "__main__":
            raise SettingError(
                f"{name} is defined in the script that is run, which a worker process cannot "
                "import; define it in a module, or set DEDUP_WORKERS = 0"
            )

    def _load(self, name: str, value: Any, by_short_name: Mapping[str, Any]) -> Any:
        if isinstance(value, str):
            if value in by_short_name:
                return by_short_name[value]
            choices = f"{_or(tuple(by_short_name))}, an import path or an object"
            if "." not in value:
                raise SettingError(f"{name} must be {choices}, got {value!r}")
            try:
                return load_object(value)
            except (ImportError, NameError, AttributeError, ValueError) as error:
                raise SettingError(f"{name} must be {choices}, got {value!r}: {error}") from error
        return value

    def warn_of_unknown(self) -> None:
        """Warn of settings that begin like ours and are none: most likely a slip of the pen."""
        for name in self._settings:
            if str(name).startswith("DEDUP_") and name not in self.shown:
                near = difflib.get_close_matches(str(name), self.shown, 1)
                hint = f"; did you mean {near[0]}?" if near else ""
                logger.warning("There is no setting %s%s", name, hint)


def as_switch(name: str, value: Any) -> bool:
    """Return a truth value in any form that Scrapy takes; raises SettingError for others."""
    try:
        return BaseSettings({"value": value}).getbool("value")
    except (TypeError, ValueError) as error:
        raise SettingError(f"{name} must be True or False, got {value!r}") from error


def _or(choices: tuple[str, ...]) -> str:
    return " or ".join(repr(choice) for choice in choices)


def _import_path(named: Callable[..., Any]) -> str:
    return f"{named.__module__}.{getattr(named, '__qualname__', type(named).__qualname__)}"
