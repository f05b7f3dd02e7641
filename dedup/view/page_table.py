"""What stored pages show and their items say, by page number, in little memory."""

from array import array
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping
from struct import Struct

from dedup.claim import Claim
from dedup.evidence import SIZE_OF_EVIDENCE, Evidence, Witness
from dedup.record import PageRecord, keys_of, unpack_items

MANY = 64
"""So many items of a page are looked at one by one; of more, those with the rarest value."""
_MOST = 1024
"""Of more items that have the same values, only the latest are looked at."""
_AT_HAND = 16


class PageTable:
    """Pages by number: 18 bytes for one with one item, 8 for each value, and 41 for evidence.

    Of a page with an open claim, that tells.
    """

    def __init__(self, claims: Mapping[int, Claim], *, has_evidence: bool) -> None:
        """Create it without pages; *claims* are the open ones, by number.

        Without *has_evidence*, nobody asks what pages show.
        """
        self._claims = claims
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
        entry = items
        if self._has_evidence and record.evidence is not None:
            entry = _WITNESS.pack(min(record.tokens, _MOST_TOKENS), record.evidence) + items
        self._indexes.pop(number, None)
        place = bisect_left(self._numbers, number)
        self._numbers.insert(place, number)
        self._starts.insert(place, len(self._data))
        self._sizes.insert(place, len(entry))
        self._data += entry

    def discard(self, number: int) -> None:
        """Forget page *number*, if it is there: as seldom as its bytes may stay."""
        self._indexes.pop(number, None)
        place = self._place(number)
        if place is not None:
            del self._numbers[place], self._starts[place], self._sizes[place]

    def __contains__(self, number: int) -> bool:
        return self._place(number) is not None

    def is_open(self, number: int) -> bool:
        """Return whether page *number* is still being stored."""
        return number in self._claims

    def witness(self, number: int) -> Witness:
        """Return what page *number* shows; nothing for a page that is not there."""
        if claim := self._claims.get(number):
            return claim.record.witness if self._has_evidence else Witness(0, None)
        entry = self._entry(number)
        if not _is_shown(entry):
            return Witness(0, None)
        tokens, evidence = _WITNESS.unpack_from(entry)
        return Witness(tokens, Evidence.from_bytes(evidence))

    def items(self, number: int) -> list[bytes]:
        """Return what each item of page *number* says; nothing for a page that is not there."""
        claim = self._claims.get(number)
        return claim.items if claim else _items_in(self._entry(number))

    def says_all(self, number: int, keys: frozenset[bytes]) -> bool:
        """Return whether one item of page *number* has all of the values *keys*."""
        claim, index = self._claims.get(number), self._indexes.get(number)
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


_WITNESS = Struct(f"<I{SIZE_OF_EVIDENCE}s")
_MOST_TOKENS = 2**32 - 1


def _items_in(entry: bytes) -> list[bytes]:
    return unpack_items(entry[_WITNESS.size :] if _is_shown(entry) else entry)


def _is_shown(entry: bytes) -> bool:
    # What a page shows has an odd number of bytes, and what its items say an even one.
    return len(entry) % 2 == 1


assert _WITNESS.size % 2 == 1


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
