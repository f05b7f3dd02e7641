"""Entries of a log as bytes: what a server keeps, and what travels.

An entry says neither its position, which is its place in the log, nor, if it is a claim, its
number, which is the position.
"""

from collections.abc import Iterable, Sequence
from itertools import count
from struct import Struct, error

from dedup.evidence import SIZE_OF_EVIDENCE
from dedup.record import MOST_TOKENS, Claimed, Committed, PageRecord, Preferred, Released
from dedup.stores.shared.log import Entry
from dedup.text import from_utf8, to_utf8

# Kind, serial, run, owner, when, and the number of the page, 0 for a claim.
HEAD = Struct("<cII8sdQ")
# What is there of a page, tokens, digest, and the lengths of sketch, scope, key and replaces.
PAGE = Struct("<BQ16sIIII")
_NUMBER = Struct("<Q")

HAS_SKETCH, HAS_EVIDENCE, IS_BINARY = 1, 2, 4
CLAIMED, COMMITTED, RELEASED, PREFERRED = b"C", b"S", b"R", b"P"
_ENDS: dict[bytes, type[Committed | Released]] = {COMMITTED: Committed, RELEASED: Released}


def to_bytes(entry: Entry) -> bytes:
    """Return *entry* as bytes, without its position."""
    _, owner, serial, run, at, event = entry
    match event:
        case Claimed(record, replaces):
            return HEAD.pack(CLAIMED, serial, run, owner, at, 0) + _claim(record, replaces)
        case Committed(number):
            return HEAD.pack(COMMITTED, serial, run, owner, at, number)
        case Released(number):
            return HEAD.pack(RELEASED, serial, run, owner, at, number)
        case Preferred(number, key):
            head = HEAD.pack(PREFERRED, serial, run, owner, at, number)
            return head + to_utf8(key)


def from_bytes(position: int, data: bytes) -> Entry:
    """Return the entry at *position* that `to_bytes` wrote; raises ValueError for anything else."""
    try:
        kind, serial, run, owner, at, number = HEAD.unpack_from(data)
        event: Claimed | Committed | Released | Preferred
        if kind == CLAIMED:
            event = _claimed(position, data)
        elif kind == PREFERRED:
            event = Preferred(number, from_utf8(data[HEAD.size :]))
        elif len(data) == HEAD.size:
            event = _ENDS[kind](number)
        else:
            raise LookupError(len(data))
    except (error, UnicodeDecodeError, LookupError) as cause:
        raise ValueError(f"entry {position} is none: {data[:80]!r}") from cause
    return Entry(position, owner, serial, run, at, event)


def many_from_bytes(first: int, data: Iterable[bytes]) -> list[Entry]:
    """Return the entries from position *first* on; raises ValueError as `from_bytes` does."""
    return list(map(from_bytes, count(first), data))


def _claim(record: PageRecord, replaces: Sequence[int]) -> bytes:
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
                   len(replaces)),
        sketch or b"", evidence or b"", scope, key, *map(_NUMBER.pack, replaces),
    ))  # fmt: skip


def _claimed(position: int, data: bytes) -> Claimed:
    flags, tokens, digest, of_sketch, of_scope, of_key, others = PAGE.unpack_from(data, HEAD.size)
    # Where each begins.
    sketch = HEAD.size + PAGE.size
    evidence = sketch + of_sketch
    scope = evidence + (SIZE_OF_EVIDENCE if flags & HAS_EVIDENCE else 0)
    key = scope + of_scope
    replaces = key + of_key
    if len(data) != replaces + others * _NUMBER.size:
        raise LookupError(len(data))
    record = PageRecord(
        from_utf8(data[key:replaces]),
        from_utf8(data[scope:key]) if of_scope else "",
        min(tokens, MOST_TOKENS),
        digest,
        data[sketch:evidence] if flags & HAS_SKETCH else None,
        data[evidence:scope] if flags & HAS_EVIDENCE else None,
        flags & IS_BINARY != 0,
    )
    numbers = [n for (n,) in _NUMBER.iter_unpack(data[replaces:])] if others else ()
    return Claimed(record, tuple(numbers), position)
