"""What a process knows of stored pages, kept in step with the log of a store."""

import asyncio
import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import aclosing, contextmanager

from dedup.claim import Claim
from dedup.methods.base import Method
from dedup.record import Claimed, Lost
from dedup.rule import Rule
from dedup.stores import HistoryChangedError, News, Store, StoreDownError
from dedup.view.view import View

_MOST = 1000
"""How many claims that the log does not have are made at a time: a long outage leaves many."""


class Follower:
    """Keeps what a process knows of stored pages in step with the log of a store.

    One exchange at a time: claims that come up meanwhile travel together with the next one. So the
    order of the log is that of the view.
    """

    def __init__(
        self,
        method: Method,
        rule: Rule,
        store: Store,
        count: Callable[[str], object] = lambda name: None,
    ) -> None:
        """Create it without pages; *count* is called with the names of counters."""
        self.method = method
        self.rule = rule
        self.store = store
        self._count = count
        self.view = View(method, rule)
        # Those that the log could not take, has lost, or gave to others, the oldest first.
        self._late: list[Claim] = []
        # Never contended, so that no event loop is needed, unless the store waits.
        self._lock = asyncio.Lock()
        # Claims that come up while an exchange is under way: they travel together with the next.
        self._wanted: list[tuple[Claimed, asyncio.Future[Claim]]] = []
        self._claiming: asyncio.Task[None] | None = None

    def claim_later(self, claim: Claim) -> None:
        """Have *claim* made with one of the next exchanges: the log has it not, or not any more.

        Not if its page is not stored.
        """
        claim.number = -1
        self._late.append(claim)

    @property
    def late_claims(self) -> list[Claim]:
        """The claims that are to be made, the oldest first."""
        return [claim for claim in self._late if claim.is_open or claim.is_stored]

    async def load(self) -> None:
        """Take over the pages that the store has from before.

        Until all are there, the view stays as it is. Raises LedgerError if they cannot be
        read, ValueError if a sketch is none of the method's.
        """
        view = View(self.method, self.rule)
        with _no_garbage_collection():
            async with aclosing(self.store.stored()) as pieces:
                async for piece in pieces:
                    view.load(piece)
        self.view = view

    async def claim(self, claimed: Claimed, view: View) -> Claim:
        """Append a claim, and return it as it then stands in *view*, where the page was looked for.

        Raises LedgerError or OSError if the store cannot be written; of these StoreDownError if it
        may be later, HistoryChangedError if the view is another one now.
        """
        if not self.store.is_shared:
            [event] = await self.store.exchange([claimed], None)
            assert isinstance(event, Claimed)
            return self.view.claim(event)
        self._check_is_up()  # else it would wait for those who try to reach it
        made: asyncio.Future[Claim] = asyncio.get_running_loop().create_future()
        self._wanted.append((claimed, made))
        if self._claiming is None or self._claiming.done():
            self._claiming = asyncio.create_task(self._claim_wanted())
        try:
            claim = await made
        except asyncio.CancelledError:
            if not made.cancelled() and not made.exception():  # made just before
                self.release(made.result())
            raise
        if self.view is not view:  # since another exchange, before this one
            self.release(claim)
            raise HistoryChangedError(f"{self.store.name} is read anew: look again")
        return claim

    async def _claim_wanted(self) -> None:
        """Have the claims made, or fail, that came up until the exchange before has ended."""
        while self._wanted:
            try:
                async with self._lock:
                    wanted, self._wanted = self._wanted, []
                    self._check_is_up()
                    claims = await self._exchange(None, [claimed for claimed, _ in wanted])
                for claim, (_, made) in zip(claims, wanted, strict=True):
                    if made.done():  # nobody waits for it any more
                        self.release(claim)
                    else:
                        made.set_result(claim)
            except Exception as error:
                for _, made in wanted:
                    if not made.done():
                        made.set_exception(error)

    def _check_is_up(self) -> None:
        if self.store.is_down:
            raise StoreDownError(f"{self.store.name} cannot be reached")

    async def exchange(self, news: News | None = None) -> None:
        """Publish *news* of the store, if any, and learn what others have done; raises as `claim`.

        And make some of the claims that the log does not have.
        """
        async with self._lock:
            await self._exchange(news, ())

    async def _exchange(self, news: News | None, wanted: Sequence[Claimed]) -> list[Claim]:
        """Publish *news*, make late claims and then those *wanted*; return the latter ones."""
        self._late = self.late_claims
        again = self._late[:_MOST]
        try:
            claims = [*(claim.claimed for claim in again), *wanted]
            events = await self.store.exchange(claims, news)
        except HistoryChangedError:
            await self._start_again()
            raise
        del self._late[: len(again)]
        first_own = len(events) - len(claims)
        for event in events[:first_own]:
            if isinstance(event, Lost):
                self._count("claims/lost")
                self.claim_later(self.view.forget(event.claimed))
            else:
                self.view.apply([event])
        for claim, event in zip(again, events[first_own:], strict=False):
            assert isinstance(event, Claimed)
            claim.number, was_open = event.number, claim.is_open
            self.view.add(claim)
            if not was_open:  # it ended on the way
                (self.commit if claim.is_stored else self.release)(claim)
        return self.view.apply(events[first_own + len(again) :])

    async def _start_again(self) -> None:
        """Read the store anew, whose history has changed.

        What is being stored, and what is stored and not published yet, is claimed again. What the
        store has forgotten is no longer known, and is stored again when it is met.
        """
        self._count("store/history_changes")
        for claimed in self.store.unpublished_pages:
            self.claim_later(self.view.forget(claimed))
        for claim in self.view.open_claims:
            if self.store.is_own(claim.number):
                self.claim_later(self.view.forget(claim.claimed))
            else:
                self.view.release(claim)  # who waits for it looks again
        await self.load()
        for claim in self._late:
            claim.replaces = ()  # those numbers may be those of other pages now

    def commit(self, claim: Claim) -> None:
        """The page of *claim* is stored: others may be duplicates of it from now on."""
        if claim.number < 0:
            claim.end(is_stored=True)
        else:
            self.store.commit(claim.claimed, claim.committed)
            self.view.commit(claim)

    def release(self, claim: Claim) -> None:
        """The page of *claim* was not stored: the next near one is new."""
        if claim.number < 0:
            claim.end()
        else:
            self.store.release(claim.number)
            self.view.release(claim)

    async def expire(self) -> None:
        """Have the claims end that somebody waits for, and whose owners are gone."""
        await self.store.expire(claim.number for claim in self.view.open_claims if claim.is_awaited)


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """Save a third of the time to read many pages, whose records make no cycles."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
