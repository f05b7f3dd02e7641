"""What became of the pages of a crawl, as rows of a temporary table: figures are queries."""

import json
import re
import sqlite3
from collections.abc import Hashable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from dedup.atomic_file import replacing
from dedup.limits import shorten, shorten_url, split_url
from dedup.lost_text import LostTextSample, Sequences
from dedup.page import Page
from dedup.preference import is_version
from dedup.rule import Kind, Verdict
from dedup.scopes import host
from dedup.text import from_utf8, to_utf8

_NAMES_SHOWN = 50
_REVISITS_SHOWN = _GROUPS_SHOWN = 1000
_COPIES_SHOWN = 20
_FIELDS_SHOWN = 10
_LOSSIEST_SHOWN = 50
_LONGEST_TITLE = 200

_COLUMNS = {
    "pages": "kind, url, original, host, pattern, name, distance",
    "differences": "url, original, field, value, page",
    "bulk.stored": "url, sequences",
    "bulk.judged": "page, sequences",
}
_WITHOUT_TEXT = ("distance", "page", "sequences")
# To write many at once takes less time; the sequences of some pages are long.
_ROWS_AT_ONCE = 32
# Sequences take most of the room. A file for which the disk is too full cannot be read any more.
_BULK = "bulk."
_DUPLICATE = "kind IN ('exact-duplicate', 'near-duplicate')"
# Several items may have one URL: then a page repeats itself.
_COPY = f"{_DUPLICATE} AND original <> url"
# The texts that are stored, and those that are not: with whether their originals are known.
_STORED = """
    SELECT sequences FROM stored UNION ALL
    SELECT sequences FROM judged JOIN pages ON pages.number = page
    WHERE kind IN ('unchanged', 'exact-duplicate')
"""
_DROPPED = """
    SELECT url, coalesce(original, url) AS origin, sequences,
        kind = 'exact-duplicate' OR NOT ? OR coalesce(original, url) IN (
            SELECT url FROM stored UNION ALL SELECT url FROM pages WHERE kind = 'unchanged'
        )
    FROM judged JOIN pages ON pages.number = page
    WHERE kind IN ('exact-duplicate', 'near-duplicate', 'repeated')
"""


class Copy(NamedTuple):
    """A duplicate, and the page that it repeats."""

    original: str
    url: str
    verdict: str
    distance: float | None
    title: str | None = None
    original_title: str | None = None

    def as_json(self) -> dict[str, Any]:
        return {
            "url": self.url,
            "verdict": self.verdict,
            "distance": self.distance,
            "title": self.title,
        }


