"""Ledgers that are made or changed by commands: for other settings, of feeds, of dropped items."""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from time import time
from typing import Any

from dedup.limits import shorten_url
from dedup.methods import Method
from dedup.record import (
    Claimed,
    Committed,
    pack_items,
    unpack_items,
    with_digest,
)
from dedup.record_field import FieldReader, FieldRecord, MadeWith, digest_of_identity
from dedup.scopes import Scope, are_versions
from dedup.stores import tables
from dedup.stores.base import Commit
from dedup.stores.identity import OTHERS, differences, parts_of_identity
from dedup.stores.ledger_file import LedgerError, LedgerFile, lock
from dedup.stores.reader import LedgerReader
from dedup.text import Document

# For other settings.


def reindex(
    source: Path,
    target: Path,
    *,
    name: str = "",
    method: Method | None = None,
    scope: str | None = None,
    texts: Iterable[tuple[str, str]] = (),
) -> tuple[int, int]:
    """Write a ledger for *method* and *scope* into *target*, with all that *source* holds.

    Returns how many pages it compares, and how many it does not, for want of their texts.

    Scopes are made of the URLs, which tell neither languages nor items. Sketches of another method
    need *texts*, URLs and main texts as they were judged: those of other texts under the URL are
    passed over. A page whose text is missing does not count any more, and is stored again when it
    is met. *name* is what messages call *source*. An existing *target* is replaced, when all is
    done.

    Raises LedgerError if *source* is no ledger, if *target* is in use, if *source* was made with a
    secret and *method* has none, if *scope* needs more than URLs, or if there are no texts although
    they are needed; ValueError for a *scope* that there is not.
    """
    name = name or str(source)
    old, new = LedgerFile(source), LedgerFile(target)
    with LedgerReader(source, accepts_earlier=True) as reader:
        identity = reader.identity
    of_method, others = parts_of_identity(identity)
    if method is not None and "secret" in identity and method.hashing.secret_digest is None:
        raise LedgerError(
            f"{name} was made with a secret, so the new one needs one: give it (DEDUP_SECRET)"
        )
    new_scope = None if scope is None else _scope_of_urls(scope, name)
    # Whatever is found wrong in the new one comes from the old one.
    with lock(new), new.replacement() as file, old.errors():
        with closing(old.read_only(accepts_earlier=True)) as there:
            there.backup(file)
        file.execute("PRAGMA journal_mode = DELETE")
        new.upgrade(file)
        with file:
            tables.end_sharing(file)
            before = with_text = tables.count_pages(file)
            if method is not None and method.identity != of_method:
                of_method = json.loads(json.dumps(method.identity))
                _sketch(file, method, texts, is_simplified=bool(identity.get("simplify_chinese")))
                with_text = tables.count_pages(file)
                if before and not with_text:
                    raise LedgerError(
                        f"{name} holds the texts of some pages only, for its reports, and no "
                        "sketch can be made of another one: give the feed with all that were "
                        "stored (--texts)"
                    )
            if new_scope is not None:
                if new_scope.name != identity.get("scope"):
                    _rescope(file, new_scope)
                others["scope"] = new_scope.name
            tables.set_identity(file, {**of_method, **dict.fromkeys(OTHERS), **others})
        return tables.count_pages(file), before - with_text


def _scope_of_urls(wanted: str, ledger: str) -> Scope:
    """Return the scope *wanted*; raises LedgerError if URLs are not all that it needs."""
    scope = Scope.of(wanted)
    if scope.arguments != {"url"}:
        raise LedgerError(
            f"{ledger} has no languages and no items of pages, only their URLs, and the scope "
            f"{scope.name!r} needs more: crawl with another ledger (DEDUP_INDEX), or start afresh "
            "(-a dedup_reset=1)"
        )
    return scope


