"""The texts of stored pages, what they show, and what their items say, in little memory."""

from array import array
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping
from hashlib import blake2b
from struct import Struct

from dedup.claim import Claim
from dedup.evidence import SIZE_OF_EVIDENCE, Evidence, Witness
from dedup.record import PageRecord, keys_of, unpack_items
from dedup.text import to_utf8

MANY = 64
"""So many items of a page are looked at one by one; of more, those with the rarest value."""
_MOST = 1024
"""Of more items that have the same values, only the latest are looked at."""
_AT_HAND = 16


class PageTable:
    """Pages by number: 34 bytes for one with one item, 8 for each value, and 41 for evidence.

    Of a page with an open claim, that tells.
    """

    def __init__(self, claims: Mapping[int, Claim], *, has_evidence: bool) -> None:
        """Create it without pages; *claims* are the open ones, by number.

        Without *has_evidence*, nobody asks what pages show.
        """
        self.claims = claims
        """The open ones."""
        self._has_evidence = has_evidence
        # Sorted: pages come by number, but for those that others have claimed.
        self._numbers = array("I")
        # Where the entry of each begins, and how many bytes it has.
        self._starts, self._sizes = array("Q"), array("I")
        self._data = bytearray()
        # Of the last pages with many items that were looked at.
        self._indexes: dict[int, _ItemIndex] = {}

    def add(self, number: int, record: PageRecord, items: bytes) -> None:
        """Keep a page that is stored; *items* is what they say, as `pack_items` writes it."""
        shown = b""
        if self._has_evidence and record.evidence is not None:
            shown = _WITNESS.pack(min(record.tokens, _MOST_TOKENS), record.evidence)
        self._indexes.pop(number, None)
        place = bisect_left(self._numbers, number)
        self._numbers.insert(place, number)
        self._starts.insert(place, len(self._data))
        self._sizes.insert(place, _TEXT + len(shown) + len(items))
        self._data += text_of(record) + shown + items

    def discard(self, number: int) -> None:
        """Forget page *number*, if it is there: as seldom as its bytes may stay."""
        self._indexes.pop(number, None)
        place = self._place(number)
        if place is not None:
            del self._numbers[place], self._starts[place], self._sizes[place]

    def __contains__(self, number: int) -> bool:
        return self._place(number) is not None

    def text(self, number: int) -> bytes:
        """Return the `text_of` page *number*; b"" for a page that is not there."""
        claim = self.claims.get(number)
        return text_of(claim.record) if claim else self._entry(number)[:_TEXT]

    def witness(self, number: int) -> Witness:
        """Return what page *number* shows; nothing for a page that is not there."""
        if claim := self.claims.get(number):
            return claim.record.witness if self._has_evidence else Witness(0, None)
        entry = self._entry(number)
        if not len(entry) % 2:
            return Witness(0, None)
        tokens, evidence = _WITNESS.unpack_from(entry, _TEXT)
        return Witness(tokens, Evidence.from_bytes(evidence))

    def items(self, number: int) -> list[bytes]:
        """Return what each item of page *number* says; nothing for a page that is not there."""
        claim = self.claims.get(number)
        return claim.items if claim else _items_in(self._entry(number))

    def says_all(self, number: int, keys: frozenset[bytes]) -> bool:
        """Return whether one item of page *number* has all of the values *keys*."""
        claim, index = self.claims.get(number), self._indexes.get(number)
        if claim:
            items = claim.items
        elif index:
            items = index.items
        else:
            entry = self._entry(number)
            if not all(key in entry for key in keys):  # wherever they stand: this is fast
                return False
            items = _items_in(entry)
        if len(items) <= MANY:
            return any(keys <= keys_of(item) for item in items)
        if index is None:
            if len(self._indexes) >= _AT_HAND:
                del self._indexes[next(iter(self._indexes))]
            index = self._indexes[number] = _ItemIndex()
        return index.says_all(items, keys)

    def _entry(self, number: int) -> bytes:
        place = self._place(number)
        if place is None:
            return b""
        start = self._starts[place]
        return bytes(self._data[start : start + self._sizes[place]])

    def _place(self, number: int) -> int | None:
        place = bisect_left(self._numbers, number)
        is_there = place < len(self._numbers) and self._numbers[place] == number
        return place if is_there else None

    @property
    def nbytes(self) -> int:
        """The memory that they take, in bytes, without what is at hand for a while."""
        columns = self._numbers, self._starts, self._sizes
        return len(self._data) + sum(len(column) * column.itemsize for column in columns)


_TEXT = 16
# What a page shows has an odd number of bytes, and all else an even one.
_WITNESS = Struct(f"<I{SIZE_OF_EVIDENCE}s")
assert _WITNESS.size % 2 == 1
_MOST_TOKENS = 2**32 - 1


def _items_in(entry: bytes) -> list[bytes]:
    return unpack_items(entry[_TEXT + len(entry) % 2 * _WITNESS.size :])


def text_of(record: PageRecord) -> bytes:
    """Return 16 bytes that are equal for pages of one scope with equal main texts."""
    assert record.digest is not None
    if not record.scope:
        return record.digest
    # Together: of two digests, what is made for one scope could be chosen to be that of another.
    both = record.digest + to_utf8(record.scope)
    return blake2b(both, digest_size=_TEXT, person=b"scope").digest()


class _ItemIndex:
    """Many items of one page, found by their values."""

    def __init__(self) -> None:
        self.items: list[bytes] = []
        self._count = 0
        self._with_value: defaultdict[bytes, list[frozenset[bytes]]] = defaultdict(list)

    def says_all(self, items: list[bytes], keys: frozenset[bytes]) -> bool:
        """Return whether one of *items* has all *keys*; later, more may stand at the end."""
        self.items = items
        for values in map(keys_of, items[self._count :]):
            for value in values:
                self._with_value[value].append(values)
        self._count = len(items)
        if not keys:
            return True
        fewest = min((self._with_value.get(key, []) for key in keys), key=len)
        return any(keys <= values for values in fewest[-_MOST:])
