"""The claims in a log that are open, own ones and those of others, as its entries tell of them."""

from collections import deque
from collections.abc import Iterable, Mapping
from time import monotonic

from dedup.record import Claimed, Committed, Event, Lost, PageRecord, Preferred, Released
from dedup.stores.base import News
from dedup.stores.shared.known_pages import KnownPages
from dedup.stores.shared.log import Entry

_SECONDS_TO_REMEMBER = 60.0


class OpenClaims:
    """Turns entries of the log into events that the view has not seen; knows whose claims are open.

    A claim is named by its owner and that one's count of claims, so it is seen from the log what
    became of any message.
    """

    def __init__(self, owner: bytes, pages: KnownPages, there: Mapping[int, Entry]) -> None:
        """Take the claims that are *there*, by number; *owner*: the id of this process."""
        self.owner = owner
        self._pages = pages
        # Own claims, by number, with their serials.
        self._own: dict[int, tuple[int, Claimed]] = {}
        # Those of them that nobody wants any more: told with the next exchange.
        self.releases: dict[int, int] = {}
        self._others: dict[int, Entry] = {}
        self._unseen: list[Event] = []
        # Own pages that were published lately, and when: the log may forget them.
        self._published: deque[tuple[float, Claimed, Committed]] = deque()
        for number, entry in there.items():
            if entry.owner == owner:  # from before the history changed
                self.releases[number] = entry.serial
            else:
                self._others[number] = entry
                self._unseen.append(entry.event)

    def is_own(self, number: int) -> bool:
        """Return whether *number* is an own open claim that somebody wants."""
        return number in self._own

    def release(self, number: int) -> None:
        """Nobody wants the claim *number* any more, if it is an own one."""
        if number in self._own:
            self.releases[number] = self._own.pop(number)[0]

    def serials(self, news: News) -> dict[int, int]:
        """Return those own claims that *news* commits, by number."""
        # What is not there was lost, and is claimed again under another number.
        return {
            number: self._own[number][0]
            for number, page in news.commits.items()
            if number in self._own and self._own[number][1] == page.claimed
        }

    def follow(
        self, entries: Iterable[Entry], serials: range, released: Iterable[int]
    ) -> tuple[list[Event], list[Claimed]]:
        """Take *entries*, with own claims of these *serials*; *released* is known to all.

        Return the events that the view does not know, and the own claims.
        """
        for number in released:
            self.releases.pop(number, None)
        events, self._unseen = self._unseen, []
        made: list[Claimed] = []
        for entry in entries:
            if entry.owner != self.owner:
                events += self._event_of_other(entry)
            elif isinstance(entry.event, Claimed) and entry.serial in serials:
                self._own[entry.position] = entry.serial, entry.event
                made.append(entry.event)
            else:
                events += self._own_event(entry)
        return events, made

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
                self._pages.replace(replaces)
                self._pages.learn_urls([(claim.record.key, number, claim.run)])
            case Released(number):
                if self._others.pop(number, None) is None:
                    return []
            case Preferred(number, key):
                self._pages.prefer(key, number, entry.run)
                return []
        return [entry.event]

    def end(self, commits: Iterable[tuple[int, Committed]], lost: Iterable[int]) -> list[Lost]:
        """Take note that the log has own *commits*, with serials, but for those *lost*."""
        lost = set(lost)
        events = []
        for serial, event in commits:
            if event.number in self._own:
                if serial in lost:
                    events.append(Lost(self._own.pop(event.number)[1]))
                else:  # that is farther on in the log
                    self._note_published(event)
        return events

    def _note_published(self, event: Committed) -> None:
        """Take note that the log has the commit *event* of an own page."""
        _, claimed = self._own.pop(event.number)
        self._pages.replace(event.replaces)
        self._published.append((monotonic(), claimed, event))
        self._forget_published()

    def _forget_published(self) -> None:
        while self._published and self._published[0][0] < monotonic() - _SECONDS_TO_REMEMBER:
            self._published.popleft()

    def take_published(self) -> list[tuple[Claimed, Committed]]:
        """Return the own pages that were published lately, and their commits, once."""
        self._forget_published()
        published, self._published = self._published, deque()
        return [(claimed, event) for _, claimed, event in published]

    def of_others(self, numbers: Iterable[int]) -> list[tuple[int, bytes, int]]:
        """Return those of the claims *numbers* that others have: numbers, owners and serials."""
        entries = [self._others[number] for number in numbers if number in self._others]
        return [(entry.position, entry.owner, entry.serial) for entry in entries]

    def record(self, number: int) -> PageRecord | None:
        """Return the record of the open claim *number*, if there is such a one."""
        if number in self._own:
            return self._own[number][1].record
        return self._others[number].record if number in self._others else None

    def __len__(self) -> int:
        return len(self._own) + len(self._others)
