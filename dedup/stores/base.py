"""What is known of stored pages beyond the view in memory: the interface of a store."""

import sys
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from itertools import islice
from time import time
from typing import Any, ClassVar, NamedTuple, TypeVar

from dedup.record import Claimed, Committed, Event, PageRecord, Stored, StoredBatch
from dedup.stores.ledger_file import LedgerError

T = TypeVar("T")
Texts = Iterable[tuple[str, str | None, str]]
"""Pages to show: URL, title, main text."""


class StoreDownError(LedgerError):
    """The server of a store cannot be reached, or does not answer; it may come back."""


class HistoryChangedError(LedgerError):
    """What a store holds is not what was followed so far: it has to be read anew."""


class Commit(NamedTuple):
    """A page that is stored: its claim, what became of that, and when."""

    claimed: Claimed
    event: Committed
    at: float


DIFFERENCE = "other item: "
"""With it begins the kind of what is noted of a page that is kept, before the names of fields."""


class DuplicateNote(NamedTuple):
    """A duplicate that was met: the page at *key* repeats page *number*; *at*: when.

    *kind* is that of its verdict; or `DIFFERENCE` with the fields for which it is kept.
    """

    key: str
    number: int
    kind: str
    distance: float
    at: float


class Leaf(NamedTuple):
    """A page that led to no further request: when it was visited, and its validators."""

    visited: float
    etag: str | None = None
    modified: str | None = None


class UrlRule(NamedTuple):
    """What is known of a part of URLs; the fields are those of the table."""

    kind: str
    host: str
    name: str
    agreed: int = 0
    spared: int = 0
    tests: int = 0
    broken: int = 0


@dataclass(slots=True)
class News:
    """What the store is not told yet: commits, and what nobody follows.

    *commits* are pages that are stored, by number; *duplicates* those that were met, by number and
    key; *seen* the times at which stored pages were met again, by number. *leaves* and *url_rules*
    are what a ledger for one crawl at a time knows of requests, by what stands for them.
    """

    commits: dict[int, Commit] = field(default_factory=dict)
    duplicates: dict[tuple[int, str], DuplicateNote] = field(default_factory=dict)
    seen: dict[int, float] = field(default_factory=dict)
    leaves: dict[bytes, Leaf | None] = field(default_factory=dict)
    url_rules: dict[tuple[str, ...], UrlRule] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return any(self._kinds)

    @property
    def _kinds(self) -> list[dict[Any, Any]]:
        return [getattr(self, kind.name) for kind in fields(self)]

    def split(self, most: int) -> "News":
        """Keep the first ones of each kind, *most* of them, and return the others."""
        return News(
            *(
                {key: values.pop(key) for key in list(islice(values, most, None))}
                for values in self._kinds
            )
        )

    def __iadd__(self, later: "News") -> "News":
        for values, others in zip(self._kinds, later._kinds, strict=True):
            values.update(others)
        return self


class Crawl(NamedTuple):
    """A process that took part: times in seconds since 1970, its JSON report.

    *run* is equal for processes that shared the store: they are one crawl of a fleet. Pages of the
    run up to *position* were there when it began, or its job that goes on. *id* is its number in a
    ledger. ``None`` stands for what is not known yet.
    """

    run: int
    position: int
    spider: str
    job: str | None
    started: float
    finished: float | None = None
    reason: str | None = None
    report: dict[str, Any] | None = None
    id: int = 0

    def setting(self, name: str) -> Any:
        """Return a setting as the report tells it, else ``None``."""
        return (self.report or {}).get("settings", {}).get(name)


@dataclass(frozen=True, slots=True)
class StoreState:
    """What a report says of a store; *unpublished* pages are stored, and not in it yet."""

    path: str
    run: int
    is_resumed: bool
    unpublished: int


