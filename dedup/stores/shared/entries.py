"""Entries of a log as bytes: what a server keeps, and what travels.

An entry says neither its position, which is its place in the log, nor, if it is a claim, its
number, which is the position.
"""

from collections.abc import Sequence
from struct import Struct, error

from dedup.evidence import SIZE_OF_EVIDENCE
from dedup.record import Claimed, Committed, PageRecord, Preferred, Released
from dedup.stores.shared.log import Entry

# Kind, serial, run, owner, when, and the number of the page, 0 for a claim.
_HEAD = Struct("<cII8sdQ")
# What is there of a page, tokens, digest, and the lengths of sketch, scope, key and replaces.
_PAGE = Struct("<BQ16sIIII")
_NUMBER = Struct("<Q")

_HAS_SKETCH, _HAS_EVIDENCE, _IS_BINARY = 1, 2, 4
_CLAIMED, _COMMITTED, _RELEASED, _PREFERRED = b"C", b"S", b"R", b"P"


def to_bytes(entry: Entry) -> bytes:
    """Return *entry* as bytes, without its position."""
    _, owner, serial, run, at, event = entry
    match event:
        case Claimed(record, replaces):
            return _HEAD.pack(_CLAIMED, serial, run, owner, at, 0) + _claim(record, replaces)
        case Committed(number):
            return _HEAD.pack(_COMMITTED, serial, run, owner, at, number)
        case Released(number):
            return _HEAD.pack(_RELEASED, serial, run, owner, at, number)
        case Preferred(number, key):
            head = _HEAD.pack(_PREFERRED, serial, run, owner, at, number)
            return head + key.encode("utf-8", "surrogatepass")


def from_bytes(position: int, data: bytes) -> Entry:
    """Return the entry at *position* that `to_bytes` wrote; raises ValueError for anything else."""
    try:
        kind, serial, run, owner, at, number = _HEAD.unpack_from(data)
        return Entry(position, owner, serial, run, at, _event(kind, position, number, data))
    except (error, UnicodeDecodeError, LookupError) as cause:
        raise ValueError(f"entry {position} is none: {data[:80]!r}") from cause


def _claim(record: PageRecord, replaces: Sequence[int]) -> bytes:
    sketch, evidence = record.sketch, record.evidence
    scope = record.scope.encode("utf-8", "surrogatepass")
    key = record.key.encode("utf-8", "surrogatepass")
    assert record.digest is not None
    flags = (
        _HAS_SKETCH * (sketch is not None)
        | _HAS_EVIDENCE * (evidence is not None)
        | _IS_BINARY * record.is_binary
    )
    return b"".join((
        _PAGE.pack(flags, record.tokens, record.digest, len(sketch or b""), len(scope), len(key),
                   len(replaces)),
        sketch or b"", evidence or b"", scope, key, *map(_NUMBER.pack, replaces),
    ))  # fmt: skip


def _event(
    kind: bytes, position: int, number: int, data: bytes
) -> Claimed | Committed | Released | Preferred:
    if kind == _CLAIMED:
        return _claimed(position, data)
    if kind == _PREFERRED:
        return Preferred(number, data[_HEAD.size :].decode("utf-8", "surrogatepass"))
    if len(data) != _HEAD.size:
        raise LookupError(len(data))
    if kind == _COMMITTED:
        return Committed(number)
    if kind == _RELEASED:
        return Released(number)
    raise LookupError(kind)


def _claimed(position: int, data: bytes) -> Claimed:
    flags, tokens, digest, *lengths, count = _PAGE.unpack_from(data, _HEAD.size)
    of_sketch, of_scope, of_key = lengths
    ends = [_HEAD.size + _PAGE.size]
    for length in (of_sketch, SIZE_OF_EVIDENCE * bool(flags & _HAS_EVIDENCE), of_scope, of_key):
        ends.append(ends[-1] + length)
    if len(data) != ends[-1] + count * _NUMBER.size:
        raise LookupError(len(data))
    sketch, evidence, scope, key = (data[ends[n] : ends[n + 1]] for n in range(4))
    record = PageRecord(
        key.decode("utf-8", "surrogatepass"),
        scope.decode("utf-8", "surrogatepass"),
        tokens,
        digest,
        sketch if flags & _HAS_SKETCH else None,
        evidence if flags & _HAS_EVIDENCE else None,
        bool(flags & _IS_BINARY),
    )
    replaces = tuple(number for (number,) in _NUMBER.iter_unpack(data[ends[-1] :]))
    return Claimed(record, replaces, position)
