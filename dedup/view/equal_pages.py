"""Record -> pages of its scope with an equal main text; those that show and say the same, too."""

from collections.abc import Iterable
from hashlib import blake2b

import numpy as np

from dedup.arrays import Array
from dedup.evidence import VIEW
from dedup.index.base import Match
from dedup.methods.exact import Exact
from dedup.packed import Packed
from dedup.record import SIZE_OF_VALUE, PageRecord, RecordColumns, keys_of, unpack_items
from dedup.search import Loader, index_for
from dedup.text import to_utf8
from dedup.view.search import Search


class EqualPages:
    """Finds pages whose main texts are equal.

    Thousands of pages may have one menu, or one notice, for a main text. Of so many, only the
    latest are asked (`Exact.candidates_per_key`); but those that show and say the same are found
    among all.
    """

    def __init__(self, *, by_view: bool) -> None:
        """Create it without pages; *by_view*: what they show besides their main text matters."""
        self._by_view = by_view
        self._texts, self._same = index_for(Exact()), index_for(Exact())
        self._loaders = Loader(self._texts), Loader(self._same)

    def add(self, record: PageRecord, number: int) -> None:
        """Have page *number* found from now on, by the item of *record*."""
        self._texts.add(_digest_of(record), number)
        self.add_item(record, number)

    def add_item(self, record: PageRecord, number: int) -> None:
        """Have page *number*, which was added, found by the item of *record*, too."""
        if all_of_it := self._all_of(record):
            self._same.add(all_of_it, number)

    def discard(self, record: PageRecord, number: int, items: Iterable[bytes]) -> None:
        """Forget page *number*, which was added as *record*, with its *items*."""
        self._texts.discard(_digest_of(record), number)
        for item in {record.item, *items}:
            self.discard_item(record._replace(item=item), number)

    def discard_item(self, record: PageRecord, number: int) -> None:
        """Have page *number* found no more by the item of *record*."""
        if all_of_it := self._all_of(record):
            self._same.discard(all_of_it, number)

    def original_of(self, record: PageRecord, search: Search) -> Match | None:
        """Return the page that *record* repeats, or ``None``: one that shows the same, if any."""
        matches = self._texts.query_all(_digest_of(record))
        if not matches:
            return None
        all_of_it = self._all_of(record)
        if all_of_it and (match := self._same.query(all_of_it, search.is_same)):
            return match
        return search.nearest(
            lambda counts: next((m for m in matches if counts(m.page)), None), is_exact=True
        )

    def load(self, pages: RecordColumns) -> None:
        """Add many pages, some only by `finish_loading`."""
        texts, same = self._loaders
        digests = _digests_of(pages)
        texts.add(Packed.of_rows(digests), pages.numbers)
        rows = digests.copy()
        if self._by_view:
            rows[pages.has_evidence] ^= pages.evidence[:, VIEW]
        places, folded, is_said = _folded_items(pages.items)
        rows = rows[places]
        rows[:, :SIZE_OF_VALUE] ^= folded
        told = is_said | pages.has_evidence[places] if self._by_view else is_said
        same.add(Packed.of_rows(rows[told]), pages.numbers[places[told]])

    def finish_loading(self) -> None:
        """Add the pages that `load` has left."""
        for loader in self._loaders:
            loader.finish()

    @property
    def nbytes(self) -> int:
        """The memory that it takes, in bytes."""
        return self._texts.nbytes + self._same.nbytes

    def _all_of(self, record: PageRecord) -> bytes | None:
        """Return what tells all of *record*; ``None`` if its text does.

        It is the exclusive or of the digests of its text and of its view, and of the values of its
        item: whoever finds a page so compares all of them.
        """
        view = record.evidence[VIEW] if self._by_view and record.evidence else b""
        if not view and not record.item:
            return None
        folded = 0
        for part in (_digest_of(record), view, *keys_of(record.item)):
            folded ^= int.from_bytes(part, "little")
        return folded.to_bytes(16, "little")


def _folded_items(items: Packed) -> tuple[Array, Array, Array]:
    """Return the place of the page of each item, the exclusive or of its values, and if it has any.

    Shapes (n,), int64; (n, 8), uint8; and (n,), bool, for the n items of all pages.
    """
    each = [unpack_items(data) for data in items]
    counts = np.fromiter(map(len, each), np.int64, len(each))
    flat = [item for of_page in each for item in of_page]
    lengths = np.fromiter(map(len, flat), np.int64, len(flat))
    # An item without values has one that changes nothing.
    values = np.frombuffer(b"".join(item or bytes(SIZE_OF_VALUE) for item in flat), np.uint64)
    ends = np.cumsum(np.maximum(lengths // SIZE_OF_VALUE, 1))
    folded = np.bitwise_xor.reduceat(values, np.append(0, ends[:-1])) if flat else values
    places = np.repeat(np.arange(len(each)), counts)
    return places, folded.view(np.uint8).reshape(-1, SIZE_OF_VALUE), lengths > 0


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