def _sketch(
    file: sqlite3.Connection,
    method: Method,
    texts: Iterable[tuple[str, str]],
    *,
    is_simplified: bool,
) -> None:
    """Give the pages whose texts there are sketches of *method*; the others have ended.

    *is_simplified*: the ledger was made with a method that simplifies Chinese.
    """
    file.execute("CREATE TEMP TABLE done (id INTEGER PRIMARY KEY)")
    file.execute("UPDATE pages SET sketch = NULL")
    for url, text in texts:
        judged = Document.from_main_text(text, simplify_chinese=is_simplified)
        found = file.execute(
            "SELECT id FROM pages WHERE url = ? AND digest = ? AND ended IS NULL",
            (shorten_url(url), judged.digest),
        ).fetchall()
        if found:
            document = method.document(text)
            data = method.sketch_bytes(document, method.sketch(document))
            file.executemany(
                "UPDATE pages SET sketch = ?, tokens = ?, digest = ? WHERE id = ?",
                ((data, document.word_count, document.digest, *page) for page in found),
            )
            file.executemany("INSERT OR IGNORE INTO done VALUES (?)", found)
    file.execute(
        # What has no words, as a PDF, has no sketch of any method.
        "UPDATE pages SET ended = ? WHERE ended IS NULL AND tokens > 0 "
        "AND id NOT IN (SELECT id FROM done)",
        (time(),),
    )


def _rescope(file: sqlite3.Connection, scope: Scope) -> None:
    for number, url in file.execute("SELECT id, url FROM pages").fetchall():
        name = scope.name_of(url)
        if name is None:  # a function does not know it, so that it is compared with nothing
            file.execute("UPDATE pages SET ended = ? WHERE id = ?", (time(), number))
        else:
            file.execute("UPDATE pages SET scope = ? WHERE id = ?", (name, number))


# Of the records in the fields of items, when there is no ledger any more.


def rebuild(
    target: Path,
    method: Method,
    feeds: Iterable[tuple[Path, Iterable[FieldRecord | ValueError]]],
) -> tuple[int, int, str]:
    """Write a ledger into *target* that knows the pages of *feeds*.

    It also knows pages that the lost one did not: those of which some items failed. Returns how
    many pages it compares, how many records were passed over, and why the first of these was.

    Each feed is its file and what its items hold, in order: records of *method*, or why there is
    none. The first record tells the extractor, the item field and the scope; records with others
    are passed over, and such pages are stored again when they are met. Pages count as stored when
    their feed was last written. Of the records of one key, the last text counts, with all of its
    items; with an item field, where a key has several contents, each counts until a later one is
    near it. An existing *target* is replaced, when all is done.

    Raises LedgerError if *target* is in use, or if there is no record at all.
    """
    new = LedgerFile(target)
    passed_over, first = 0, ""
    made_with: MadeWith | None = None
    with lock(new), new.replacement() as file:
        new.lay_out(file, {})
        with file:
            for path, records in feeds:
                at = min(path.stat().st_mtime, time())
                crawl = add_crawl(file, path.name, at, "rebuilt")
                for found in records:
                    if isinstance(found, FieldRecord):
                        made_with = made_with or found.made_with
                        if found.made_with == made_with:
                            _store(file, method, found, at, crawl)
                            continue
                        here, there = made_with._asdict(), found.made_with._asdict()
                        told = "; ".join(differences(there, here, here))
                        found = ValueError(f"the record was made with other settings: {told}")
                    passed_over += 1
                    first = first or str(found)
            if made_with is None:
                raise LedgerError(f"no item has a record of {method.name}; {first or 'no item'}")
            others = made_with._asdict()
            del others["method"], others["digest"]
            tables.set_identity(file, {**method.identity, **others})
        return tables.count_pages(file), passed_over, first


def add_crawl(file: sqlite3.Connection, name: str, at: float, reason: str) -> int:
    """Write down a crawl that was none; return its number."""
    crawl = tables.insert_crawl(file, name, None, started=at)
    tables.note_end(file, crawl, reason, at=at)
    return crawl


