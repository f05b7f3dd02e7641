"""Pages and texts -> verdicts and claims, however long that takes."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from time import monotonic, perf_counter
from weakref import WeakSet

from scrapy.http import Response

from dedup.claim import Claim
from dedup.detector import Detector, OwnClaims, Reservation
from dedup.item_values import NOTHING, ItemValues
from dedup.limits import shorten_url
from dedup.preference import Copy, Preference
from dedup.record import PageRecord
from dedup.report.summary import Summary
from dedup.rule import Kind
from dedup.scrapy_plugin.awaiting import wait_for_call
from dedup.scrapy_plugin.canonicals import (
    Canonicals,
    other_canonical,
    without_names,
)
from dedup.scrapy_plugin.closing import StoreOutage
from dedup.scrapy_plugin.notices import Notices
from dedup.scrapy_plugin.requests import RequestOptions, urls_of
from dedup.scrapy_plugin.response_state import ResponseState
from dedup.stores import LedgerError, StoreDownError

_MOST_KNOWN = 100_000
_UNRESOLVED = "unresolved"
_OPEN_BATCHES = (
    "Copies of pages in a batch of a feed are kept until the batch is stored, since it might fail "
    "(dedup/skipped/open_batch). commit=passed in the URL of DEDUP_INDEX has them dropped at once"
)


@dataclass(slots=True, eq=False)
class Reservations:
    """Asks the detector for the verdict on a page, and waits for those that it depends on.

    These are near pages that are being stored, and the page that it names as its canonical one.
    """

    timeout: float
    """Seconds that a page waits."""
    preference: Preference
    detector: Detector
    summary: Summary
    notices: Notices
    join: Callable[[], Awaitable[object]]
    """Is called before each page is compared."""
    outage: StoreOutage
    canonicals: Canonicals | None = None
    """Without it, nobody asks what pages name as their canonical ones."""
    _given_up: WeakSet[Claim] = field(default_factory=WeakSet)
    """Those for which a page has waited in vain."""
    _named: dict[int, str] = field(default_factory=dict)
    """What stored pages of this crawl name as their canonical page, by number."""

    async def of_page(
        self,
        record: PageRecord,
        state: ResponseState,
        response: Response,
        options: RequestOptions,
        said: ItemValues,
    ) -> Reservation:
        """Return the verdict on an item of *response*, and if it is new, the claim on its page.

        *said*: what the item says, in words.
        """
        again = options.again
        if options.key:  # which is no URL
            return self._counted(await self._reserve(record, state, said, again=again))
        canonical = other_canonical(response) if self.canonicals else None
        # Later items of the page do not wait: others may wait for the first ones.
        if canonical and not (again or state.is_judged):
            await self._wait_for(canonical, response, record)
        until = monotonic() + self.timeout
        reservation = await self._reserve(record, state, said, again=again, until=until)
        if canonical and reservation.claim not in state.claims:
            reservation = await self._by_own_word(
                reservation, record, canonical, state, said, until
            )
        self._note(reservation, response, canonical)
        return await self._with_preferred(reservation, Copy(response.url, canonical))

    def _note(self, reservation: Reservation, response: Response, canonical: str | None) -> None:
        """Take note of where the page of *response* is stored, and of what it names *canonical*."""
        verdict, claim, _ = reservation
        if self.canonicals and verdict:
            is_stored_elsewhere = verdict.is_duplicate or verdict.kind is Kind.UNCHANGED
            stored = (is_stored_elsewhere and verdict.original) or response.url
            self.canonicals.copies.note_stored_at(urls_of(response), stored)
        if claim and canonical and len(self._named) < _MOST_KNOWN:
            self._named[claim.number] = canonical

    async def _by_own_word(
        self,
        reservation: Reservation,
        record: PageRecord,
        canonical: str,
        state: ResponseState,
        said: ItemValues,
        until: float,
    ) -> Reservation:
        """Return what is said of a page that names *canonical*, though it has another title.

        The title of a page that says itself of which page it is a copy is no objection. It gives
        way only to that one, and only when that is stored.
        """
        assert self.canonicals
        verdict, claim, _ = reservation
        copies = self.canonicals.copies
        if not (verdict and claim and copies.believe(verdict, record, canonical)):
            return reservation
        self.detector.release(claim)
        nameless = without_names(record, said.names)
        believed = await self._reserve(nameless, state, again=False, until=until)
        again = believed.verdict
        if again and again.is_duplicate and again.original == verdict.original:
            return believed
        if believed.claim:
            self.detector.release(believed.claim)
        return await self._reserve(record, state, said, again=False, until=until)

    async def of_text(self, record: PageRecord, url: str, *, again: bool) -> Reservation:
        """Return the verdict on a text of an item with this *url*, and its claim if it is new."""
        return await self._with_preferred(await self._reserve(record, again=again), Copy(url))

    async def _with_preferred(self, reservation: Reservation, page: Copy) -> Reservation:
        """Return *reservation* of *page*, whose verdict says so if that has a better URL.

        The best of such URLs is noted: later crawls that meet the same content under it take it for
        unchanged.
        """
        verdict, _, number = self._counted(reservation)
        preference, store = self.preference, self.detector.store
        if not (verdict and verdict.is_duplicate and verdict.original and preference):
            return reservation
        if number is None:
            return reservation
        try:
            if not preference.prefers(page, Copy(verdict.original, self._named.get(number))):
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
        state: ResponseState | None = None,
        said: ItemValues = NOTHING,
        *,
        again: bool,
        until: float | None = None,
    ) -> Reservation:
        """Return the verdict and, if the page is new, the claim on its content.

        While a near page is being stored, wait for what becomes of it, until *until*, a time of
        `monotonic`, by default that of the setting from now on. A page waits only for claims that
        are older than its own, so nobody waits in a circle.
        """
        until = monotonic() + self.timeout if until is None else until
        own = state.own_claims(record.scope) if state else OwnClaims()
        while True:
            try:
                await self.join()
                start = perf_counter()
                reservation = await self.detector.reserve(
                    record, again=again, own_names=lambda: said.names, own=own
                )
            except StoreDownError as error:
                self.outage.begin(error)
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
            if left <= 0 or claim in self._given_up:
                self._given_up.add(claim)
                claim.put_off()
                return Reservation(self.detector.skipped(_UNRESOLVED))
            if claim.is_put_off:
                self.notices.tell_once(_OPEN_BATCHES)
                return Reservation(self.detector.skipped("open_batch"))
            if state and state.holds_older(claim):
                return Reservation(self.detector.skipped(_UNRESOLVED))
            self.summary.count("claims/waited")
            await wait_for_call(left, claim.when_ended)

    def _counted(self, reservation: Reservation) -> Reservation:
        """Return *reservation*, which is the last one of a page, and count it if it is open."""
        if reservation.verdict and reservation.verdict.reason == _UNRESOLVED:
            self.summary.count("claims/unresolved")
        return reservation
