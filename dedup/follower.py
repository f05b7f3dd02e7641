"""What a process knows of stored pages, kept in step with the log of a store."""

import gc
from asyncio import Lock
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from dedup.claim import Claim
from dedup.logs import get_logger
from dedup.methods.base import Method
from dedup.record import Claimed, Event, Lost, PageRecord
from dedup.rule import Rule
from dedup.stores import HistoryChangedError, News, Store, StoreDownError
from dedup.view.view import View

logger = get_logger(__name__)

_MOST_AGAIN = 1000
"""How many claims that the log does not have are made at a time: a long outage leaves many."""
_NO_NEWS = News()


class _Turn:
    """The claims that travel to the store together, and what came of them."""

    def __init__(self) -> None:
        self.claims: list[Claimed] = []
        self.made: list[Claim] = []
        self.error: Exception | None = None
        self.is_over = False
        # Places of claims that nobody waits for any more.
        self.given_up: set[int] = set()


class Follower:
    """Appends claims to the log of a store, and applies to the view what others did.

    One exchange at a time: claims that come up meanwhile travel together with the next one. So the
    order of the log is that of the view. A claim that the log does not have (any more), since the
    store could not be reached, has lost it, or gave it to others, is made again with the next
    exchange, or one of the next, unless its page was not stored.

    If the store refuses claims, those of pages travel without such ones, which are made by
    themselves, ever fewer at a time; one that is refused alone is given up: its page is stored, and
    not remembered.
    """

    def __init__(
        self, method: Method, rule: Rule, store: Store, count: Callable[[str], object]
    ) -> None:
        """Create it without pages; *count* is called with the names of counters."""
        self._method = method
        self._rule = rule
        self._store = store
        self._count = count
        self.view = View(method, rule)
        # Never contended, so that no event loop is needed, unless the store waits.
        self._lock = Lock()
        self._next = _Turn()
        # Those that the log does not have.
        self._to_claim: list[Claim] = []
        # As many as are made at a time: fewer, from a refusal until there are none left.
        self._most_again = _MOST_AGAIN
        self._given_up: list[Claim] = []
        # Stored pages that the log may not have.
        self._unsure: list[Claimed] = []

    async def load(self, tell: Callable[[int], object] = lambda number: None) -> None:
        """Take over the pages that the store has from before; *tell* is called with their numbers.

        Until all are there, the view is the one of before. Raises LedgerError if they cannot be
        read, ValueError if a sketch is none of the method's.
        """
        view = View(self._method, self._rule)
        number = 0
        with _without_collection():
            while piece := await self._store.since(number):
                view.load(piece)
                number = piece.last
                tell(number)
            view.finish_loading()
        self.view = view
        tell(number)

    async def claim(self, claimed: Claimed, view: View) -> Claim:
        """Append a claim, and return it as it then stands in *view*, where the page was looked for.

        Raises LedgerError or OSError if the store cannot be written; of these StoreDownError if it
        may be later, HistoryChangedError if the view is another one now.
        """
        if not self._store.is_shared:
            [claim] = self.view.apply(await self._store.exchange([claimed], _NO_NEWS))
            return claim
        self._check_is_up()  # else it would wait for those who try to reach it
        turn = self._next
        place = len(turn.claims)
        turn.claims.append(claimed)
        try:
            async with self._lock:
                if not turn.is_over:
                    await self._travel(turn)
        except BaseException:
            if not turn.is_over:
                turn.given_up.add(place)
            elif turn.made:  # by another, while this one was being cancelled
                self.release(turn.made[place])
            raise
        if turn.error:
            raise turn.error
        if self.view is not view:  # since another turn, before this one
            self.release(turn.made[place])
            raise HistoryChangedError(f"{self._store.name} is read anew: look again")
        return turn.made[place]

    async def _travel(self, turn: _Turn) -> None:
        """Have the claims of *turn* made, or fail together."""
        self._next = _Turn()
        try:
            self._check_is_up()
            again = self._claims_to_make() if self._most_again == _MOST_AGAIN else []
            turn.made = await self._exchange(turn.claims, _NO_NEWS, again)
        except Exception as error:
            turn.error = error
            if not isinstance(error, StoreDownError | HistoryChangedError):
                self._most_again = min(self._most_again, _MOST_AGAIN // 2)
        except BaseException:
            turn.error = StoreDownError("who asked for several claims was cancelled")
            raise
        else:
            for place in turn.given_up:
                self.release(turn.made[place])
        finally:
            turn.is_over = True

    def _check_is_up(self) -> None:
        if self._store.is_down:
            raise StoreDownError(f"{self._store.name} cannot be reached")

    async def exchange(self, news: News) -> None:
        """Publish *news* of the store, and take over what others have done; raises as `claim`.

        Then make some of the claims that the log does not have.
        """
        async with self._lock:
            await self._exchange([], news)
            if again := self._claims_to_make():
                await self._claim_alone(again)

    def _claims_to_make(self) -> list[Claim]:
        """Return the next ones of the claims that the log does not have."""
        self._to_claim = [claim for claim in self._to_claim if claim.is_open or claim.is_stored]
        return self._to_claim[: self._most_again]

    async def _claim_alone(self, again: Sequence[Claim]) -> None:
        """Make claims *again*, or fewer the next time if the store refuses them.

        Raises StoreDownError or HistoryChangedError.
        """
        try:
            events = await self._send([claim.claimed for claim in again], _NO_NEWS)
        except (StoreDownError, HistoryChangedError):
            raise
        except Exception as error:  # whatever it is: all but these was taken just now
            self._most_again = max(len(again) // 2, 1)
            if len(again) == 1:
                self._give_up(again[0], error)
        else:
            self._take_over(events, again)
            if self._most_again < _MOST_AGAIN:
                self._most_again = min(2 * self._most_again, _MOST_AGAIN // 2)
        if not self._to_claim:
            self._most_again = _MOST_AGAIN

    def _give_up(self, claim: Claim, error: Exception) -> None:
        self._to_claim.remove(claim)
        self._count("claims/refused")
        if not self._given_up:
            logger.warning(
                "%s refuses <%s>, which is kept, and not remembered there: %s",
                self._store.name, claim.record.key, error,
            )  # fmt: skip
        self._given_up.append(claim)

    async def _exchange(
        self, claims: Sequence[Claimed], news: News, again: Sequence[Claim] = ()
    ) -> list[Claim]:
        events = await self._send([*(claim.claimed for claim in again), *claims], news)
        return self._take_over(events, again, len(claims))

    async def _send(self, claims: Sequence[Claimed], news: News) -> Sequence[Event]:
        try:
            return await self._store.exchange(claims, news)
        except HistoryChangedError:
            await self._start_again()
            raise

    def _take_over(
        self, events: Sequence[Event], again: Sequence[Claim], others: int = 0
    ) -> list[Claim]:
        """Have *events* happen, of which the last ones are claims *again* and *others* after them.

        Return the latter ones.
        """
        del self._to_claim[: len(again)]
        first_own = len(events) - len(again) - others
        self._apply(events[:first_own])
        for claim, event in zip(again, events[first_own:], strict=False):
            assert isinstance(event, Claimed)
            claim.claimed = event
            self._enter(claim)
        return self.view.apply(events[first_own + len(again) :])

    def _enter(self, claim: Claim) -> None:
        """Have *claim*, which the log has again, stand in the view."""
        was_open = claim.is_open
        self.view.add(claim)
        if was_open:
            return
        if claim.is_stored:
            self._store.commit(claim.claimed)
            self.view.commit(claim)
        else:  # it was released on the way
            self._store.release(claim.number)
            self.view.release(claim)

    def _apply(self, events: Sequence[Event]) -> None:
        for event in events:
            if isinstance(event, Lost):
                self._count("claims/lost")
                self._claim_again(self.view.forget(event.claimed))
            else:
                self.view.apply([event])

    def _claim_again(self, claim: Claim) -> None:
        claim.claimed = claim.claimed._replace(number=-1)
        self._to_claim.append(claim)

    async def _start_again(self) -> None:
        """Read the store anew, whose history has changed; claim again what it does not have."""
        self._count("store/history_changes")
        self._unsure += self._store.take_unpublished()
        for claim in self.view.open_claims:
            if self._store.is_own(claim.number):
                self._claim_again(self.view.forget(claim.claimed))
            else:
                self.view.release(claim)  # who waits for it looks again
        await self.load()
        unsure, self._unsure = self._unsure, []
        for claimed in unsure:
            if not self.view.has_page(claimed):
                claim = Claim(claimed)
                claim.end(is_stored=True)
                self._claim_again(claim)
        for claim in self._to_claim:  # these numbers may be those of other pages now
            claim.claimed = claim.claimed._replace(replaces=())

    def claim_later(self, record: PageRecord) -> Claim:
        """Return a claim that the log does not have: the next exchange makes it."""
        claim = Claim(Claimed(record))
        self._to_claim.append(claim)
        return claim

    @property
    def has_claims_to_make(self) -> bool:
        """Whether the next exchange makes claims that the log does not have."""
        return any(claim.is_open or claim.is_stored for claim in self._to_claim)

    @property
    def unclaimed(self) -> int:
        """The number of stored pages of which the log does not have a claim."""
        return sum(claim.is_stored for claim in (*self._to_claim, *self._given_up))

    @property
    def waits_for_others(self) -> bool:
        """Whether somebody waits for a claim of another process."""
        return any(
            claim.is_awaited and not self._store.is_own(claim.number)
            for claim in self.view.open_claims
        )

    def commit(self, claim: Claim) -> None:
        """The page of *claim* is stored: others may be duplicates of it from now on."""
        if claim.number < 0:
            claim.end(is_stored=True)
        else:
            self._store.commit(claim.claimed)
            self.view.commit(claim)

    def release(self, claim: Claim) -> None:
        """The page of *claim* was not stored: the next near one is new."""
        if claim.number < 0:
            claim.end()
        else:
            self._store.release(claim.number)
            self.view.release(claim)

    async def expire(self) -> float:
        """Have the claims end that somebody waits for, and whose owners are gone.

        Returns the seconds until the next of them may be; infinite if nobody waits for others.
        """
        awaited = [claim.number for claim in self.view.open_claims if claim.is_awaited]
        return await self._store.expire(awaited)


@contextmanager
def _without_collection() -> Iterator[None]:
    """Have nobody look for cycles: millions of objects without any are made and forgotten."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
