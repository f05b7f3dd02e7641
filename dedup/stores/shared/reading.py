"""A log on the way from its start: what a process knows when it has come to the end."""

from dedup.record import RecordColumns
from dedup.stores.shared.known_pages import KnownPages
from dedup.stores.shared.log import Entry, Log
from dedup.stores.shared.open_claims import OpenClaims
from dedup.stores.shared.replay import Replay


class Reading:
    """Gives pages on while it learns the rest of what there is: nobody uses that before the end."""

    def __init__(self, log: Log, stored_since: float, after: int, pages: KnownPages) -> None:
        """Begin to read *log*; pages with numbers up to *after* are known.

        *pages* learns what is there. What was stored before *stored_since* does not count.
        """
        self.number = after
        """The number of the last page that was given on."""
        self.last_entry: Entry | None = None
        self.pages = pages
        self._pieces = aiter(log.snapshot(stored_since))
        self._replay = Replay(stored_since, after)
        self._is_at_end = False

    async def next(self) -> RecordColumns | None:
        """Return the next pages, ``None`` at the end; raises what the log does."""
        while (claims := self._replay.take(is_end=self._is_at_end)) is None:
            if self._is_at_end:
                for number, (key, run) in self._replay.preferred.items():
                    self.pages.prefer(key, number, run)
                return None
            piece = await anext(self._pieces, None)
            if piece is None:
                self._is_at_end = True
            else:
                self._replay.add(piece)
                self.last_entry = piece.last
        self.pages.learn(claims)
        self.number = int(claims.numbers[-1])
        return claims.records

    def claims(self, owner: bytes) -> OpenClaims:
        """Return the open claims, for the process *owner*."""
        return OpenClaims(owner, self.pages, self._replay.open)
