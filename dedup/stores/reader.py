"""A ledger that is only looked at, also while a crawl writes it."""

import json
import os
import sqlite3
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Self

from dedup.evidence import NORMAL
from dedup.limits import shorten_url
from dedup.methods import METHODS
from dedup.methods.arguments import check_arguments
from dedup.methods.base import Method
from dedup.record import PageRecord, StoredBatch
from dedup.rule import SHORT, Rule
from dedup.stores.base import DIFFERENCE, Crawl, DuplicateNote
from dedup.stores.identity import OTHERS
from dedup.stores.ledger_file import LedgerError, LedgerFile
from dedup.stores.tables import pages_that_count, stored_pages, text_of

_IS_DUPLICATE = "kind LIKE '%-duplicate'"


class StoredPage(NamedTuple):
    """A page that was stored, by its number and the one of its crawl.

    *items* is what its items say, as `pack_items` writes it. *stored* and *seen* are times, *ended*
    is when it was replaced or had expired, else ``None``; *is_change*: 1 if it took the place of
    what an earlier crawl had stored, else 0.
    """

    number: int
    crawl: int
    record: PageRecord
    items: bytes
    stored: float
    seen: float
    ended: float | None
    is_change: int


class StoredMatch(NamedTuple):
    """A duplicate that was found, the page it repeats, and when it was.

    *page* is the number of that page, *ended* when it was replaced or had expired, else ``None``.
    """

    original: str
    duplicate: str
    kind: str
    distance: float
    crawl: int
    found: float
    page: int
    ended: float | None


