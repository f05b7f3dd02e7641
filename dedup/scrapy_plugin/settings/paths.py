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

_PERCENT = re.compile(
    r"%(?:(?P<percent>%)|\((?P<name>[^)]*)\)(?P<format>[-+ #0]*\d*(?:\.\d+)?[a-zA-Z]))?"
)


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
        return _PERCENT.sub(self._value, path)

    def fill_url(self, url: str) -> str:
        """Return *url* with its placeholders replaced, and all else as it is.

        >>> Placeholders(Spider("news")).fill_url("redis://:%40@host/0?namespace=%(name)s")
        'redis://:%40@host/0?namespace=news'

        Raises ValueError if a placeholder does not exist.
        """
        return _PERCENT.sub(
            lambda match: quote(self._value(match), safe="") if match["name"] else match[0], url
        )

    def _value(self, match: re.Match[str]) -> str:
        if match["percent"]:
            return "%"
        if match["name"] is None:
            raise ValueError("a % begins a placeholder such as %(name)s, and %% stands for itself")
        value = self._time if match["name"] == "time" else getattr(self._spider, match["name"], "")
        if not _is_value(value):
            names = ", ".join(f"%({name})s" for name in self._names())
            raise ValueError(f"there is no %({match['name']})s; there are {names}")
        try:
            return f"%{match['format']}" % value
        except (TypeError, ValueError) as error:
            raise ValueError(f"{match[0]}: {error}") from error

    def _names(self) -> Iterator[str]:
        yield "time"
        for name in dir(self._spider):
            if not name.startswith("_") and _is_value(getattr_static(self._spider, name)):
                yield name


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
