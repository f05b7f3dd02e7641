"""What became of the pages of a crawl, as rows of a temporary table: figures are queries."""

import json
import re
import sqlite3
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from dedup.atomic_file import replacing
from dedup.extraction import language_of_text
from dedup.limits import LONGEST_TEXT, shorten, split_url
from dedup.logs import get_logger
from dedup.lost_text import LostTextSample, Sequences
from dedup.page import Page
from dedup.preference import is_version
from dedup.rule import Kind, Verdict
from dedup.scopes import host
from dedup.text import script_of, writable

logger = get_logger(__name__)

_NAMES_SHOWN = 50
_REVISITS_SHOWN = _GROUPS_SHOWN = 1000
_COPIES_SHOWN = 20
_FIELDS_SHOWN = 10
_LOSSIEST_SHOWN = 50
_LONGEST_TITLE = 200

# Pages whose texts are kept, and copies of these.
_TEXTS = 2000
_COPIES_WITH_TEXTS = 10

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
        return {name: getattr(self, name) for name in ("url", "verdict", "distance", "title")}


_TABLES = """
    PRAGMA journal_mode = OFF;
    ATTACH '' AS bulk;
    -- Without a journal, a row for which the disk is too full would damage the others.
    PRAGMA bulk.journal_mode = MEMORY;
    CREATE TABLE pages (
        number INTEGER PRIMARY KEY, kind, url, original, host, pattern, name, distance
    );
    CREATE TABLE differences (number INTEGER PRIMARY KEY, page, url, original, field, value);
    CREATE TABLE bulk.stored (number INTEGER PRIMARY KEY, url, sequences);
    CREATE TABLE bulk.judged (number INTEGER PRIMARY KEY, page, sequences);
    CREATE TABLE bulk.texts (number INTEGER PRIMARY KEY, url UNIQUE, title, text);
"""
_INDEXES = f"""
    CREATE INDEX by_url ON pages (url);
    CREATE INDEX by_original ON pages (original) WHERE {_DUPLICATE};
"""