class LedgerReader:
    """Reads a ledger without changing or locking it. A context manager."""

    def __init__(
        self, path: str | os.PathLike[str], name: str = "", *, accepts_earlier: bool = False
    ) -> None:
        """Open the file; raises LedgerError if it is no ledger or damaged, OSError if missing.

        *name* is that of the store of which the file is a copy. *accepts_earlier*: it may be
        of a version before, of which only the identity can be read.
        """
        self.path = Path(path).absolute()
        self.is_copy = bool(name)
        """Whether it is a copy of a store, which knows of which run a page is, but no more."""
        self.name = name or str(self.path)
        if not self.path.is_file():
            raise FileNotFoundError(f"{path} is no file")
        self._ledger = LedgerFile(path)
        self._file = self._ledger.read_only(accepts_earlier=accepts_earlier)

    @property
    def identity(self) -> dict[str, Any]:
        """What the sketches depend on: method, its arguments, extractor, scope, item field."""
        identity = self._ledger.identity(self._file)
        if not {"method", "version"} <= identity.keys():
            raise self.damage_error(ValueError("it does not say what it was made with"))
        return identity

    def damage_error(self, error: Exception) -> LedgerError:
        """Return the error that says that the file is damaged, and what to do."""
        if self.is_copy:
            return LedgerError(f"{self.name} is damaged: {error}")
        return self._ledger.damage_error(error)

    def crawls(self) -> list[Crawl]:
        """Return all crawls, the oldest first."""
        query = (
            "SELECT run, position, spider, job, started, finished, reason, report, id FROM crawls "
            "ORDER BY id"
        )
        with self._ledger.errors():
            return [
                Crawl._make((*values, report and json.loads(report), number))
                for *values, report, number in list(self._rows(query))
            ]

    @cached_property
    def _crawls(self) -> list[Crawl]:
        return self.crawls()

    def setting(self, name: str, default: Any = None) -> Any:
        """Return a setting of the last crawl whose report tells it."""
        values = (crawl.setting(name) for crawl in reversed(self._crawls))
        return next((value for value in values if value is not None), default)

    @property
    def method(self) -> Method | None:
        """The method of the sketches, with the threshold of the last crawl with it that tells one.

        ``None`` if it is not one of ours.
        """
        identity = self.identity
        kind = METHODS.get(identity["method"])
        if kind is None or kind.version != identity["version"]:
            return None
        others = ("method", "version", "lexicon", "secret", "simplify_chinese", *OTHERS)
        arguments = {name: value for name, value in identity.items() if name not in others}
        if (distance := self._max_distance_of(kind.name)) is not None:
            arguments["max_distance"] = distance
        try:
            check_arguments(kind, arguments)
            return kind(**arguments)
        except (TypeError, ValueError):
            return None

    def _max_distance_of(self, method: str) -> float | None:
        """Return the threshold of the last crawl that tells one, not of another of our methods.

        A ledger may have been converted since.
        """
        for crawl in reversed(self._crawls):
            chosen = crawl.setting("DEDUP_METHOD")
            name = chosen.get("name") if isinstance(chosen, dict) else chosen
            distance: float | None = crawl.setting("DEDUP_MAX_DISTANCE")
            if distance is not None and (name == method or name not in METHODS):
                return distance
        return None

    @property
    def rule(self) -> Rule:
        """The rule by which the last crawl judged."""
        has_evidence = self.setting("DEDUP_EVIDENCE", True) not in (False, "off")
        return Rule(self.setting("DEDUP_MIN_TOKENS", SHORT), NORMAL if has_evidence else None)

    def counts(self) -> dict[str, int]:
        """Return how many pages count, how many have ended, and how many matches there are."""
        [[pages, ended]] = self._rows("SELECT count(*), count(ended) FROM pages")
        [[matches]] = self._rows(f"SELECT count(*) FROM matches WHERE {_IS_DUPLICATE}")
        return {"pages": pages - ended, "ended": ended, "matches": matches}

    def pages(self, *, ended: bool = False) -> Iterator[StoredPage]:
        """Yield the pages that count, by age; *ended*: the others, too."""
        yield from self._pages("" if ended else "WHERE ended IS NULL")

    def versions(self, url: str) -> list[StoredPage]:
        """Return what was stored of a page, by age, also what counts no more."""
        return list(self._pages("WHERE url = ?", shorten_url(url)))

    def _pages(self, where: str, *arguments: Any) -> Iterator[StoredPage]:
        is_change = "id IN (SELECT replaced_by FROM pages WHERE replaced_by IS NOT NULL)"
        columns = "crawl", "stored", "seen", "ended", is_change
        with self._ledger.errors():
            pages = stored_pages(self._file, f"{where} ORDER BY id", *arguments, columns=columns)
            try:
                for (number, record, items), (crawl, *others) in pages:
                    yield StoredPage(number, crawl, record, items, *others)
            except sqlite3.DataError as error:
                raise self.damage_error(error) from error

    def stored(self) -> Iterator[StoredBatch]:
        """Yield what is compared of the pages that count, in pieces, by age."""
        with self._ledger.errors():
            yield from pages_that_count(self._file)

    @property
    def nbytes(self) -> int:
        """The memory that the pages take: they are read when they are asked for."""
        return 0

    def key(self, number: int) -> str:
        """Return the URL of a page; raises KeyError if there is none of that number."""
        for (url,) in self._rows("SELECT url FROM pages WHERE id = ?", number):
            return str(url)
        raise KeyError(number)

    def matches(self, run: int | None = None) -> Iterator[StoredMatch]:
        """Yield the duplicates, in the order in which they were found.

        Those of one *run*, by default of the last crawl that found each URL to be a duplicate.
        """
        last = "(matches.url, matches.crawl) IN (SELECT url, max(crawl) FROM matches GROUP BY url)"
        of_run = "matches.crawl IN (SELECT id FROM crawls WHERE run = ?)"
        yield from self._matches(last if run is None else of_run, *([] if run is None else [run]))

    def matches_of(self, url: str) -> list[StoredMatch]:
        """Return what the page at *url* was found to repeat, in the order in which it was."""
        return list(self._matches("matches.url = ?", shorten_url(url)))

    def difference_of(self, url: str) -> tuple[int, str] | None:
        """Return for which fields the page at *url* was kept, after the page that it repeats else.

        ``None`` if it was not kept for its items.
        """
        query = "SELECT page, kind FROM matches WHERE url = ? AND kind LIKE ?"
        for number, kind in self._rows(query, shorten_url(url), f"{DIFFERENCE}%"):
            return number, kind.removeprefix(DIFFERENCE)
        return None

    def copies_of(self, url: str) -> Iterator[StoredMatch]:
        """Yield the pages that were found to repeat that at *url*, in that order."""
        return self._matches("pages.url = ?", shorten_url(url))

    def _matches(self, where: str, *arguments: Any) -> Iterator[StoredMatch]:
        query = (
            "SELECT pages.url, matches.url, kind, distance, matches.crawl, found, page, ended "
            "FROM matches JOIN pages ON pages.id = matches.page "
            f"WHERE matches.url <> pages.url AND {_IS_DUPLICATE} AND {where} ORDER BY matches.rowid"
        )
        for row in self._rows(query, *arguments):
            yield StoredMatch(*row)

    def duplicates(self) -> Iterator[DuplicateNote]:
        """Yield what was met of pages that count, as it was noted."""
        query = (
            "SELECT matches.url, page, kind, distance, found FROM matches "
            "JOIN pages ON pages.id = page WHERE ended IS NULL ORDER BY matches.rowid"
        )
        for row in self._rows(query):
            yield DuplicateNote(*row)

    def texts(self, where: str = "", *arguments: Any) -> Iterator[tuple[str, str | None, str]]:
        """Yield the URLs, titles and main texts of the pages whose texts were kept."""
        for url, title, text in self._rows(
            f"SELECT url, title, text FROM texts {where}", *arguments
        ):
            with self._ledger.errors():
                yield url, title, text_of(text)

    def text(self, url: str) -> tuple[str | None, str] | None:
        """Return title and main text of a page, ``None`` if its text was not kept."""
        for _, title, text in self.texts("WHERE url = ?", shorten_url(url)):
            return title, text
        return None

    def largest_groups(self, count: int) -> list[tuple[str, int]]:
        """Return the *count* pages with the most duplicates, and the numbers of them."""
        query = (
            "SELECT original, count(DISTINCT duplicate) AS size FROM duplicates GROUP BY original "
            "ORDER BY size DESC, original LIMIT ?"
        )
        return [(original, size) for original, size in self._rows(query, count)]

    def _rows(self, query: str, *arguments: Any) -> Iterator[tuple[Any, ...]]:
        with self._ledger.errors():
            # Not "yield from", which would close the cursor when it is given up: by then the file
            # may be closed.
            for row in self._file.execute(query, arguments):  # noqa: UP028
                yield row

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
