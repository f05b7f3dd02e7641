"""What is compared, kept, sent and written of a page: one record, wherever it goes."""

from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from struct import Struct
from typing import Any, NamedTuple, Self

from dedup.evidence import SIZE_OF_EVIDENCE, VIEW, Evidence, Witness
from dedup.limits import shorten_url
from dedup.text import to_utf8

SIZE_OF_VALUE = 8
"""The bytes of each value in what an item says."""
MOST_VALUES = 256
"""How many values are told apart; what an item says that has more is one value."""
MARK = 0x80
"""The bit in the first byte of what is no value, but says more of one."""
MOST_TOKENS = 2**63 - 1
"""The most words that a record can say a text has, so that it can be stored."""


class PageRecord(NamedTuple):
    """A page without its text: who it is, where it is compared, and what tells its content.

    *key* is its URL, or what stands for that; pages are compared within their *scope*. *tokens* is
    the number of words of the main text, *digest* the 16-byte digest of the normalised text
    (``None`` for an empty one), *sketch* the method's sketch as bytes (``None`` for a text with too
    little content). *evidence* is what the page shows besides its main text, as `Evidence.to_bytes`
    gives it; ``None`` where nobody has seen the page. A page that *is_binary* was not read as text
    and is long: it has no tokens, and its digest is that of its bytes. *item* is what its item
    says, as `ItemValues.to_bytes` gives it; empty where the page alone decides.
    """

    key: str = ""
    scope: str = ""
    tokens: int = 0
    digest: bytes | None = None
    sketch: bytes | None = None
    evidence: bytes | None = None
    is_binary: bool = False
    item: bytes = b""

    @property
    def witness(self) -> Witness:
        """What is asked of it where its main text matches that of another page."""
        evidence = None if self.evidence is None else Evidence.from_bytes(self.evidence)
        return Witness(self.tokens, evidence)

    def under(self, key: str, scope: str = "") -> Self:
        """Return the record of the page with another *key* and *scope*, as short as is stored."""
        return self._replace(key=shorten_url(key), scope=shorten_url(scope))

    def as_json(self) -> dict[str, Any]:
        """Return the record as an object of JSON: the digest in hexadecimal, the sketch in base64.

        >>> record = PageRecord("http://a/", "", 2, bytes(16), b"ab")
        >>> record.as_json()["sketch"], PageRecord.of_json(record.as_json()) == record
        ('YWI=', True)
        """
        values: dict[str, Any] = {"key": self.key, "scope": self.scope, "tokens": self.tokens}
        values["digest"] = None if self.digest is None else self.digest.hex()
        values["sketch"] = None if self.sketch is None else b64encode(self.sketch).decode("ascii")
        values["evidence"] = None if self.evidence is None else self.evidence.hex()
        if self.item:
            values["says"] = b64encode(self.item).decode("ascii")
        return {**values, "binary": True} if self.is_binary else values

    @classmethod
    def of_json(cls, values: Mapping[str, Any]) -> Self:
        """Return the record that `as_json` wrote; raises ValueError for anything else."""
        error = ValueError(f"a record must be as it was written, got {values!r:.200}")
        try:
            digest, sketch, evidence = (values[name] for name in ("digest", "sketch", "evidence"))
            record = cls(
                values["key"],
                values["scope"],
                values["tokens"],
                None if digest is None else bytes.fromhex(digest),
                None if sketch is None else b64decode(sketch, validate=True),
                None if evidence is None else bytes.fromhex(evidence),
                values.get("binary", False),
                b64decode(values.get("says", ""), validate=True),
            )
            is_as_written = record.as_json() == values
        except (AttributeError, KeyError, TypeError, ValueError) as cause:
            raise error from cause
        # What is equal may be of another type, as True and 1.
        types = list(map(type, (record.key, record.scope, record.tokens, record.is_binary)))
        if not is_as_written or types != [str, str, int, bool]:
            raise error
        if not 0 <= record.tokens <= MOST_TOKENS:
            raise error
        if record.digest is not None and len(record.digest) != 16:
            raise error
        if record.evidence is not None and len(record.evidence) != SIZE_OF_EVIDENCE:
            raise error
        # Values, and a mark or two of each.
        if len(record.item) % SIZE_OF_VALUE or len(record.item) > 3 * SIZE_OF_VALUE * MOST_VALUES:
            raise error
        return record