class PageEvents:
    """The pages of a crawl in the order in which they were judged.

    They are in tables of SQLite in temporary files, which the process deletes: they take no memory.
    SQLITE_TMPDIR or TMPDIR says where these are. Raises sqlite3.Error if they cannot be used. The
    tables named ``bulk.…``, which take most of the room, have a file of their own: where the disk
    has no room for them, they get no more rows, and nothing is raised.
    """

    def __init__(self) -> None:
        # The pages whose texts are kept, with how many of their copies' are.
        self._texts = Counter[str]()
        self.texts_lost = 0
        """How many texts there was no room for."""
        self.failure: sqlite3.Error | None = None
        """Why the bulk tables lack rows."""
        self.has_past = False
        """Whether there are pages that were stored before this crawl, or by others meanwhile."""

    @cached_property
    def _database(self) -> sqlite3.Connection:
        # Another thread may read, once no more rows come.
        database = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        database.executescript(_TABLES)
        return database

    @cached_property
    def _indexed(self) -> sqlite3.Connection:
        """The database with what queries need: to add to an index page by page takes longer."""
        self._database.executescript(_INDEXES)
        return self._database

    def close(self) -> None:
        if "_database" in vars(self):
            self._database.close()

    def _insert(self, table: str, *values: Any) -> int:
        """Add a row, unless it has what is unique, and return its number."""
        row = [writable(value) if isinstance(value, str) else value for value in values]
        insert = f"INSERT OR IGNORE INTO {table} VALUES (NULL{', ?' * len(row)})"
        return self._database.execute(insert, row).lastrowid or 0

    def _insert_bulk(self, table: str, *values: Any) -> None:
        try:
            if self.failure is None:
                self._insert(f"bulk.{table}", *values)
        except sqlite3.Error as error:
            self.failure = error

    def _query(self, query: str, *values: Any) -> Iterator[tuple[Any, ...]]:
        return self._indexed.execute(query, values)

    def add(
        self,
        verdict: Verdict,
        url: str,
        page: Page | None,
        differences: Mapping[str, str] | None = None,
    ) -> None:
        """Add the *verdict* on *page* at *url*.

        *differences*: what its item says, and the one of its original does not, by field.
        """
        title = page.title if page else None
        number = self._insert(
            "pages", verdict.kind.value, url, verdict.original, host(url), url_pattern(url),
            shorten(title, _LONGEST_TITLE) if title else None, verdict.distance,
        )  # fmt: skip
        for field, value in (differences or {}).items():
            self._insert("differences", number, url, verdict.original or "", field, value)
        # Those of a page that may be stored come when its claim ends.
        may_be_stored = verdict.kind in (Kind.NEW, Kind.CHANGED, Kind.SKIPPED)
        if page and page.sequences and not may_be_stored:
            self._insert_bulk("judged", number, page.sequences.to_bytes())

    def add_stored(self, url: str, sequences: bytes) -> None:
        """Add the *sequences* of a text that has been stored for *url*."""
        self._insert_bulk("stored", url, sequences)

    def add_text(self, verdict: Verdict, url: str, page: Page) -> None:
        """Add the text of *page* at *url*, if it may be shown.

        Those are of the first 2,000 pages that are new, changed or unchanged, and of the first
        2,000 near-duplicates of these, up to 10 of each. Nothing is raised where the disk has no
        room.
        """
        texts, original = self._texts, verdict.original or ""
        if not page.text:
            return
        if verdict.kind in (Kind.NEW, Kind.CHANGED, Kind.UNCHANGED):
            if url in texts or len(texts) == _TEXTS:  # of several items, the first one counts
                return
            texts[url] = 0
        elif verdict.kind is Kind.NEAR and original in texts:
            if texts[original] == _COPIES_WITH_TEXTS or texts.total() == _TEXTS:
                return
            texts[original] += 1
        else:
            return
        title = shorten(page.title) if page.title else None
        text = zlib.compress(writable(page.text[:LONGEST_TEXT]).encode())
        self._insert_bulk("texts", url, title, text)
        if self.failure:
            self._lose_text(self.failure)

    def _lose_text(self, error: sqlite3.Error) -> None:
        """Count a text that the disk has no room for, and warn of the first one."""
        if not self.texts_lost:
            logger.warning(
                "Texts for the report cannot be kept (%s): no more are, and differences will be "
                "missing. They go to a temporary file (SQLITE_TMPDIR, TMPDIR)", error,
            )  # fmt: skip
        self.texts_lost += 1

    def text(self, url: str) -> tuple[str | None, str] | None:
        """Return title and text of the page at *url*, ``None`` if it was not kept."""
        for _, title, text in self.texts("url = ?", writable(url)):
            return title, text
        return None

    def texts(self, where: str = "true", *values: Any) -> Iterator[tuple[str, str | None, str]]:
        """Yield URL, title and text of the pages whose texts were kept."""
        try:
            for url, title, text in self._query(
                f"SELECT url, title, text FROM texts WHERE {where}", *values
            ):
                yield url, title, zlib.decompress(text).decode()
        except sqlite3.Error as error:
            self._lose_text(error)

    def chinese_scripts(self) -> dict[str, int] | None:
        """Return how many of the kept pages whose texts there are are in either Chinese script.

        ``None`` if one of them was not met.
        """
        is_kept = "url IN (SELECT url FROM pages WHERE kind IN ('new', 'changed'))"
        texts = (text for *_, text in self.texts(is_kept))
        scripts = Counter(script_of(text) for text in texts if language_of_text(text) == "zh")
        counts = {name: scripts[name] for name in ("simplified", "traditional")}
        return counts if all(counts.values()) else None

    def figures(self) -> dict[str, Any]:
        """Return what the pages show, by the keys of a `Report`."""
        [[groups]] = self._query(f"SELECT count(DISTINCT original) FROM pages WHERE {_COPY}")
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
        return [{"url": url, "distance": at} for url, at in self._query(query, kind)]

    def _item_differences(self) -> dict[str, Any] | None:
        query = (
            "SELECT field, count(*) AS pages, value, min(number) AS age FROM differences "
            f"GROUP BY field ORDER BY pages DESC, age LIMIT {_FIELDS_SHOWN}"
        )
        rows = list(self._query(query))
        if not rows:
            return None
        shown = ", ".join("?" * len(rows))
        [[pages, in_fields]] = self._query(
            f"SELECT count(*), sum(are_shown) FROM (SELECT min(field IN ({shown})) AS are_shown "
            "FROM differences GROUP BY page)", *(field for field, *_ in rows)
        )  # fmt: skip
        [[url, original]] = self._query("SELECT url, original FROM differences LIMIT 1")
        return {
            "pages": pages,
            "in_fields": in_fields,
            "fields": [{"name": row[0], "pages": row[1], "value": row[2]} for row in rows],
            "url": url,
            "original": original,
        }

    def _names(self, column: str) -> dict[str, Any]:
        rows = self._query(
            f"SELECT {column}, count(*), sum({_DUPLICATE}) FROM pages WHERE kind <> 'skipped' "
            f"GROUP BY 1 ORDER BY 2 DESC, min(number) LIMIT {_NAMES_SHOWN}"
        )
        names = f"SELECT count(DISTINCT {column}) FROM pages WHERE kind <> 'skipped'"
        keys = ("name", "pages", "duplicates")
        largest = [dict(zip(keys, row, strict=True)) for row in rows]
        [[count]] = self._query(names)
        return {"names": count, "largest": largest}

    def _groups(self) -> list[dict[str, Any]]:
        sizes = self._query(
            f"SELECT original, count(*) FROM pages WHERE {_COPY} GROUP BY 1 "
            f"ORDER BY 2 DESC, min(number) LIMIT {_GROUPS_SHOWN}"
        )
        first = (
            f"SELECT original, url, kind, distance, name FROM pages WHERE original = ? AND {_COPY} "
            f"ORDER BY number LIMIT {_COPIES_SHOWN}"
        )
        return [
            {
                "original": original,
                "duplicates": size,
                "first": [Copy(*row).as_json() for row in self._query(first, original)],
            }
            for original, size in sizes
        ]

    def copies(self) -> Iterator[Copy]:
        """Yield all duplicates: of the largest groups first, but at first 20 of each group."""
        query = (
            "SELECT copy.original, copy.url, copy.kind, copy.distance, copy.name, kept.name "
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
