"""Pages and texts -> verdicts and claims, however long that takes."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from time import monotonic, perf_counter

from scrapy.http import Response

from dedup.claim import Claim
from dedup.detector import Detector, Reservation
from dedup.evidence import Objection
from dedup.item_values import NOTHING, ItemValues
from dedup.limits import shorten_url
from dedup.preference import Copy, Preference
from dedup.record import PageRecord
from dedup.report.summary import Summary
from dedup.scrapy_plugin import limits
from dedup.scrapy_plugin.awaiting import wait_for_call
from dedup.scrapy_plugin.canonicals import Canonicals, other_canonical
from dedup.scrapy_plugin.notices import Notices
from dedup.scrapy_plugin.response_state import ResponseState
from dedup.stores import LedgerError, StoreDownError

_UNRESOLVED = "unresolved"
OPEN_BATCH = "open_batch"
"""Why pages are kept: what they repeat is in a batch of a feed that is not stored yet."""
_OPEN_BATCHES = (
    "Copies of pages in a batch of a feed are kept until the batch is stored, since it might fail "
    "(dedup/skipped/open_batch). commit=passed in the URL of DEDUP_INDEX has them dropped at once"
)


@dataclass(slots=True, eq=False)
class Reservations:
    """Asks the detector for the verdict on a page, and waits for those that it depends on.

    These are near pages that are being stored, and the page that it names as its canonical one.
    """

    preference: Preference
    detector: Detector
    summary: Summary
    notices: Notices
    begin_outage: Callable[[StoreDownError], object]
    """Is told that the store is out of reach."""
    spider: str
    """Its name."""
    canonicals: Canonicals | None = None
    """Without it, nobody asks what pages name as their canonical ones."""
    # Never contended, so that no event loop is needed, unless the store waits.
    _joining: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def of_page(
        self,
        record: PageRecord,
        url: str | None,
        state: ResponseState | None = None,
        said: ItemValues = NOTHING,
        *,
        again: bool,
    ) -> Reservation:
        """Return the verdict on an item, by its page or field, and if it is new, the claim on that.

        *url*: its own, unless it is known by something else. *state*: that of its page, if the item
        goes with it; *said*: what the item then says, in words. *again*: it is stored in any case.
        """
        response, canonical, believes = state and state.response, None, None
        if self.canonicals and state and response and url:
            canonical = other_canonical(response)
            if canonical:  # the title of a copy by its own word is no objection
                believes = partial(self.canonicals.copies.believe, record, canonical)
            # Later items of the page do not wait: others may wait for the first ones.
            if canonical and not (again or state.is_judged):
                await self._wait_for(canonical, response, record)
        reservation = await self._reserve(record, state, said, believes, again=again)
        return await self._with_preferred(reservation, Copy(url, canonical)) if url else reservation

    async def _with_preferred(self, reservation: Reservation, page: Copy) -> Reservation:
        """Return *reservation* of *page*, whose verdict says so if that has a better URL.

        The best of such URLs is noted: later crawls that meet the same content under it take it for
        unchanged.
        """
        verdict, _, number = reservation
        preference, store = self.preference, self.detector.store
        if not (preference and verdict and verdict.is_duplicate and verdict.original):
            return reservation
        if number is None:
            return reservation
        try:
            if not preference.prefers(page, Copy(verdict.original)):
                return reservation
            best = await store.preferred(number) or (await store.pages([number]))[number].key
            if best == verdict.original or preference.prefers(page, Copy(best)):
                best = shorten_url(page.url)
                store.note_preferred(number, best)
        except StoreDownError:
            return reservation
        except Exception:  # of a criterion of somebody else's
            self.notices.count_error("the preference of <%s>", page.url)
            return reservation
        return reservation._replace(verdict=replace(verdict, preferred=best))

    async def _wait_for(self, url: str, response: Response, record: PageRecord) -> None:
        """Wait for the page at *url*, which *response* names, while that would be stored else."""
        assert self.canonicals
        try:
            if await self.detector.is_new(record):
                await self.canonicals.wait_for(url, response)
        except StoreDownError:
            return
        except Exception:
            self.notices.count_error("what <%s> names as its canonical page", response.url)

    async def _reserve(
        self,
        record: PageRecord,
        state: ResponseState | None,
        said: ItemValues,
        believes: Callable[[Objection, str], bool] | None,
        *,
        again: bool,
    ) -> Reservation:
        """Return the verdict and, if the page is new, the claim on its content.

        While a near page is being stored, wait for what becomes of it, until the timeout. A page
        waits only for claims that are older than its own, so nobody waits in a circle.
        """
        until = monotonic() + limits.WAIT_TIMEOUT
        while True:
            try:
                await self._join()
                start = perf_counter()
                reservation = await self.detector.reserve(
                    record, again=again, own_names=said.names, believes=believes,
                    own=state.claims if state else (),
                )  # fmt: skip
            except StoreDownError as error:
                self.begin_outage(error)
                return self.detector.unchecked(record)
            except LedgerError:
                if not self.detector.store.is_shared:
                    raise
                self.notices.count_error("<%s>", record.key)
                return self.detector.unchecked(record)
            self.summary.record_time("index", perf_counter() - start)
            if reservation.verdict:
                return reservation
            assert reservation.claim
            claim, left = reservation.claim, until - monotonic()
            reason = self._reason_to_give_up(claim, left, state)
            if not reason:
                self.summary.count("claims/waited")
                await wait_for_call(left, claim.when_ended)
            elif believes:
                believes = None  # it is what its own title makes it
            else:
                if reason == _UNRESOLVED:
                    self.summary.count("claims/unresolved")
                return Reservation(self.detector.skipped(reason))

    async def _join(self) -> None:
        """Join the store with the first page: a crawl without items changes nothing there.

        A shared store that is down is joined later, by whoever tells it something.
        """
        store = self.detector.store
        if store.has_joined:
            return
        async with self._joining:
            if store.has_joined or store.is_down:
                return
            try:
                await store.join(self.spider)
            except StoreDownError:
                return
            except LedgerError as error:
                self.notices.tell_once("The ledger is not written: %s", error)

    def _reason_to_give_up(
        self, claim: Claim, left: float, state: ResponseState | None
    ) -> str | None:
        """Return why a page of *state* waits no longer for *claim*, with *left* seconds to go."""
        if left <= 0:
            claim.put_off(_UNRESOLVED)
        elif claim.put_off_for == OPEN_BATCH:
            self.notices.tell_once(_OPEN_BATCHES)
        is_older = state is not None and state.holds_older(claim)
        return claim.put_off_for or (_UNRESOLVED if is_older else None)
