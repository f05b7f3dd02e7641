"""What is compared, kept, sent and written of a page: one record, wherever it goes."""

from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, NamedTuple, Self

from dedup.evidence.evidence import SIZE_OF_EVIDENCE
from dedup.text import Document

MOST_TOKENS = 2**63 - 1
"""The most words that a record can say a text has, so that it can be stored."""


class PageRecord(NamedTuple):
    """A page without its text: who it is, where it is compared, and what tells its content.

    *key* is its URL, or what stands for that; pages are compared within their *scope*. *tokens* is
    the number of words of the main text, *digest* the 16-byte digest of the normalised text
    (``None`` for an empty one), *sketch* the method's sketch as bytes (``None`` for a text with too
    little content). *evidence* is what the page shows besides its main text, as `Evidence.to_bytes`
    gives it; ``None`` where nobody has seen the page. A page that *is_binary* was not read as text:
    its digest is that of its bytes.
    """

    key: str = ""
    scope: str = ""
    tokens: int = 0
    digest: bytes | None = None
    sketch: bytes | None = None
    evidence: bytes | None = None
    is_binary: bool = False

    def under(self, key: str, scope: str = "") -> Self:
        """Return the record of the page with another *key* and *scope*."""
        return self._replace(key=key, scope=scope)

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
        return record


class Claimed(NamedTuple):
    """An event: a page is about to be stored.

    *replaces* are the numbers of stored pages whose place it takes when it is; *number* is its own,
    which the store gives: lower numbers are older.
    """

    record: PageRecord
    replaces: Sequence[int] = ()
    number: int = -1


class Committed(NamedTuple):
    """An event: the page that was claimed as *number* is stored."""

    number: int


class Released(NamedTuple):
    """An event: the page that was claimed as *number* was not stored."""

    number: int


class Preferred(NamedTuple):
    """An event: the content of page *number* was met under *key*, which is a better one."""

    number: int
    key: str


class Lost(NamedTuple):
    """An event: the log has no such claim of this process any more, whatever became of its page."""

    claimed: Claimed


Event = Claimed | Committed | Released | Preferred | Lost


@dataclass(slots=True)
class RecordColumns:
    """What is compared of many stored pages, with their numbers, column by column.

    *keys* has the keys of some of them, ``None`` for the others; or it is empty. *replaced* are the
    numbers of pages that came before, whose place these take.
    """

    numbers: list[int] = field(default_factory=list)
    digests: list[bytes] = field(default_factory=list)
    sketches: list[bytes | None] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    evidence: list[bytes | None] = field(default_factory=list)
    scopes: list[str] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)
    replaced: list[int] = field(default_factory=list)

    def append(self, number: int, record: PageRecord) -> None:
        """Add the page *number*, which has a digest, and its key."""
        assert record.digest is not None
        self.numbers.append(number)
        self.digests.append(record.digest)
        self.sketches.append(record.sketch)
        self.tokens.append(record.tokens)
        self.evidence.append(record.evidence)
        self.scopes.append(record.scope)
        self.keys.append(record.key)

    @property
    def lists(self) -> tuple[list[Any], ...]:
        """What is there of each page, as lists in the order of the fields; all are as long."""
        return (self.numbers, self.digests, self.sketches, self.tokens, self.evidence, self.scopes,
                self.keys)  # fmt: skip

    def by_scope(self) -> Iterator[tuple[str, "RecordColumns"]]:
        """Yield the pages of each scope."""
        if len(set(self.scopes)) == 1:
            yield self.scopes[0], self
            return
        parts: dict[str, RecordColumns] = {}
        columns = (self.numbers, self.digests, self.sketches, self.tokens, self.evidence)
        for number, digest, sketch, tokens, evidence, scope in zip(
            *columns, self.scopes, strict=True
        ):
            part = parts.setdefault(scope, RecordColumns())
            part.numbers.append(number)
            part.digests.append(digest)
            part.sketches.append(sketch)
            part.tokens.append(tokens)
            part.evidence.append(evidence)
            part.scopes.append(scope)
        yield from parts.items()


def digest_with(digest: bytes, parts: bytes) -> bytes:
    """Return the digest of a page, whose own is *digest*, with what else its items are made of.

    Without *parts* it is that of the page.
    """
    return blake2b(digest + parts, digest_size=16).digest() if parts else digest


def digest_of(document: Document) -> bytes | None:
    """Return the digest of the text, by which pages are exact duplicates; ``None`` if empty."""
    return document.digest if document.text else None