class PageEvents:
    """The pages of a crawl in the order in which they were judged.

    They are in temporary files of SQLite, which the process deletes: they take no memory.
    SQLITE_TMPDIR or TMPDIR says where these are. Raises sqlite3.Error if they cannot be used.
    """

    def __init__(self) -> None:
        self._pages = self._different = 0
        # Rows that are not in the database yet, by table.
        self._waiting: dict[str, list[tuple[Any, ...]]] = {table: [] for table in _COLUMNS}
        self._claimed: dict[Hashable, tuple[str, bytes]] = {}
        self.has_sequences = True
        """Whether the disk had room for all sequences."""
        self.has_past = False
        """Whether there are pages that were stored before this crawl, or by others meanwhile."""

    @cached_property
    def _database(self) -> sqlite3.Connection:
        database = sqlite3.connect("", isolation_level=None)
        database.text_factory = from_utf8
        database.execute("PRAGMA journal_mode = OFF")
        database.execute("ATTACH '' AS bulk")
        database.execute("PRAGMA bulk.journal_mode = OFF")
        for table, columns in _COLUMNS.items():
            database.execute(f"CREATE TABLE {table} (number INTEGER PRIMARY KEY, {columns})")
        return database

    @cached_property
    def _indexed(self) -> sqlite3.Connection:
        """The database with what queries need: to add to an index page by page takes longer."""
        self._database.execute("CREATE INDEX by_url ON pages (url)")
        self._database.execute(f"CREATE INDEX by_original ON pages (original) WHERE {_DUPLICATE}")
        return self._database

    def _insert(self, table: str, number: int | None, *values: Any) -> None:
        """Add a row; *number*: by default the next one."""
        # Texts as bytes, since a URL may have surrogates, which SQLite refuses.
        row = (to_utf8(value) if isinstance(value, str) else value for value in values)
        self._waiting[table].append((number, *row))
        if len(self._waiting[table]) == _ROWS_AT_ONCE:
            self._write(table)

    def _write(self, table: str) -> None:
        rows, self._waiting[table] = self._waiting[table], []
        if not rows or (table.startswith(_BULK) and not self.has_sequences):
            return
        names = _COLUMNS[table].split(", ")
        marks = ("?" if name in _WITHOUT_TEXT else "CAST(? AS TEXT)" for name in names)
        try:
            self._database.executemany(f"INSERT INTO {table} VALUES (?, {', '.join(marks)})", rows)
        except sqlite3.OperationalError:
            if not table.startswith(_BULK):
                raise
            self.has_sequences = False

    def _query(self, query: str, *values: Any) -> Iterator[tuple[Any, ...]]:
        for table in _COLUMNS:
            self._write(table)
        return self._indexed.execute(query, values)

    def _rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        return list(self._query(query, *values))

    def close(self) -> None:
        if "_database" in vars(self):
            self._database.close()

    def add(self, verdict: Verdict, url: str, page: Page | None) -> None:
        """Add the *verdict* on *page* at *url*."""
        self._pages += 1
        title = page.title if page else None
        self._insert(
            "pages", self._pages, verdict.kind.value, url, verdict.original, host(url),
            url_pattern(url), shorten(title, _LONGEST_TITLE) if title else None, verdict.distance,
        )  # fmt: skip
        # Those of a page that may be stored come when its claim ends.
        may_be_stored = verdict.kind in (Kind.NEW, Kind.CHANGED, Kind.SKIPPED)
        if page and page.sequences and not may_be_stored:
            self._insert("bulk.judged", None, self._pages, page.sequences.to_bytes())

    def claim_begins(self, claim: Hashable, url: str, sequences: Sequences) -> None:
        """A text with these *sequences* is about to be stored for *url*, under *claim*."""
        self._claimed[claim] = shorten_url(url), sequences.to_bytes()

    def claim_ends(self, claim: Hashable, *, is_stored: bool) -> None:
        """It has been stored, or not."""
        if (claimed := self._claimed.pop(claim, None)) and is_stored:
            url, sequences = claimed
            self._insert("bulk.stored", None, url, sequences)

    def add_difference(
        self, differences: Mapping[str, str], url: str, original: str | None
    ) -> None:
        """Add what the item of a kept page says, and the one of *original* does not, by field."""
        self._different += 1
        for field, value in differences.items():
            self._insert("differences", None, url, original or "", field, value, self._different)

    def figures(self) -> dict[str, Any]:
        """Return what the pages show, by the keys of a `Report`."""
        [[groups]] = self._rows(f"SELECT count(DISTINCT original) FROM pages WHERE {_COPY}")
        return {
            "revisits": {kind: self._revisits(kind) for kind in (Kind.UNCHANGED, Kind.CHANGED)},
            "groups": groups,
            "largest_groups": self._groups(),
            "hosts": self._names("host"),
            "url_patterns": self._names("pattern"),
            "item_differences": self._item_differences(),
        }

    def _revisits(self, kind: str) -> list[dict[str, Any]]:
        query = f"SELECT url, distance FROM pages WHERE kind = ? LIMIT {_REVISITS_SHOWN}"
        return [{"url": url, "distance": at} for url, at in self._rows(query, kind)]

    def _item_differences(self) -> dict[str, Any] | None:
        rows = self._rows(
            "SELECT field, count(*) AS pages, value, min(number) AS age FROM differences "
            f"GROUP BY field ORDER BY pages DESC, age LIMIT {_FIELDS_SHOWN}"
        )
        if not rows:
            return None
        fields = [to_utf8(field) for field, *_ in rows]
        shown = ", ".join(["CAST(? AS TEXT)"] * len(fields))
        [[in_fields]] = self._rows(
            "SELECT count(*) FROM (SELECT page FROM differences GROUP BY page "
            f"HAVING min(field IN ({shown})))", *fields
        )  # fmt: skip
        [[url, original]] = self._rows("SELECT url, original FROM differences LIMIT 1")
        return {
            "pages": self._different,
            "in_fields": in_fields,
            "fields": [{"name": row[0], "pages": row[1], "value": row[2]} for row in rows],
            "url": url,
            "original": original,
        }

    def _names(self, column: str) -> dict[str, Any]:
        rows = self._rows(
            f"SELECT {column}, count(*), sum({_DUPLICATE}) FROM pages WHERE kind <> 'skipped' "
            f"GROUP BY 1 ORDER BY 2 DESC, min(number) LIMIT {_NAMES_SHOWN}"
        )
        names = f"SELECT count(DISTINCT {column}) FROM pages WHERE kind <> 'skipped'"
        keys = ("name", "pages", "duplicates")
        largest = [dict(zip(keys, row, strict=True)) for row in rows]
        return {"names": self._rows(names)[0][0], "largest": largest}

    def _groups(self) -> list[dict[str, Any]]:
        sizes = self._rows(
            f"SELECT original, count(*) FROM pages WHERE {_COPY} GROUP BY 1 "
            f"ORDER BY 2 DESC, min(number) LIMIT {_GROUPS_SHOWN}"
        )
        return [
            {
                "original": original,
                "duplicates": size,
                "first": [copy.as_json() for copy in self._copies_of(original)],
            }
            for original, size in sizes
        ]

    def _copies_of(self, original: str) -> Iterator[Copy]:
        query = (
            "SELECT original, url, kind, distance, name FROM pages WHERE original = CAST(? AS TEXT)"
            f" AND {_COPY} ORDER BY number LIMIT {_COPIES_SHOWN}"
        )
        return (Copy(*row) for row in self._rows(query, to_utf8(original)))

    def copies(self) -> Iterator[Copy]:
        """Yield all duplicates: of the largest groups first, but at first 20 of each group."""
        query = (
            f"SELECT copy.original, copy.url, copy.kind, copy.distance, copy.name, "
            f"kept.name "
            "FROM (SELECT *, count(*) OVER (PARTITION BY original) AS size, row_number() "
            "OVER (PARTITION BY original ORDER BY number) AS place, min(number) "
            f"OVER (PARTITION BY original) AS age FROM pages WHERE {_COPY}) AS copy "
            "LEFT JOIN pages AS kept ON kept.number = (SELECT min(number) FROM pages WHERE url = "
            "copy.original AND kind IN ('new', 'changed', 'unchanged') AND name IS NOT NULL) "
            f"ORDER BY place > {_COPIES_SHOWN}, size DESC, age, place"
        )
        return (Copy(*row) for row in self._query(query))

    def lost_text(self) -> dict[str, Any]:
        """Return how much text the drops lose, and those that lose most.

        By the keys of a report's ``dropped_text``, but for ``is_stored``. What an earlier crawl
        stored is known where its text was met again: in an unchanged page, or in an exact duplicate
        of it. A drop for another page of an earlier crawl cannot be judged; such drops are counted,
        and left out of the estimate.
        """
        sample, pages, unknown = LostTextSample(), 0, 0
        for (stored,) in self._query(_STORED):
            sample.add_kept(Sequences.from_bytes(stored))
        for url, original, dropped, is_known in self._query(_DROPPED, self.has_past):
            if is_known:
                pages += 1
                sample.add_dropped(Sequences.from_bytes(dropped), url, original)
            else:
                unknown += 1
        text = sample.result()
        return {
            "pages": pages,
            "pages_of_earlier_crawls": unknown,
            "sequences": text.sequences,
            "share": round(text.share, 6),
            "error": round(text.error, 6),
            "lossiest": [
                {
                    "url": drop.key,
                    "original": drop.original,
                    "lost": round(drop.lost),
                    "sequences": drop.sequences,
                }
                for drop in sample.lossiest(_LOSSIEST_SHOWN)
            ],
        }


def write_copies(copies: Iterator[Copy], path: Path) -> Path | None:
    """Write *copies* as lines of JSON; return *path*, ``None`` without any. Raises OSError."""
    first = next(copies, None)
    if first is None:
        return None
    with replacing(path) as file:
        for copy in (first, *copies):
            file.write(json.dumps({"original": copy.original, **copy.as_json()}).encode() + b"\n")
    return path


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
    split = split_url(url)
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
