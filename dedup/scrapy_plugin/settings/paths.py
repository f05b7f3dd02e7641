"""Paths in settings: fills their placeholders, and finds two that are one file."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from inspect import getattr_static
from pathlib import Path
from typing import Any
from urllib.parse import quote

from scrapy import Spider
from scrapy.settings import BaseSettings
from w3lib.url import file_uri_to_path

# A percent sign that begins no placeholder, where none stands for itself.
_STRAY_PERCENT = re.compile(r"%(?!\()")
_PLACEHOLDER = re.compile(r"%\(([^)]*)\)s")


class Placeholders:
    """What ``%(name)s``, ``%(time)s`` and the attributes of a spider stand for, as in FEEDS."""

    def __init__(self, spider: Spider | None) -> None:
        """Note the current time, which all paths share."""
        self._spider = spider
        self._time = datetime.now(UTC).replace(microsecond=0).isoformat().replace(":", "-")

    def fill(self, path: str) -> str:
        """Return *path* with its placeholders replaced, and ``%%`` by ``%``.

        >>> Placeholders(Spider("news", page=7)).fill("%(name)s-%(page)03d-100%%.sqlite")
        'news-007-100%.sqlite'

        Raises ValueError if a placeholder does not exist, or a ``%`` does not begin one.
        """
        if _STRAY_PERCENT.search(path.replace("%%", "")):
            raise ValueError("a % begins a placeholder such as %(name)s, and %% stands for itself")
        try:
            return path % self
        except TypeError as error:
            raise ValueError(str(error)) from error

    def fill_url(self, url: str) -> str:
        """Return *url* with its placeholders replaced, and all else as it is.

        >>> Placeholders(Spider("news")).fill_url("redis://:%40@host/0?namespace=%(name)s")
        'redis://:%40@host/0?namespace=news'

        Raises ValueError if a placeholder does not exist.
        """
        return _PLACEHOLDER.sub(lambda match: quote(str(self[match[1]]), safe=""), url)

    def __getitem__(self, name: str) -> Any:
        """Return what *name* stands for; raises ValueError if that is nothing."""
        value = self._time if name == "time" else getattr(self._spider, name, "")
        if not _is_value(value):
            names = [one for one in dir(self._spider) if not one.startswith("_")]
            values = [one for one in names if _is_value(getattr_static(self._spider, one))]
            there = ", ".join(f"%({one})s" for one in ("time", *values))
            raise ValueError(f"there is no %({name})s; there are {there}")
        return value


def _is_value(value: Any) -> bool:
    return isinstance(value, str | int | float) and value != ""


def feed_files(settings: BaseSettings, placeholders: Placeholders) -> Iterator[Path]:
    """Yield the local files of the feeds of a crawl, as far as the settings tell."""
    for uri in (*settings.getdict("FEEDS"), settings["FEED_URI"] or ""):
        path = str(uri)
        with suppress(ValueError):  # placeholders that only feeds have
            path = placeholders.fill(path)
        if path.startswith("file:"):
            path = file_uri_to_path(path)
        if path and "://" not in path:
            yield Path(path)


def find_shared(paths: Mapping[str, Path | None], feeds: Iterable[Path]) -> tuple[str, str] | None:
    """Return the names of two that are one file, also by links, or ``None``.

    *paths* are by the names of their settings. Two feeds may share a file.
    """
    seen = {_identity(path): f"the feed {path}" for path in feeds}
    for name, path in paths.items():
        if path is not None:
            other = seen.setdefault(_identity(path), name)
            if other != name:
                return other, name
    return None


def _identity(path: Path) -> object:
    try:
        status = os.stat(path)
    except OSError:
        return os.path.realpath(path)
    return status.st_dev, status.st_ino
