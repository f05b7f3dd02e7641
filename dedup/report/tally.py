"""Pages and duplicates by host and by pattern of URL, in bounded memory."""

import re
from urllib.parse import urlsplit

from dedup.report.report import NameCount, NameCounts
from dedup.scopes import host
from dedup.text import LONGEST_URL
from dedup.versions import is_version


class Tally:
    """Counts pages and the duplicates among them by a name.

    A name beyond *limit* makes it forget the half with fewer pages: if one of these comes again, it
    is counted afresh. `forgotten` is how many names that was.
    """

    def __init__(self, limit: int = 10_000) -> None:
        self._limit = limit
        self._counts: dict[str, list[int]] = {}
        self.forgotten = 0

    def add(self, name: str, *, is_duplicate: bool) -> None:
        """Count one page."""
        counts = self._counts.get(name)
        if counts is None:
            if len(self._counts) >= self._limit:
                kept = self._most(self._limit // 2, 0)
                self.forgotten += len(self._counts) - len(kept)
                self._counts = {name: self._counts[name] for name in kept}
            counts = self._counts[name] = [0, 0]
        counts[0] += 1
        counts[1] += is_duplicate

    def duplicates(self) -> dict[str, int]:
        """Return the number of duplicates by name, most first, of those that have any."""
        names = self._most(len(self._counts), 1)
        return {name: self._counts[name][1] for name in names if self._counts[name][1]}

    def counts(self, most: int = 50) -> NameCounts:
        """Return up to *most* names, those with the most pages first."""
        names = self._most(most, 0)
        return NameCounts(len(self), tuple(NameCount(name, *self._counts[name]) for name in names))

    def _most(self, count: int, column: int) -> list[str]:
        return sorted(self._counts, key=lambda name: -self._counts[name][column])[:count]

    def __len__(self) -> int:
        """Return how many names there were."""
        return len(self._counts) + self.forgotten


_FOLDERS = 3
_NUMBER = re.compile(r"\d+")
_ID = re.compile(r"\A(?:(?=\D*\d)[0-9a-f-]{8,}|(?=.*\d)[\w-]{24,})", re.IGNORECASE)
_EXTENSION = re.compile(r"(?<=.)\.[A-Za-z]\w{0,5}$")


def url_pattern(url: str) -> str:
    """Return what *url* shares with many others: host, first folders, extension, parameters.

    >>> url_pattern("http://a.org/docs/v1.2/api/17/42-tea.html?page=2&sort=up")
    'a.org/docs/{version}/api/…/*.html?page&sort'
    >>> url_pattern("http://a.org/2024/05/"), url_pattern("http://a.org/wiki/Tea")
    ('a.org/{n}/{n}/', 'a.org/wiki/*')
    """
    try:
        split = urlsplit(url[:LONGEST_URL])
    except ValueError:
        return ""
    *folders, last = split.path.split("/")
    parts = [_generalise(folder) for folder in folders[1 : _FOLDERS + 1]]
    parts += ["…"] if len(folders) > _FOLDERS + 1 else []
    extension = _EXTENSION.search(last)
    parts.append(f"*{extension.group().lower() if extension else ''}" if last else "")
    names = sorted({pair.partition("=")[0] for pair in split.query.split("&")} - {""})
    query = "?" + "&".join(names[:3]) + ("&…" if len(names) > 3 else "") if names else ""
    return f"{host(url)}/{'/'.join(parts)}{query}"


def _generalise(folder: str) -> str:
    if _NUMBER.fullmatch(folder):
        return "{n}"
    if is_version(folder):
        return "{version}"
    return "{id}" if _ID.fullmatch(folder) else folder
