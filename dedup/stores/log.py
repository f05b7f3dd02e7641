"""The log that the processes of a fleet share: the interface of a server's adapter."""

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping, Sequence
from itertools import count
from typing import Any, NamedTuple

from dedup.record import Claimed, Committed, PageRecord
from dedup.stores.base import Crawl, DuplicateNote, HistoryChangedError, Texts
from dedup.stores.entries import Entry, from_bytes, to_bytes
from dedup.stores.ledger_file import LedgerError

FORMAT = 6
"""The version of what is in a log; a log of another one is refused."""
LEASE = 20.0
"""How long the claims of a process count after its last exchange, in seconds."""
MOST_ENTRIES = 10_000
"""How many entries an answer has at most."""


class Found(NamedTuple):
    """What is there before one joins: the identity that all share, and whether somebody crawls."""

    identity: dict[str, Any]
    is_in_use: bool


class Joined(NamedTuple):
    """How a process has joined: its run, and whether it goes on with its job.

    *is_reset*: whether all that was there has been forgotten. *position* is that of the last entry
    when the process began, or its job if that goes on: pages up to there were there before, even if
    they are of the same run, which others have begun.
    """

    run: int
    is_resumed: bool
    is_reset: bool
    position: int


class Request(NamedTuple):
    """What one process has to say: one atomic step.

    *turn* rises with each request of *owner*: a request that arrives after a later one of the same
    owner is refused. *seen* is the position that the process has followed to. *commits* are
    claims of its own that are stored, with their serials, *releases* others by number and serial,
    *claims* new ones by serial. The rest nobody follows: *duplicates* that were met, and the times
    at which stored pages were met again, by number (*seen_again*), which only a file keeps.
    """

    owner: bytes
    turn: int
    run: int
    seen: int
    commits: Sequence[tuple[int, Committed]] = ()
    releases: Sequence[tuple[int, int]] = ()
    claims: Sequence[tuple[int, Claimed]] = ()
    duplicates: Sequence[DuplicateNote] = ()
    seen_again: Mapping[int, float] = {}


class Answer(NamedTuple):
    """What a process is told.

    *entries* are those from position *seen* on, that one first: by it the process sees whether the
    log is still the one that it has followed. They are `MOST_ENTRIES` at most, so that there may be
    more. *made* are the positions of the new claims. *lost* are the serials of those commits whose
    claims are not open (any more).
    """

    entries: list[Entry]
    made: list[int]
    lost: list[int]


class Log(ABC):
    """An ordered log of claims, commits and releases, with leases: all that a server has to do.

    It compares no pages: its order decides, and each process compares for itself. Every coroutine
    is one atomic step for all processes. Each raises StoreDownError if the server cannot be reached
    or does not answer in time: the step may have been taken or not. Each raises LedgerError for
    what waiting does not mend. No message, and no *name*, shows a password.
    """

    def __init__(self, name: str, *, lease: float = LEASE) -> None:
        """Create it without connecting; *name* is what messages call it, *lease* is in seconds."""
        self.name = name
        self.lease = lease

    # Taking part.

    @abstractmethod
    async def open(self) -> Found | None:
        """Connect, and return what is there; ``None`` if nothing is. Nothing is changed.

        Raises LedgerError for a server that would forget, or a log that is none or of another
        `FORMAT`.
        """

    @abstractmethod
    async def join(
        self, owner: bytes, spider: str, job: str | None, identity: Mapping[str, Any], reset: bool
    ) -> Joined:
        """Have a process take part with a lease, from now on, as *owner* of claims.

        It goes on with the run of its job, if the last crawl of that has not finished; else it
        shares the run of those who take part already; else a run begins. *reset*: forget all that
        is there, unless somebody takes part or a job goes on. Where nothing is, *identity* is
        written.

        Raises LedgerError if what is there has another identity.
        """

    @abstractmethod
    async def exchange(self, request: Request) -> Answer:
        """Append the entries of *request*: commits, releases, claims.

        And renew the lease of its owner. A commit or release of a claim that is not open appends
        nothing. A commit also ends the pages that it replaces. Raises LedgerError for a
        request whose turn has passed.
        """

    @abstractmethod
    async def expire(self, claims: Sequence[tuple[int, bytes, int]]) -> None:
        """Release those *claims* whose owners have no lease: numbers, owners and serials."""

    @abstractmethod
    async def leave(
        self, owner: bytes, reason: str, report: Mapping[str, Any] | None, texts: Texts
    ) -> None:
        """End the lease of *owner*, release its open claims, and keep its report.

        A file also keeps the *texts*.
        """

    @abstractmethod
    async def close(self) -> None:
        """Give back the connection; may be called twice, and without `open`."""

    # Reading.

    @abstractmethod
    def snapshot(self) -> AsyncGenerator[Sequence[Entry], None]:
        """Yield what counts now, in pieces: claims, each before what became of it.

        Claims are in the order of their numbers. What was released or replaced may be there, or
        not. The last entry of all is the last one of the log, even if it tells nothing more.
        """

    @abstractmethod
    async def entries(self, after: int) -> list[Entry]:
        """Return the entries after a position, `MOST_ENTRIES` at most."""

    @abstractmethod
    async def pages(self, numbers: Iterable[int]) -> dict[int, PageRecord]:
        """Return the records of claimed pages by their *numbers*, of those that are there.

        What the item of a stored page says may be missing.
        """


class ServerLog(Log):
    """A log of entries as entries.py writes them, at their positions."""

    @abstractmethod
    async def _listed(self, after: int) -> list[bytes]:
        """Return the entries after a position, `MOST_ENTRIES` at most."""

    @abstractmethod
    async def _entries_at(self, numbers: Sequence[int]) -> Iterable[tuple[int, bytes]]:
        """Return the entries at some positions, with these, of those that are there."""

    async def snapshot(self) -> AsyncGenerator[list[Entry], None]:
        last: list[bytes] = []
        position = 0
        while True:
            # From the last one on, which shows whether the log is still the same.
            found = await self._listed(position - len(last))
            if found[: len(last)] != last:
                raise HistoryChangedError(f"{self.name} lost what it had while it was read")
            if found == last:
                return
            new = found[len(last) :]
            yield self._entries(position + 1, new)
            position += len(new)
            last = new[-1:]

    async def entries(self, after: int) -> list[Entry]:
        return self._entries(after + 1, await self._listed(after))

    async def pages(self, numbers: Iterable[int]) -> dict[int, PageRecord]:
        pages = {}
        for number, data in await self._entries_at(list(numbers)):
            [entry] = self._entries(number, [data])
            if isinstance(entry.event, Claimed):
                pages[number] = entry.event.record
        return pages

    def _to_append(self, request: Request) -> list[bytes]:
        """Return the claims of *request* as entries, whose times the server sets."""
        owner, run = request.owner, request.run
        return [to_bytes(Entry(0, owner, n, run, 0.0, claimed)) for n, claimed in request.claims]

    def _entries(self, first: int, data: Iterable[bytes]) -> list[Entry]:
        """Return the entries from position *first* on; raises LedgerError for what is none."""
        try:
            return list(map(from_bytes, count(first), data))
        except ValueError as error:
            raise LedgerError(f"{self.name} is damaged: {error}") from error

    # What a ledger is made of.

    @abstractmethod
    async def crawls(self) -> list[Crawl]:
        """Return who took part, the oldest first."""

    @abstractmethod
    def duplicates(self) -> AsyncIterator[tuple[int, DuplicateNote]]:
        """Yield the duplicates that were met, each with its run; a later one for the same page and
        key takes the place of an earlier one. Some may be yielded twice.
        """
