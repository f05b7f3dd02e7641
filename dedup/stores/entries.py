"""Entries of a log as bytes: what a server keeps, and what travels.

An entry says neither its position, which is its place in the log, nor, if it is a claim, its
number, which is the position.
"""

from struct import Struct, error
from typing import NamedTuple

from dedup.evidence import SIZE_OF_EVIDENCE
from dedup.record import (
    MOST_TOKENS,
    SIZE_OF_VALUE,
    Claimed,
    Committed,
    PageRecord,
    Released,
    pack_items,
    unpack_items,
)
from dedup.text import from_utf8, to_utf8

# Kind, serial, run, owner, when, and the number of the page, 0 for a claim.
HEAD = Struct("<cII8sdQ")
# What is there of a page, tokens, digest, and the lengths of sketch, scope, key and item.
PAGE = Struct("<BQ16sIIII")
# Of a commit: whether other items are stored than the one of the claim, and how many it replaces.
_ENDING = Struct("<BI")
_NUMBER = Struct("<Q")

HAS_SKETCH, HAS_EVIDENCE, IS_BINARY = 1, 2, 4
CLAIMED, COMMITTED, RELEASED = b"C", b"S", b"R"
# Logs may still have better URLs of stored pages, which are not used any more.
_BETTER_URL = b"P"


class Entry(NamedTuple):
    """What happened: an event of the log, and whose it is.

    *position* counts from 1, and is the number of the page if the event is a claim. *owner* is the
    process that claimed the page (8 random bytes of each start), *serial* its count of claims: by
    these a claim is named. *run* is the crawl of that process, which a fleet shares. *at* is when
    it happened, in seconds since 1970, by the clock of the server.
    """

    position: int
    owner: bytes
    serial: int
    run: int
    at: float
    event: Claimed | Committed | Released

    @property
    def record(self) -> PageRecord:
        """The page that is claimed, if the event is a claim."""
        assert isinstance(self.event, Claimed)
        return self.event.record


def to_bytes(entry: Entry) -> bytes:
    """Return *entry* as bytes, without its position."""
    _, owner, serial, run, at, event = entry
    match event:
        case Claimed(record):
            kind, number, tail = CLAIMED, 0, _claim(record)
        case Committed(number):
            kind, tail = COMMITTED, tail_of(event)
        case Released(number):
            kind, tail = RELEASED, b""
    return HEAD.pack(kind, serial, run, owner, at, number) + tail


def tail_of(event: Committed) -> bytes:
    """Return what an entry says of *event* behind its head: nothing, if it says no more."""
    _, items, replaces = event
    if items is None and not replaces:
        return b""
    ending = _ENDING.pack(items is not None, len(replaces))
    return ending + b"".join(map(_NUMBER.pack, replaces)) + pack_items(items or ())


def committed(number: int, tail: bytes) -> Committed:
    """Return the event of which `tail_of` gave *tail*; raises ValueError for anything else."""
    if not tail:
        return Committed(number)
    try:
        has_items, count = _ENDING.unpack_from(tail)
        items = _ENDING.size + count * _NUMBER.size
        replaces = tuple(n for (n,) in _NUMBER.iter_unpack(tail[_ENDING.size : items]))
    except error as cause:
        raise ValueError(f"a commit ends with {tail[:80]!r}") from cause
    if len(replaces) != count or (len(tail) > items and not has_items):
        raise ValueError(f"a commit ends with {tail[:80]!r}")
    return Committed(number, tuple(unpack_items(tail[items:])) if has_items else None, replaces)


def from_bytes(position: int, data: bytes) -> Entry:
    """Return the entry at *position* that `to_bytes` wrote; raises ValueError for anything else."""
    try:
        kind, serial, run, owner, at, number = HEAD.unpack_from(data)
        event: Claimed | Committed | Released
        if kind == CLAIMED:
            event = _claimed(position, data)
        elif kind == COMMITTED:
            event = committed(number, data[HEAD.size :])
        elif kind == _BETTER_URL or (kind == RELEASED and len(data) == HEAD.size):
            event = Released(number)  # a better URL is of a claim that is not open: it ends none
        else:
            raise LookupError(len(data))
    except (error, ValueError, LookupError) as cause:
        raise ValueError(f"entry {position} is none: {data[:80]!r}") from cause
    return Entry(position, owner, serial, run, at, event)


def _claim(record: PageRecord) -> bytes:
    sketch, evidence = record.sketch, record.evidence
    scope = to_utf8(record.scope)
    key = to_utf8(record.key)
    assert record.digest is not None
    flags = (
        HAS_SKETCH * (sketch is not None)
        | HAS_EVIDENCE * (evidence is not None)
        | IS_BINARY * record.is_binary
    )
    return b"".join((
        PAGE.pack(flags, record.tokens, record.digest, len(sketch or b""), len(scope), len(key),
                   len(record.item)),
        sketch or b"", evidence or b"", scope, key, record.item,
    ))  # fmt: skip


def _claimed(position: int, data: bytes) -> Claimed:
    flags, tokens, digest, of_sketch, of_scope, of_key, of_item = PAGE.unpack_from(data, HEAD.size)
    # Where each begins.
    sketch = HEAD.size + PAGE.size
    evidence = sketch + of_sketch
    scope = evidence + (SIZE_OF_EVIDENCE if flags & HAS_EVIDENCE else 0)
    key = scope + of_scope
    item = key + of_key
    if len(data) != item + of_item or of_item % SIZE_OF_VALUE:
        raise LookupError(len(data))
    record = PageRecord(
        from_utf8(data[key:item]),
        from_utf8(data[scope:key]) if of_scope else "",
        min(tokens, MOST_TOKENS),
        digest,
        data[sketch:evidence] if flags & HAS_SKETCH else None,
        data[evidence:scope] if flags & HAS_EVIDENCE else None,
        flags & IS_BINARY != 0,
        data[item:],
    )
    return Claimed(record, position)
