"""Near-duplicates among texts of your own: the detector of a crawl, without a crawl."""

import shutil
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import closing
from itertools import islice
from os import PathLike
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, NamedTuple, Self
from weakref import finalize

from dedup.detector import Detector
from dedup.extraction import trafilatura
from dedup.page import Page, PageReader
from dedup.plugins import load_method_class
from dedup.rule import Kind, Rule, Verdict
from dedup.stores import SqliteStore, finished
from dedup.stores.identity import check_identity
from dedup.stores.ledger_file import LedgerFile, lock
from dedup.stores.reader import LedgerReader

_AT_ONCE = 1000


class Group(NamedTuple):
    """A text that was kept, by its key, and the keys of those that were found to repeat it."""

    original: str
    copies: tuple[str, ...]


class Deduplicator:
    """Says of each text whether it repeats one that was added before, as a crawl would.

    The first text of a content is kept, later ones are compared with kept ones alone. It is exact:
    what the method calls a match is found. It works in a temporary file and needs some 100 bytes of
    memory a text. It is for one thread.

    >>> news = Deduplicator(min_tokens=3)
    >>> str(news.add("a", "The moon rises over the sea"))
    'new'
    >>> str(news.add("b", "The moon rises  over the SEA"))
    'exact duplicate of <a> (simhash, distance 0)'
    """

    def __init__(
        self,
        method: str = "simhash",
        *,
        min_tokens: int = 20,
        evidence: bool = True,
        **arguments: Any,
    ) -> None:
        """Create it without texts; *method* is a name of ``dedup methods``, or an import path.

        *arguments* are the method's, such as ``max_distance``. Texts with fewer words than
        *min_tokens* are compared for equality alone. *evidence*: pages of HTML whose main texts
        match are kept apart if what they show besides speaks against it. Raises ValueError.
        """
        if min_tokens < 0:
            raise ValueError(f"min_tokens must be 0 or more, got {min_tokens!r}")
        self._method = load_method_class(method)(**arguments)
        self._identity = {**self._method.identity, **_OF_TEXTS}
        rule = Rule(min_tokens) if evidence else Rule(min_tokens, demands=None)
        self._reader = PageReader(trafilatura, self._method)
        self._rule = rule
        folder = Path(mkdtemp(prefix="dedup-"))
        self._remove_files = finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self._path = folder / "texts.sqlite"
        self._open()

    def _open(self) -> None:
        self._store = SqliteStore(self._path, self._identity)
        self._detector = Detector(self._method, self._rule, store=self._store, repeats_itself=False)
        finished(self._detector.follower.load())
        finished(self._store.join("python"))

    @classmethod
    def load(cls, path: str | PathLike[str], method: str = "simhash", **arguments: Any) -> Self:
        """Return one that knows what `save` has written to *path*; arguments as when it was made.

        A text with the key and the content of one of these is unchanged then; one with another
        content has changed, and takes the place of that. Raises LedgerError if the file was made
        with another method, or is none, OSError if it is missing.
        """
        deduplicator = cls(method, **arguments)
        deduplicator._store.close()
        try:
            with LedgerReader(path) as saved:  # the copy has a name that says nothing to anybody
                check_identity(saved.name, saved.identity, deduplicator._identity, is_resumed=False)
            _copy(Path(path), deduplicator._path)
            deduplicator._open()
        except BaseException:
            deduplicator.close()
            raise
        return deduplicator

    def save(self, path: str | PathLike[str]) -> None:
        """Write all that is known to *path*, a ledger, in place of what is there.

        Texts themselves are not in it. Raises LedgerError or OSError if it cannot be written, as
        while a crawl uses it.
        """
        self._write()
        finished(self._store.leave("finished", None))
        target = LedgerFile(path)
        with lock(target), target.replacement() as new, closing(sqlite3.connect(self._path)) as own:
            own.backup(new)

    def add(self, key: str, text: str | None = None, *, html: str | None = None) -> Verdict:
        """Return what *text* is among those before, and keep it if that is new or changed.

        *key* is what the verdicts on others call it, such as its URL. *html* in place of a text is
        a page, whose main text is compared. Raises RuntimeError if that fails, TypeError for a key
        or a text that is no string, or for both a text and HTML, or none.
        """
        page = self._page(text, html)
        return self._add(key, page)

    def add_many(self, texts: Iterable[tuple[str, str]]) -> Iterator[Verdict]:
        """Yield what `add` says of each key and text, in their order; faster than one by one."""
        left = iter(texts)
        while some := list(islice(left, _AT_ONCE)):
            pages = self._reader.read_texts([_string("a text", text) for _, text in some])
            for (key, _), page in zip(some, pages, strict=True):
                yield self._add(key, page)

    def find(self, text: str | None = None, *, html: str | None = None) -> Verdict:
        """Return what `add` would say of *text*, with a key of its own, and keep nothing."""
        self._check_open()
        return finished(self._detector.find(self._page(text, html).record))

    def _page(self, text: str | None, html: str | None) -> Page:
        if html is None:
            [page] = self._reader.read_texts([_string("a text", text)])
            return page
        if text is not None:
            raise TypeError("give a text or html, not both")
        return self._reader.read_html(_string("html", html))

    def _add(self, key: str, page: Page) -> Verdict:
        self._check_open()
        verdict = self._detector.judge(page.under(_string("a key", key)))
        if self._store.unpublished >= _AT_ONCE:
            self._write()
        return verdict

    def _check_open(self) -> None:
        if not self._remove_files.alive:
            raise ValueError("this Deduplicator is closed")

    def _write(self) -> None:
        self._check_open()
        with self._store.publishing() as news:
            finished(self._store.exchange((), news))

    def __len__(self) -> int:
        """Return the number of texts that were kept."""
        return len(self._detector)

    def __iter__(self) -> Iterator[Group]:
        """Yield each text that was kept, by age, with those that repeat it."""
        self._write()
        copies = defaultdict(list)
        with LedgerReader(self._path) as ledger:
            for note in ledger.duplicates():
                if note.kind in (Kind.EXACT, Kind.NEAR):
                    copies[note.number].append(note.key)
            for page in ledger.pages():
                yield Group(page.record.key, tuple(copies.get(page.number, ())))

    def close(self) -> None:
        """Forget what was not saved, and remove the temporary file."""
        self._store.close()
        self._remove_files()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


_OF_TEXTS = {"extractor": "trafilatura", "item_field": None, "scope": "crawl"}
"""What a crawl with the same method and default settings has in its ledger."""


def _string(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a string, got {value!r:.100}")
    return value


def _copy(path: Path, copy: Path) -> None:
    """Write the ledger at *path* to *copy*, in place of what is there."""
    with LedgerReader(path):  # which says what is wrong with it
        copy.unlink(missing_ok=True)
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as file:
            file.execute("VACUUM INTO ?", [str(copy)])
