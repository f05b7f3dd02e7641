"""A store that several processes share, and that waits: what a server would be, without one."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from dedup.record import Claimed, Committed, Event, PageRecord, RecordColumns, Released
from dedup.stores import Store, Stored


@dataclass
class Log:
    """All that has happened, in order, and whose it is; a claim is numbered by its place."""

    events: list[tuple["SharedStore", Event]] = field(default_factory=list)
    runs: int = 0
    preferred: dict[int, str] = field(default_factory=dict)

    @property
    def claims(self) -> dict[int, Claimed]:
        return {e.number: e for _, e in self.events if isinstance(e, Claimed)}

    @property
    def committed(self) -> list[Claimed]:
        """The claims of stored pages that count, by number."""
        claims = self.claims
        stored = {e.number: claims[e.number] for _, e in self.events if isinstance(e, Committed)}
        for claimed in list(stored.values()):
            for number in claimed.replaces:
                stored.pop(number, None)
        return [stored[number] for number in sorted(stored)]

    @property
    def open_claims(self) -> list[Claimed]:
        ended = {e.number for _, e in self.events if not isinstance(e, Claimed)}
        return [claimed for number, claimed in self.claims.items() if number not in ended]


async def at_once() -> None: ...


class SharedStore(Store):
    """What one process has of a log; *travel* is awaited on the way there and back."""

    def __init__(self, log: Log, travel: Callable[[], Awaitable[None]] = at_once) -> None:
        super().__init__("shared log")
        self._log = log
        self._travel = travel
        self._run = 0
        # What is stored is loaded by `since`; the open claims come with the first exchange.
        self._seen = len(log.events)
        self._unseen: list[Event] = list(log.open_claims)

    async def join(self, spider):
        self._log.runs += 1
        self._run = self._log.runs
        self.has_joined = True

    async def exchange(self, claims, news):
        await self._travel()
        log, start = self._log, self._seen
        for number, (claimed, _) in news.commits.items():
            assert claimed == log.claims[number]
            log.events.append((self, Committed(number)))
        log.events += [(self, Released(number)) for number in news.releases]
        log.preferred.update(news.preferred)
        made = [c._replace(number=n) for n, c in enumerate(claims, len(log.events) + 1)]
        log.events += [(self, claimed) for claimed in made]
        self._seen = len(log.events)
        unseen, self._unseen = self._unseen, []
        unseen += [event for owner, event in log.events[start:] if owner is not self]
        await self._travel()
        return [*unseen, *made]

    async def since(self, number):
        pages = [claimed for claimed in self._log.committed if claimed.number > number][:10]
        if not pages:
            return None
        columns = RecordColumns()
        for claimed in pages:
            columns.numbers.append(claimed.number)
            columns.digests.append(claimed.record.digest)
            columns.sketches.append(claimed.record.sketch)
            columns.tokens.append(claimed.record.tokens)
            columns.evidence.append(claimed.record.evidence)
            columns.scopes.append(claimed.record.scope)
        return columns

    async def pages(self, numbers) -> dict[int, PageRecord]:
        claims = self._log.claims
        return {number: claims[number].record for number in numbers}

    async def earlier(self, key):
        runs = {e.number: owner._run for owner, e in self._log.events}
        preferred = self._log.preferred
        stored = [
            claimed
            for claimed in self._log.committed
            if key in (claimed.record.key, preferred.get(claimed.number))
        ]
        return [Stored(c.number, c.record) for c in stored if runs[c.number] != self._run]

    async def preferred(self, number):
        return await super().preferred(number) or self._log.preferred.get(number)

    async def leave(self, reason, report, texts=()): ...

    @property
    def last(self):
        return max(self._log.claims, default=-1)

    def close(self): ...

    @property
    def nbytes(self):
        return 100 * (len(self._news.commits) + len(self._news.duplicates))