class Store(ABC):
    """An ordered log of what became of pages, which the view of a process follows.

    Pages have numbers in the order of their claims. What a process has to say (`commit`, `release`,
    `note_duplicate`, `note_seen`) waits in memory for the next `exchange`, so that nothing of it
    ever needs a network. The coroutines of a store for one process alone never wait: `finished`
    runs them.
    """

    is_durable: ClassVar[bool] = True
    """Whether the pages outlive the process."""
    _most_news: ClassVar[int] = sys.maxsize
    """How many of a kind are published at a time."""
    is_shared: ClassVar[bool] = False
    """Whether other processes use it at the same time, so that its coroutines wait."""

    def __init__(self, name: str) -> None:
        """Create it; *name* is what messages call it."""
        self.name = name
        self.has_joined = False
        self.run = 0
        """The number of the crawl in it."""
        self.is_resumed = False
        """Whether the crawl goes on with an interrupted job."""
        self.is_down = False
        """Whether the server of the store was not reached the last time: nothing is claimed now."""
        self._news = News()
        self._news_under_way = News()

    # The log.

    @abstractmethod
    async def join(self, spider: str) -> None:
        """Begin to take part, as a crawl of *spider*: nothing is changed before.

        Raises LedgerError if the store cannot be written.
        """

    @abstractmethod
    async def exchange(self, claims: Sequence[Claimed], news: News | None) -> Sequence[Event]:
        """Publish *news*, if there are any, and append *claims*: all of it or nothing.

        Returns the events that the view does not know, in their order: what other processes have
        appended since the last exchange, then *claims*, with their numbers. The first one has the
        open claims of others, too. A shared store also says which own claims are `Lost`. Raises
        LedgerError or OSError if the store cannot be written; of these, StoreDownError if it may be
        later, HistoryChangedError if it first has to be read from its start.
        """

    async def stored(self) -> AsyncGenerator[StoredBatch, None]:
        """Yield the pages that are stored, in pieces.

        Raises LedgerError if they cannot be read.
        """
        nothing: tuple[StoredBatch, ...] = ()
        for piece in nothing:
            yield piece

    @abstractmethod
    async def pages(self, numbers: Iterable[int]) -> dict[int, PageRecord]:
        """Return the records of stored or claimed pages by their *numbers*; the key at least."""

    def key(self, number: int) -> str:
        """Return the key of page *number*, or other words for it if one would have to wait."""
        return finished(self.pages([number]))[number].key

    async def earlier(self, key: str) -> list[Stored]:
        """Return what was stored of *key* before this crawl, and nothing has replaced since."""
        return []

    @property
    def version_of_earlier(self) -> object:
        """Another object than before, once `earlier` may return other pages for a key."""
        return None

    async def expire(self, numbers: Iterable[int]) -> None:  # noqa: B027 # most have but their own
        """Release those of the claims *numbers* whose owners are gone."""

    def is_own(self, number: int) -> bool:
        """Return whether the open claim *number* is one of this process."""
        return True

    @abstractmethod
    async def leave(self, reason: str, report: Mapping[str, Any] | None, texts: Texts = ()) -> None:
        """Note how the crawl has ended, which has joined, and the *texts* of some pages."""

    async def disconnect(self) -> None:  # noqa: B027 # most have nothing to give back
        """Give the connection back, if there is one; what is not published is forgotten."""

    def damage_error(self, error: Exception) -> LedgerError:
        """Return the error that says that what the store holds cannot be right."""
        return LedgerError(f"{self.name} is damaged: {error}")

    @property
    @abstractmethod
    def last(self) -> int:
        """The highest number of a page so far; below all numbers if there is none."""

    @abstractmethod
    def close(self) -> None:
        """Give back what the store holds. News that are not published are forgotten."""

    # What waits in memory.

    def commit(self, claimed: Claimed, event: Committed) -> None:
        """The claimed page is stored, with the items that *event* tells."""
        self._news.commits[claimed.number] = Commit(claimed, event, time())

    @abstractmethod
    def release(self, number: int) -> None:
        """The claimed page *number* was not stored."""

    def note_duplicate(self, key: str, number: int, kind: str, distance: float) -> None:
        """The page at *key* is a duplicate of page *number*."""
        # Whatever kind of number a method gives: stores take few.
        note = DuplicateNote(key, number, kind, float(distance), time())
        self._news.duplicates[number, key] = note

    def note_difference(self, key: str, number: int, fields: Iterable[str]) -> None:
        """The page at *key* repeats page *number*, and is kept for the *fields* of its items."""
        self.note_duplicate(key, number, f"{DIFFERENCE}{', '.join(fields)}", 0.0)

    def note_seen(self, number: int) -> None:
        """Page *number* was met again, unchanged."""
        self._news.seen[number] = time()

    def note_url_rule(self, rule: UrlRule) -> None:  # noqa: B027 # most remember none
        """What is known of a part of URLs has changed."""

    @contextmanager
    def publishing(self) -> Iterator[News]:
        """Yield what was told since the last time, for `exchange`; if the block fails, keep it."""
        assert not self._news_under_way
        self._news_under_way = self._news
        self._news = self._news.split(self._most_news)
        try:
            yield self._news_under_way
        except BaseException:
            self._news_under_way += self._news
            self._news = self._news_under_way
            raise
        finally:
            self._news_under_way = News()

    @property
    def has_news(self) -> bool:
        """Whether there is anything to publish."""
        return self.has_joined and bool(self._news)

    @property
    def unpublished(self) -> int:
        """The number of stored pages that are not published yet."""
        return len(self._news.commits) + len(self._news_under_way.commits)

    @property
    def unpublished_pages(self) -> list[Claimed]:
        """The stored pages that are not published yet."""
        commits = [*self._news_under_way.commits.values(), *self._news.commits.values()]
        return [commit.claimed for commit in commits]

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """The memory that the pages take beside the view, in bytes; an estimate."""


def finished(coroutine: Coroutine[Any, Any, T]) -> T:
    """Return what *coroutine* returns, which never waits; raises RuntimeError if it does."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]
    coroutine.close()
    raise RuntimeError("a store waits where it must not")
