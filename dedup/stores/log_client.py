"""A process at the end of a log: it tells and hears what is done, and knows the open claims."""

import math
from collections.abc import Iterable, Sequence

from dedup.record import (
    Claimed,
    Committed,
    Event,
    Lost,
    PageRecord,
    Preferred,
    RecordColumns,
    Released,
)
from dedup.stores.base import HistoryChangedError, News
from dedup.stores.entries import Entry
from dedup.stores.known_pages import KnownPages
from dedup.stores.log import MOST_ENTRIES, Answer, Log, Request


class Replay:
    """Follows a log from its start; pages are given on by number, when those before are known."""

    def __init__(self, pages: KnownPages, stored_since: float = 0.0) -> None:
        """Create it; *pages* learns what is there, unless that was stored before *stored_since*."""
        self.pages = pages
        self.last_entry: Entry | None = None
        self._stored_since = stored_since
        self._last_given = 0
        # In the order of their numbers.
        self._claims: dict[int, Entry] = {}
        # Of these, those whose pages are stored, and not given on yet; the others are open.
        self._stored: dict[int, Committed] = {}
        self._replaced: list[int] = []

    def add(self, entries: Iterable[Entry]) -> None:
        """Have *entries* happen."""
        for entry in entries:
            self.last_entry = entry
            match entry.event:
                case Claimed():
                    self._claims[entry.position] = entry
                case Committed(number) as event:
                    if self._is_open(number):
                        self._commit(event, entry.at)
                case Released(number):
                    if self._is_open(number):
                        del self._claims[number]
                case Preferred(number, key):
                    self.pages.prefer(key, number, entry.run)

    def _is_open(self, number: int) -> bool:
        return number in self._claims and number not in self._stored

    def _commit(self, event: Committed, at: float) -> None:
        for old in event.replaces:
            if self._stored.pop(old, None):
                del self._claims[old]
            elif old <= self._last_given:
                self._replaced.append(old)
        if at >= self._stored_since:
            self._stored[event.number] = event
        else:
            del self._claims[event.number]

    @property
    def open(self) -> dict[int, Entry]:
        """The claims that are open, by number."""
        return {
            number: claim for number, claim in self._claims.items() if number not in self._stored
        }

    def take(self, *, is_end: bool = False) -> RecordColumns | None:
        """Return pages that were not given on yet, and with them, what they replace.

        Only those before the first open claim, unless *is_end*. ``None`` if there are no more.
        Raises ValueError for a value that cannot be right.
        """
        numbers: list[int] = []
        for number in self._claims:
            if number in self._stored:
                numbers.append(number)
            elif not is_end:
                break
            if len(numbers) == MOST_ENTRIES:
                break
        if not numbers:
            return None
        claims = [self._claims.pop(number) for number in numbers]
        records = [claim.record for claim in claims]
        columns = _columns(numbers, records, map(self._stored.pop, numbers))
        columns.replaced, self._replaced = self._replaced, []
        self.pages.replace(columns.replaced)
        runs = [claim.run for claim in claims]
        keys = [record.key for record in records]
        self.pages.learn_urls(list(zip(keys, numbers, runs, strict=True)))
        self._last_given = numbers[-1]
        return columns


def _columns(
    numbers: Sequence[int], records: Sequence[PageRecord], commits: Iterable[Committed]
) -> RecordColumns:
    _, scopes, tokens, digests, sketches, evidence, _, _ = zip(*records, strict=True)
    items = [event.packed_items(record) for event, record in zip(commits, records, strict=True)]
    columns = RecordColumns.of(numbers, digests, sketches, tokens, evidence, scopes, items)
    # As many as a ledger gives the keys of: these tell what the pages of a host share.
    columns.keys = {
        number: record.key
        for number, record in zip(numbers, records, strict=True)
        if record.evidence is not None and (number <= 2000 or number % 16 == 0)
    }
    return columns