class Claimed(NamedTuple):
    """An event: a page is about to be stored.

    *number* is its own, which the store gives: lower numbers are older. The page may have more
    items than the one of its *record*.
    """

    record: PageRecord
    number: int = -1


class Committed(NamedTuple):
    """An event: the page that was claimed as *number* is stored.

    *items* is what its stored items say, ``None`` for what its claim says. *replaces* are the
    numbers of stored pages whose place it takes.
    """

    number: int
    items: tuple[bytes, ...] | None = None
    replaces: tuple[int, ...] = ()

    def packed_items(self, record: PageRecord) -> bytes:
        """Return what the items of the page say, which was claimed with *record*, packed."""
        return pack_items([record.item] if self.items is None else self.items)


class Released(NamedTuple):
    """An event: the page that was claimed as *number* was not stored."""

    number: int


class Lost(NamedTuple):
    """An event: the log has no such claim of this process any more, whatever became of its page."""

    claimed: Claimed


Event = Claimed | Committed | Released | Lost


class Stored(NamedTuple):
    """A page that a store has.

    *items* is what its items say, as `pack_items` writes it; empty where nobody has asked.
    """

    number: int
    record: PageRecord
    items: bytes = b""

    def check(self) -> None:
        """Raise ValueError for a value that cannot be right, as a damaged file may have one."""
        record, items = self.record, self.items
        if not (
            type(record.key) is type(record.scope) is str
            and type(record.tokens) is int
            and 0 <= record.tokens <= MOST_TOKENS
            and isinstance(record.digest, bytes)
            and len(record.digest) == 16
            and isinstance(record.sketch, bytes | None)
            and isinstance(record.evidence, bytes | None)
            and len(record.evidence or bytes(SIZE_OF_EVIDENCE)) == SIZE_OF_EVIDENCE
            and isinstance(items, bytes)
        ):
            raise ValueError(f"page {self.number} has a value of a wrong type or length")
        unpack_items(items)


class StoredBatch(NamedTuple):
    """Stored pages, and the numbers of pages that came before, and count no more by now."""

    pages: Sequence[Stored]
    replaced: Sequence[int] = ()


def keys_of(item: bytes) -> frozenset[bytes]:
    """Return the values of an item as `ItemValues.to_bytes` wrote them, each of 8 bytes."""
    size = SIZE_OF_VALUE
    return frozenset([item[place : place + size] for place in range(0, len(item), size)])


def values_in(item: bytes) -> frozenset[bytes]:
    """Return those of the `keys_of` an item that an item of a stored page must have, too.

    The others are marks: they say what else was said of it.
    """
    return frozenset([key for key in keys_of(item) if not key[0] & MARK])


def pack_items(items: Iterable[bytes]) -> bytes:
    """Return what several *items* of a page say as one byte string: each after its length."""
    return b"".join(_LENGTH.pack(len(item) // SIZE_OF_VALUE) + item for item in items)


def unpack_items(data: bytes) -> list[bytes]:
    """Return what `pack_items` was called on; raises ValueError for anything else."""
    items, place = [], 0
    while place < len(data):
        if place + _LENGTH.size > len(data):
            raise ValueError("what items say ends too early")
        (count,) = _LENGTH.unpack_from(data, place)
        place += _LENGTH.size
        end = place + count * SIZE_OF_VALUE
        items.append(data[place:end])
        place = end
    if place != len(data):
        raise ValueError("what items say ends too early")
    return items


_LENGTH = Struct("<H")


def with_digest(record: PageRecord) -> PageRecord:
    """Return *record* with what stands for its text, if it has none and shows something else.

    No other page has an equal one: such a page is compared with what it was itself.
    """
    if record.digest is not None or record.evidence is None:
        return record
    content = to_utf8(record.key) + record.evidence[VIEW]
    return record._replace(digest=blake2b(content, digest_size=16, person=b"no text").digest())
