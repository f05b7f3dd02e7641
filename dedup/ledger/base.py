"""What is kept of stored pages, besides what the index holds."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from dedup.packed import Packed


@dataclass(frozen=True, slots=True)
class Entry:
    """A page that was stored: its URL, the scope it is compared in, and what tells its content.

    *digest* is that of the normalised text, 16 bytes; *sketch* the method's as bytes, ``None`` for
    a page that has none; *replaces* the numbers of entries that it takes the place of.
    """

    url: str
    scope: str
    digest: bytes
    sketch: bytes | None
    tokens: int
    replaces: Sequence[int] = ()


class Earlier(NamedTuple):
    """What an earlier crawl stored of a URL."""

    number: int
    digest: bytes
    sketch: bytes | None


@dataclass(slots=True)
class StoredPages:
    """Some of the pages that were stored before, column by column."""

    numbers: list[int] = field(default_factory=list)
    digests: list[bytes] = field(default_factory=list)
    sketches: list[bytes | None] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    scopes: list[str] = field(default_factory=list)

    def by_scope(self) -> Iterator[tuple[str, "StoredPages"]]:
        """Yield the pages of each scope."""
        if len(set(self.scopes)) == 1:
            yield self.scopes[0], self
            return
        parts: dict[str, StoredPages] = {}
        rows = zip(self.numbers, self.digests, self.sketches, self.tokens, self.scopes, strict=True)
        for number, digest, sketch, tokens, scope in rows:
            part = parts.setdefault(scope, StoredPages())
            part.numbers.append(number)
            part.digests.append(digest)
            part.sketches.append(sketch)
            part.tokens.append(tokens)
            part.scopes.append(scope)
        yield from parts.items()


class Ledger(ABC):
    """The pages that were stored, by number; lower numbers are older."""

    @abstractmethod
    def stored(self) -> Iterator[StoredPages]:
        """Yield all pages that were stored before, in pieces."""

    @abstractmethod
    def add(self, entry: Entry) -> int:
        """Keep *entry*, and return its number."""

    @abstractmethod
    def url(self, number: int) -> str:
        """Return the URL of a page."""

    @abstractmethod
    def earlier(self, url: str) -> list[Earlier]:
        """Return what earlier crawls stored of *url*, and nothing has replaced since."""

    @abstractmethod
    def add_match(self, url: str, number: int, kind: str, distance: float) -> None:
        """Note that the page at *url* is a duplicate of page *number*."""

    @abstractmethod
    def seen_again(self, number: int) -> None:
        """Note that page *number* was met again, unchanged."""

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """The memory that the pages take, in bytes."""


class MemoryLedger(Ledger):
    """Pages of one crawl, which are forgotten with it: only their URLs are needed."""

    def __init__(self) -> None:
        self._urls = Packed()

    def stored(self) -> Iterator[StoredPages]:
        return iter(())

    def add(self, entry: Entry) -> int:
        return self._urls.append(entry.url.encode("utf-8", "surrogatepass"))

    def url(self, number: int) -> str:
        return self._urls[number].decode("utf-8", "surrogatepass")

    def earlier(self, url: str) -> list[Earlier]:
        return []

    def add_match(self, url: str, number: int, kind: str, distance: float) -> None: ...

    def seen_again(self, number: int) -> None: ...

    @property
    def nbytes(self) -> int:
        return self._urls.nbytes
