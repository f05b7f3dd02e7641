"""A ledger for other settings, made of one that there is."""

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import time

from dedup.ledger_lock import lock
from dedup.limits import shorten_url
from dedup.methods.base import Method
from dedup.record import digest_of
from dedup.scopes import Scope
from dedup.sqlite_file import LedgerError, SqliteFile
from dedup.stores import tables
from dedup.stores.identity import OTHERS, parts_of_identity
from dedup.stores.reader import LedgerReader
from dedup.stores.sqlite import KIND
from dedup.text import Document


@dataclass(frozen=True)
class Reindexed:
    """How many pages the new ledger compares, and how many it does not, for want of their texts."""

    pages: int
    without_text: int


def reindex(
    source: Path,
    target: Path,
    *,
    name: str = "",
    method: Method | None = None,
    scope: str | None = None,
    texts: Iterable[tuple[str, str]] = (),
    advance: Callable[[], object] = lambda: None,
) -> Reindexed:
    """Write a ledger for *method* and *scope* into *target*, with all that *source* holds.

    Scopes are made of the URLs, which tell neither languages nor items. Sketches of another method
    need *texts*, URLs and main texts as they were judged: those of other texts under the URL are
    passed over. A page whose text is missing does not count any more, and is stored again when it
    is met. *name* is what messages call *source*. *advance* is called after each text. An existing
    *target* is replaced, when all is done.

    Raises LedgerError if *source* is no ledger, if *target* is in use, if *source* was made with a
    secret and *method* has none, if *scope* needs more than URLs, or if there are no texts although
    they are needed; ValueError for a *scope* that there is not.
    """
    name = name or str(source)
    with LedgerReader(source, accepts_last_version=True) as reader:
        identity = reader.identity
    of_method, others = parts_of_identity(identity)
    new_method = None if method is None or method.identity == of_method else method
    new_scope = None if scope is None else _scope_of_urls(scope, name)
    if method is not None and "secret" in identity and method.hashing.secret_digest is None:
        raise LedgerError(
            f"{name} was made with a secret, so the new one needs one: give it (DEDUP_SECRET)"
        )
    with _copy(source, target) as file:
        before = tables.count_pages(file)
        if new_method is not None:
            of_method = json.loads(json.dumps(new_method.identity))
            judged_simplified = bool(identity.get("simplify_chinese"))
            _sketch(file, new_method, texts, advance, judged_simplified=judged_simplified)
        if new_scope is not None:
            if new_scope.name != identity.get("scope"):
                _rescope(file, new_scope)
            others["scope"] = new_scope.name
        tables.set_identity(file, {**of_method, **dict.fromkeys(OTHERS), **others})
        pages = tables.count_pages(file)
        if new_method is not None and before and not pages:
            raise LedgerError(
                f"{name} holds the texts of some pages only, for its reports, and no sketch can "
                "be made of another one: give the feed with all that were stored (--texts)"
            )
    return Reindexed(pages, before - pages)


@contextmanager
def _copy(source: Path, target: Path) -> Iterator[sqlite3.Connection]:
    """Yield a copy of the ledger *source*, which nobody shares; at the end, it is *target*."""
    old, new = SqliteFile(source, KIND), SqliteFile(target, KIND)
    with (
        lock(new),
        new.replacement() as copy,
        old.errors(),
        closing(old.read_only(accepts_last_version=True)) as file,
    ):
        file.backup(copy)
        copy.execute("PRAGMA journal_mode = DELETE")
        new.upgrade(copy)
        with copy:
            tables.end_sharing(copy)
            copy.execute("DELETE FROM owners")
            yield copy


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
    advance: Callable[[], object],
    *,
    judged_simplified: bool,
) -> None:
    """Give the pages whose texts there are sketches of *method*; the others have ended.

    *judged_simplified*: the ledger was made with a method that simplifies Chinese.
    """
    file.execute("CREATE TEMP TABLE done (id INTEGER PRIMARY KEY)")
    file.execute("UPDATE pages SET sketch = NULL")
    for url, text in texts:
        judged = Document.from_main_text(text, simplify_chinese=judged_simplified)
        digest = digest_of(judged) or b""
        found = [
            (number,)
            for number, stored in file.execute(
                "SELECT id, digest FROM pages WHERE url = ? AND ended IS NULL",
                (shorten_url(url),),
            )
            if stored == digest
        ]
        if found:
            document = method.document(text)
            sketch = method.sketch(document)
            data = None if sketch is None else method.to_bytes(sketch)
            tokens, digest = len(document.tokens), digest_of(document) or b""
            file.executemany(
                "UPDATE pages SET sketch = ?, tokens = ?, digest = ? WHERE id = ?",
                ((data, tokens, digest, *number) for number in found),
            )
            file.executemany("INSERT OR IGNORE INTO done VALUES (?)", found)
        advance()
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