class LogClient:
    """Exchanges events with a log, one exchange at a time.

    A claim is named by its owner and that one's count of claims, so whatever became of a message is
    seen from what the log then has: a claim whose answer did not come is released when it is met
    there, and a commit is only lost if the log does not have it.
    """

    def __init__(self, log: Log, owner: bytes) -> None:
        """Create it at the start of *log*; *owner* is the id of this process."""
        self._log = log
        self._owner = owner
        self._serial = self._turn = 0
        self.start_after(Replay(KnownPages(0, 0)))

    def start_after(self, replay: Replay) -> None:
        """Go on after what *replay* has read, and forget all else."""
        self.pages = replay.pages
        """What else is known of stored pages."""
        self.last_entry = replay.last_entry
        """The last entry that was followed."""
        # Own claims, by number, with their serials.
        self._own: dict[int, tuple[int, Claimed]] = {}
        # Those of them that nobody wants any more: told with the next exchange.
        self.releases: dict[int, int] = {}
        self._others: dict[int, Entry] = {}
        self._unseen: list[Event] = []
        for number, entry in replay.open.items():
            if entry.owner == self._owner:  # from before the history changed
                self.releases[number] = entry.serial
            else:
                self._others[number] = entry
                self._unseen.append(entry.event)

    async def exchange(self, run: int, claims: Sequence[Claimed], news: News) -> list[Event]:
        """Have the log take *claims* of *run*, and *news*, and renew the lease.

        Returns the events that the view does not know, then the claims, with their numbers. Raises
        HistoryChangedError if the log is not the one that was followed, else as the log does.
        """
        first, self._serial = self._serial + 1, self._serial + len(claims)
        serials = range(first, self._serial + 1)
        self._turn += 1
        # What is not there was lost, and is claimed again under another number.
        commits = [
            (self._own[number][0], page.event)
            for number, page in news.commits.items()
            if number in self._own and self._own[number][1] == page.claimed
        ]
        releases = dict(self.releases)
        answer = await self._log.exchange(
            Request(
                self._owner, self._turn, run, self.last_entry.position if self.last_entry else 0,
                commits=commits,
                releases=list(releases.items()),
                preferred=news.preferred,
                claims=list(zip(serials, claims, strict=True)),
                duplicates=news.duplicates,
                seen_again=news.seen,
            )
        )  # fmt: skip
        entries = await self._new_entries(answer)
        # From here on all has been told, and nothing waits.
        if entries:
            self.last_entry = entries[-1]
        for number in releases:
            self.releases.pop(number, None)
        events, self._unseen = self._unseen, []
        made: list[Claimed] = []
        for entry in entries:
            if entry.owner != self._owner:
                events += self._event_of_other(entry)
            elif isinstance(entry.event, Claimed) and entry.serial in serials:
                self._own[entry.position] = entry.serial, entry.event
                made.append(entry.event)
            else:
                events += self._own_event(entry)
        events += self._end(commits, answer.lost)
        if len(made) != len(claims):
            raise HistoryChangedError(f"{self._log.name} has lost entries: it is read anew")
        return [*events, *made]

    async def _new_entries(self, answer: Answer) -> list[Entry]:
        """Return the entries that were not followed yet, up to the own claims."""
        entries, name = answer.entries, self._log.name
        if self.last_entry:
            if not entries or not _is_same(entries[0], self.last_entry):
                raise HistoryChangedError(f"{name} is another one than before: it is read anew")
            entries = entries[1:]
        elif entries and entries[0].position != 1:
            raise HistoryChangedError(f"{name} does not begin where it did: it is read anew")
        last = answer.made[-1] if answer.made else math.inf if answer.lost else 0
        end = answer.entries[-1].position if answer.entries else 0
        while end < last and (more := await self._log.entries(end)):
            entries += more
            end = more[-1].position
        if answer.made and end < last:
            raise HistoryChangedError(f"{name} has lost entries: it is read anew")
        return [entry for entry in entries if not answer.made or entry.position <= last]

    def _own_event(self, entry: Entry) -> list[Event]:
        """Return what the view does not know of an own *entry*."""
        match entry.event:
            case Claimed():  # whose answer did not come
                self.releases[entry.position] = entry.serial
            case Committed(number) as event:
                if number in self._own:
                    self._note_published(event)
            case Released(number):
                if number in self._own:  # by another process: the lease was over
                    return [Lost(self._own.pop(number)[1])]
        return []

    def _event_of_other(self, entry: Entry) -> list[Event]:
        match entry.event:
            case Claimed():
                self._others[entry.position] = entry
            case Committed(number, _, replaces):
                claim = self._others.pop(number, None)
                if claim is None:
                    return []
                self.pages.replace(replaces)
                self.pages.learn_urls([(claim.record.key, number, claim.run)])
            case Released(number):
                if self._others.pop(number, None) is None:
                    return []
            case Preferred(number, key):
                self.pages.prefer(key, number, entry.run)
                return []
        return [entry.event]

    def _end(self, commits: Iterable[tuple[int, Committed]], lost: Sequence[int]) -> list[Lost]:
        """Take note that the log has own *commits*, with serials, but for those *lost*."""
        events, serials = [], set(lost)
        for serial, event in commits:
            if event.number in self._own:
                if serial in serials:
                    events.append(Lost(self._own.pop(event.number)[1]))
                else:  # that is farther on in the log
                    self._note_published(event)
        return events

    def _note_published(self, event: Committed) -> None:
        """Take note that the log has the commit *event* of an own page."""
        del self._own[event.number]
        self.pages.replace(event.replaces)

    # Open claims.

    def is_own(self, number: int) -> bool:
        """Return whether *number* is an own open claim that somebody wants."""
        return number in self._own

    def release(self, number: int) -> None:
        """Nobody wants the claim *number* any more, if it is an own one."""
        if number in self._own:
            self.releases[number] = self._own.pop(number)[0]

    def claims_of_others(self, numbers: Iterable[int]) -> list[tuple[int, bytes, int]]:
        """Return those of the claims *numbers* that others have: numbers, owners and serials."""
        entries = [self._others[number] for number in numbers if number in self._others]
        return [(entry.position, entry.owner, entry.serial) for entry in entries]

    def record(self, number: int) -> PageRecord | None:
        """Return the record of the open claim *number*, if there is such a one."""
        if number in self._own:
            return self._own[number][1].record
        return self._others[number].record if number in self._others else None

    @property
    def nbytes(self) -> int:
        """The memory that it takes, in bytes; an estimate."""
        return self.pages.nbytes + 500 * (len(self._own) + len(self._others))


def _is_same(entry: Entry, other: Entry) -> bool:
    """Return whether two entries are one, as far as it can be told without their pages."""
    return entry[:4] == other[:4] and type(entry.event) is type(other.event)