def _store(
    file: sqlite3.Connection,
    method: Method,
    found: FieldRecord,
    at: float,
    crawl: int,
    *,
    replaces: bool = True,
) -> None:
    """Store a page that has text, unless it is there; *replaces*: in the place of others."""
    record = with_digest(found.record)
    if record.digest is None:
        return
    rows = file.execute(
        "SELECT id, digest, sketch, items, scope FROM pages WHERE url = ? AND ended IS NULL",
        (record.key,),
    )
    earlier = [row for row in rows if are_versions(record.scope, row[-1])]
    for number, digest, _, items, _ in earlier:
        if digest == record.digest:
            told = dict.fromkeys([*unpack_items(items), record.item])
            file.execute(
                "UPDATE pages SET seen = ?, items = ? WHERE id = ?", (at, pack_items(told), number)
            )
            return
    if not replaces:
        earlier = []
    elif found.made_with.item_field is not None:
        earlier = [row for row in earlier if _are_near(record.sketch, row[2], method)]
    number = tables.last_page(file) + 1
    event = Committed(number, None, tuple(row[0] for row in earlier))
    tables.insert_pages(file, [Commit(Claimed(record, number), event, at)], crawl)


def _are_near(one: bytes | None, other: bytes | None, method: Method) -> bool:
    if one is None or other is None:
        return False
    distance: float = method.distance(*map(method.from_bytes, (other, one)))
    return distance <= method.max_distance


# Of items that were dropped, and are stored after all.


class Restoration:
    """Writes restored pages into a ledger, as stored by a crawl of their own."""

    def __init__(
        self, file: sqlite3.Connection, identity: Mapping[str, Any], method: Method, name: str
    ) -> None:
        self._file = file
        self._method = method
        own, others = parts_of_identity(identity)
        self._reader = FieldReader(method, own)
        self._made_with = MadeWith(method.name, digest_of_identity(own), **others)
        self._name = name
        self._at = time()
        self._crawl = 0

    def restore(self, values: Any) -> bool:
        """Have the page of a dropped item count as stored, and as no duplicate of another.

        *values* is the record of the item. Returns False if a crawl has stored that page, text and
        item, even if another one since; raises ValueError if this ledger cannot use the record.
        """
        [found] = self._reader.read([values])
        if isinstance(found, ValueError):
            raise found
        if found.made_with != self._made_with:
            raise ValueError("its page was judged with another extractor, field or scope")
        record = with_digest(found.record)
        rows = self._file.execute(
            "SELECT items, scope FROM pages WHERE url = ? AND digest = ? AND crawl != ?",
            (record.key, record.digest, self._crawl),
        )
        for items, scope in rows:
            if are_versions(record.scope, scope) and record.item in unpack_items(items):
                return False
        self._crawl = self._crawl or add_crawl(self._file, self._name, self._at, "restored")
        # An item that was dropped for another one of its URL does not take the place of that.
        is_page = found.made_with.item_field is None
        _store(self._file, self._method, found, self._at, self._crawl, replaces=is_page)
        self._file.execute("DELETE FROM matches WHERE url = ?", (record.key,))
        return True


@contextmanager
def restoring(path: Path, name: str) -> Iterator[Restoration]:
    """Lock the ledger at *path*, and write what the block adds when it ends without an error.

    *name* stands for the spider in the list of crawls. Raises LedgerError if the ledger is in use,
    damaged or of an unknown method, OSError if it is missing.
    """
    with LedgerReader(path) as reader:
        method = reader.method
    ledger = LedgerFile(path)
    with lock(ledger), ledger.errors(), closing(ledger.connect()) as file, file:
        tables.end_sharing(file)
        identity = ledger.identity(file)
        if method is None:
            raise LedgerError(
                f"{path} is of a method that is none of scrapy-dedup, or of another version of it "
                f"({identity.get('method')!r}): its sketches cannot be checked"
            )
        yield Restoration(file, identity, method, name)
