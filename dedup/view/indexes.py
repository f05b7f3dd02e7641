"""Record -> pages of its scope with an equal main text; sketch -> near pages of its scope."""

from collections.abc import Iterable
from hashlib import blake2b
from typing import Any

import numpy as np

from dedup.arrays import Array, Packed
from dedup.evidence import VIEW
from dedup.index.base import Index, Match, PageFilter
from dedup.methods.base import Method
from dedup.methods.exact import Exact
from dedup.record import SIZE_OF_VALUE, PageRecord, RecordColumns, keys_of, unpack_items_of_many
from dedup.search import Loader, index_for
from dedup.text import to_utf8
from dedup.view.search import Search

MOST_WITHOUT_INDEX = 32


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

        def same() -> Match | None:
            return self._same.query(all_of_it, search.is_same) if all_of_it else None

        def oldest() -> Match | None:
            return search.nearest(
                lambda counts: next((m for m in matches if counts(m.page)), None), is_exact=True
            )

        if self._by_view and record.evidence:
            return same() or oldest()
        return oldest() or same()

    def load(self, pages: RecordColumns) -> None:
        """Add many pages, some only by `finish_loading`."""
        texts, same = self._loaders
        digests = _digests_of(pages)
        texts.add(Packed.of_rows(digests), pages.numbers)
        rows = digests.copy()
        if self._by_view:
            views = pages.evidence[:, VIEW]
            rows[pages.has_evidence, : views.shape[1]] ^= views
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
    places, each = unpack_items_of_many(items)
    lengths = each.lengths()
    is_said = lengths > 0
    folded = np.zeros(len(each), np.uint64)
    if is_said.any():
        starts = (np.cumsum(lengths) - lengths)[is_said] // SIZE_OF_VALUE
        folded[is_said] = np.bitwise_xor.reduceat(each.octets.view(np.uint64), starts)
    return places, folded.view(np.uint8).reshape(-1, SIZE_OF_VALUE), is_said


def _digest_of(record: PageRecord) -> bytes:
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


class ScopeIndex:
    """The sketches of one scope: an index, or while they are few and no index is asked for, a list.

    There may be very many scopes of one page each, as items have, or functions of URLs make.
    """

    def __init__(self, method: Method) -> None:
        self._method = method
        self._few: list[tuple[Any, int]] | None = []
        self._index: Index | None = None

    @property
    def index(self) -> Index:
        """The index of the sketches, which is made when there are enough, or somebody asks."""
        if self._index is None:
            self._index = index_for(self._method)
            for sketch, number in self._few or ():
                self._index.add(sketch, number)
            self._few = None
        return self._index

    def has_room_for(self, number: int) -> bool:
        """Return whether a *number* of sketches can be added without an index."""
        return self._few is not None and len(self._few) + number <= MOST_WITHOUT_INDEX

    def add(self, sketch: Any, number: int) -> None:
        """Have *sketch* of page *number* found from now on."""
        if self._few is not None and self.has_room_for(1):
            self._few.append((sketch, number))
        else:
            self.index.add(sketch, number)

    def discard(self, sketch: Any, number: int) -> None:
        """Forget page *number*, which was added with *sketch*."""
        if self._few is None:
            self.index.discard(sketch, number)
        else:
            self._few = [entry for entry in self._few if entry[1] != number]

    def query(self, sketch: Any, counts: PageFilter) -> Match | None:
        """Return the nearest match among the pages that count, ties to the oldest, or ``None``."""
        if self._few is None:
            return self.index.query(sketch, counts)
        if not self._few:
            return None
        method = self._method
        others = [method.payload(stored) for stored, _ in self._few]
        distances = method.distances_of_pairs([method.payload(sketch)] * len(others), others)
        near = (
            Match(number, distance)
            for (stored, number), distance in zip(self._few, distances.tolist(), strict=True)
            if distance <= method.max_distance and self._share_a_key(sketch, stored)
        )
        return next((match for match in sorted(near) if counts(match.page)), None)

    def _share_a_key(self, sketch: Any, other: Any) -> bool:
        """Return whether an index would find one by the other: else, answers would depend on it."""
        return not set(self._method.keys(sketch)).isdisjoint(self._method.keys(other))

    @property
    def nbytes(self) -> int:
        """The memory that the sketches take, in bytes; estimated where they have no index."""
        if self._few is None:
            return self.index.nbytes
        return sum(160 + len(self._method.to_bytes(sketch)) for sketch, _ in self._few)
