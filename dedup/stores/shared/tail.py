"""The end of a log, as a process follows it: it tells, and hears what others did."""

import math
from collections.abc import Sequence

from dedup.record import Claimed, Event
from dedup.stores.base import HistoryChangedError, News
from dedup.stores.shared.log import Answer, Entry, Log, Request
from dedup.stores.shared.open_claims import OpenClaims


class Tail:
    """Exchanges events with a log, one exchange at a time.

    Whatever became of a message is seen from what the log then has: a claim whose answer did not
    come is released when it is met there, and a commit is only lost if the log does not have it.
    """

    def __init__(self, log: Log, claims: OpenClaims) -> None:
        """Create it at the start of *log*, of which *claims* are those that are open."""
        self._log = log
        self.claims = claims
        self.last_entry: Entry | None = None
        """The last entry that was followed."""
        self._serial = 0
        self._turn = 0

    async def exchange(self, run: int, claims: Sequence[Claimed], news: News) -> list[Event]:
        """Have the log take *claims* of *run*, and *news*, and renew the lease.

        Returns the events that the view does not know, then the claims, with their numbers. Raises
        HistoryChangedError if the log is not the one that was followed, else as the log does.
        """
        first, self._serial = self._serial + 1, self._serial + len(claims)
        serials = range(first, self._serial + 1)
        self._turn += 1
        seen = self.last_entry.position if self.last_entry else 0
        commits = [
            (serial, news.commits[number].event)
            for number, serial in self.claims.serials(news).items()
        ]
        releases = dict(self.claims.releases)
        answer = await self._log.exchange(
            Request(
                self.claims.owner, self._turn, run, seen,
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
        events, made = self.claims.follow(entries, serials, releases)
        events += self.claims.end(commits, answer.lost)
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


def _is_same(entry: Entry, other: Entry) -> bool:
    """Return whether two entries are one, as far as it can be told without their pages."""
    return entry[:4] == other[:4] and type(entry.event) is type(other.event)
