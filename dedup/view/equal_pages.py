"""Record -> pages of its scope with an equal main text; those that show and say the same, too."""

from collections.abc import Callable, Collection, Iterable
from hashlib import blake2b

import numpy as np

from dedup.arrays import Array
from dedup.evidence import VIEW
from dedup.index.base import Match, PageFilter
from dedup.methods.exact import Exact
from dedup.packed import Packed
from dedup.record import SIZE_OF_VALUE, PageRecord, RecordColumns, keys_of, unpack_items
from dedup.search import Loader, index_for
from dedup.text import to_utf8
from dedup.view.stored_items import MANY, ValueIndex


class _AllPages(Exact):
    candidates_per_key = None  # type: ignore[assignment]  # as the base of Exact has it


class EqualPages:
    """Finds pages whose main texts are equal.

    Thousands of pages may have one menu, or one notice, for a main text, so that few of them can be
    looked at. Of so many, those are found that have an item with the rarest value of the item that
    is judged; and those that show and say the same.
    """

    def __init__(self, items_of: Callable[[int], Iterable[bytes]], *, by_view: bool) -> None:
        """Create it without pages; *by_view*: what pages show besides their main text matters.

        *items_of* returns what the items of a page say.
        """
        self._items_of = items_of
        self._by_view = by_view
        self._texts = index_for(_AllPages())
        self._same = index_for(Exact())
        self._loaders = Loader(self._texts), Loader(self._same)
        # Of texts that very many pages have.
        self._crowds: dict[bytes, ValueIndex] = {}

    def add(self, record: PageRecord, number: int) -> None:
        """Have page *number* found from now on, by the item of *record*."""
        self._texts.add(_digest_of(record), number)
        self.add_item(record, number)

    def add_item(self, record: PageRecord, number: int) -> None:
        """Have page *number*, which was added, found by the item of *record*, too."""
        digest = _digest_of(record)
        if self._by_view and record.evidence is not None:
            self._same.add(_all_of(digest, record), number)
        if digest in self._crowds:
            self._crowds[digest].add(keys_of(record.item), number)

    def discard(self, record: PageRecord, number: int, items: Iterable[bytes]) -> None:
        """Forget page *number*, which was added as *record*, with its *items*."""
        self._texts.discard(_digest_of(record), number)
        for item in {record.item, *items}:
            self.discard_item(record._replace(item=item), number)

    def discard_item(self, record: PageRecord, number: int) -> None:
        """Have page *number* found no more by the item of *record*."""
        digest = _digest_of(record)
        if self._by_view and record.evidence is not None:
            self._same.discard(_all_of(digest, record), number)
        if digest in self._crowds:
            self._crowds[digest].remove(keys_of(record.item), number)

    def with_equal_text(
        self, record: PageRecord, keys: Callable[[], Collection[bytes]] = frozenset
    ) -> list[int]:
        """Return the pages with the main text of *record*, the oldest first.

        If there are very many, those that may have an item with all of the values *keys* gives.
        """
        digest = _digest_of(record)
        if digest not in self._crowds:
            pages = [match.page for match in self._texts.query_all(digest)]
            if len(pages) <= MANY:
                return pages
            crowd = self._crowds[digest] = ValueIndex()
            for page in pages:
                for item in self._items_of(page):
                    crowd.add(keys_of(item), page)
        return sorted(set(self._crowds[digest].with_rarest(keys())))

    def with_equal_view(self, record: PageRecord, counts: PageFilter) -> Match | None:
        """Return the oldest page that shows and says the same as *record*, or ``None``.

        *record* has evidence. *counts* says which pages to consider, and compares them.
        """
        return self._same.query(_all_of(_digest_of(record), record), counts)

    def load(self, pages: RecordColumns) -> None:
        """Add many pages, some only by `finish_loading`."""
        texts, same = self._loaders
        digests = _digests_of(pages)
        texts.add(Packed.of_rows(digests), pages.numbers)
        if self._by_view:
            has = pages.has_evidence
            views = digests[has] ^ pages.evidence[:, VIEW]
            numbers, folded = _folded_items(pages.numbers[has], pages.items.where(has))
            rows = views[np.searchsorted(pages.numbers[has], numbers)]
            rows[:, :SIZE_OF_VALUE] ^= folded
            same.add(Packed.of_rows(rows), numbers)

    def finish_loading(self) -> None:
        """Add the pages that `load` has left."""
        for loader in self._loaders:
            loader.finish()

    @property
    def nbytes(self) -> int:
        """The memory that it takes, in bytes."""
        crowds = sum(crowd.nbytes for crowd in self._crowds.values())
        return self._texts.nbytes + self._same.nbytes + crowds


# What a page with evidence is looked up by is the exclusive or of the digests of its text and of
# its view, and of the values of its item: whoever finds it so compares all of them.


def _all_of(digest: bytes, record: PageRecord) -> bytes:
    assert record.evidence is not None
    folded = int.from_bytes(digest, "little") ^ int.from_bytes(record.evidence[VIEW], "little")
    for key in keys_of(record.item):
        folded ^= int.from_bytes(key, "little")
    return folded.to_bytes(16, "little")


def _folded_items(numbers: Array, items: Packed) -> tuple[Array, Array]:
    """Return the number of the page of each item, and the exclusive or of its values.

    Shapes (n,), int64, and (n, 8), uint8, for n items of pages with *numbers*, shape (m,).
    """
    each = [unpack_items(data) for data in items]
    counts = np.fromiter(map(len, each), np.int64, len(each))
    flat = [item for of_page in each for item in of_page]
    # An item without values has one that changes nothing.
    lengths = np.fromiter((len(item) or SIZE_OF_VALUE for item in flat), np.int64, len(flat))
    values = np.frombuffer(b"".join(item or _NO_VALUE for item in flat), np.uint64)
    starts = (np.cumsum(lengths) - lengths) // SIZE_OF_VALUE
    folded = np.bitwise_xor.reduceat(values, starts) if len(flat) else values
    return np.repeat(numbers, counts), folded.view(np.uint8).reshape(-1, SIZE_OF_VALUE)


_NO_VALUE = bytes(SIZE_OF_VALUE)


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
