"""Record -> pages of its scope with an equal main text, and those that also show the same."""

from hashlib import blake2b

import numpy as np

from dedup.arrays import Array
from dedup.evidence import VIEW
from dedup.index.base import Match, PageFilter
from dedup.methods.exact import Exact
from dedup.packed import Packed
from dedup.record import PageRecord, RecordColumns
from dedup.search import Loader, index_for
from dedup.text import to_utf8


class EqualPages:
    """Finds pages whose main texts are equal.

    Thousands of pages may have one menu for a main text, so that few of them can be looked at.
    Those whose whole visible texts are equal, too, are found directly.
    """

    def __init__(self, *, by_view: bool) -> None:
        """Create it without pages; *by_view*: what pages show besides their main text matters."""
        self._by_view = by_view
        self._texts = index_for(Exact())
        self._views = index_for(Exact())
        self._loaders = Loader(self._texts), Loader(self._views)

    def add(self, record: PageRecord, number: int) -> None:
        """Have page *number* found from now on."""
        digest = _digest_of(record)
        self._texts.add(digest, number)
        if self._by_view and record.evidence is not None:
            self._views.add(_both(digest, record.evidence), number)

    def discard(self, record: PageRecord, number: int) -> None:
        """Forget page *number*, which was added as *record*."""
        digest = _digest_of(record)
        self._texts.discard(digest, number)
        if self._by_view and record.evidence is not None:
            self._views.discard(_both(digest, record.evidence), number)

    def with_equal_text(self, record: PageRecord) -> list[Match]:
        """Return the pages with the main text of *record*, the oldest first.

        If there are very many, the latest of them.
        """
        return self._texts.query_all(_digest_of(record))

    def with_equal_view(self, record: PageRecord, counts: PageFilter) -> Match | None:
        """Return the oldest page with the main text and the view of *record*, or ``None``.

        *record* has evidence. *counts* says which pages to consider, and compares their views.
        """
        assert record.evidence is not None
        return self._views.query(_both(_digest_of(record), record.evidence), counts)

    def load(self, pages: RecordColumns) -> None:
        """Add many pages, some only by `finish_loading`."""
        texts, views = self._loaders
        digests = _digests_of(pages)
        texts.add(Packed.of_rows(digests), pages.numbers)
        if self._by_view:
            has = pages.has_evidence
            views.add(Packed.of_rows(digests[has] ^ pages.evidence[:, VIEW]), pages.numbers[has])

    def finish_loading(self) -> None:
        """Add the pages that `load` has left."""
        for loader in self._loaders:
            loader.finish()

    @property
    def nbytes(self) -> int:
        """The memory that it takes, in bytes."""
        return self._texts.nbytes + self._views.nbytes


# What a page with evidence is looked up by is the exclusive or of two digests: where the views of
# two pages are equal, so are their texts.


def _both(digest: bytes, evidence: bytes) -> bytes:
    view = int.from_bytes(evidence[VIEW], "little")
    return (int.from_bytes(digest, "little") ^ view).to_bytes(16, "little")


def _digest_of(record: PageRecord) -> bytes:
    """Return what the text of *record* is looked up by."""
    assert record.digest is not None
    return _in_scope(record.digest, record.scope)


def _digests_of(pages: RecordColumns) -> Array:
    """Return what the texts of *pages* are looked up by, shape (n, 16), uint8."""
    if not any(pages.scopes):
        return pages.digests
    scopes = [pages.scopes[place] for place in pages.of_scope.tolist()]
    digests = map(_in_scope, Packed.of_rows(pages.digests), scopes)
    return np.frombuffer(b"".join(digests), np.uint8).reshape(-1, 16)


def _in_scope(digest: bytes, scope: str) -> bytes:
    """Return what *digest* is looked up by: equal texts of different scopes are not equal."""
    if not scope:
        return digest
    # Together: of two digests, what is made for one scope could be chosen to be that of another.
    both = digest + to_utf8(scope)
    return blake2b(both, digest_size=16, person=b"scope").digest()
