"""Pages and texts -> verdicts and claims, however long that takes."""

from collections.abc import Awaitable, Callable
from time import monotonic, perf_counter
from typing import NamedTuple
from weakref import WeakSet

from scrapy.http import Response

from dedup.claim import Claim
from dedup.detector import Detector, OwnClaims, Reservation
from dedup.item_values import NOTHING, ItemValues
from dedup.preference import Preference
from dedup.record import PageRecord
from dedup.report.summary import Summary
from dedup.rule import Kind, Verdict
from dedup.scrapy_plugin.awaiting import wait_for_call
from dedup.scrapy_plugin.canonicals import Canonicals
from dedup.scrapy_plugin.closing import StoreOutage
from dedup.scrapy_plugin.notices import Notices
from dedup.scrapy_plugin.plain_requests import urls_of
from dedup.scrapy_plugin.preferred import PreferredUrls
from dedup.scrapy_plugin.request_options import RequestOptions
from dedup.scrapy_plugin.response_state import ResponseState
from dedup.scrapy_plugin.self_declared_copies import SelfDeclaredCopies, without_names
from dedup.stores import LedgerError, StoreDownError


class Decided(NamedTuple):
    """What is said of a page: the number is that of the page that the verdict names."""

    verdict: Verdict
    claim: Claim | None
    number: int | None


_UNRESOLVED = "unresolved"
_OPEN_BATCH = "open_batch"
_OPEN_BATCHES = (
    "Copies of pages in a batch of a feed are kept until the batch is stored, since it might fail "
    "(dedup/skipped/open_batch). commit=passed in the URL of DEDUP_INDEX has them dropped at once"
)


class Reservations:
    """Asks the detector for the verdict on a page, and waits for those that it depends on.

    These are near pages that are being stored, and the page that it names as its canonical one.
    """

    def __init__(
        self,
        timeout: float,
        preference: Preference,
        detector: Detector,
        summary: Summary,
        notices: Notices,
        join: Callable[[], Awaitable[object]],
        outage: StoreOutage,
        canonicals: Canonicals | None = None,
    ) -> None:
        """Create it; a page waits *timeout* seconds; *join* is called before each is compared.

        Without *canonicals*, nobody asks what pages name as their canonical ones.
        """
        self._timeout = timeout
        self._detector = detector
        self._summary = summary
        self._notices = notices
        self._join = join
        self._outage = outage
        self._canonicals = canonicals
        self._given_up: WeakSet[Claim] = WeakSet()  # for which somebody has waited in vain
        self._self_declared = SelfDeclaredCopies(detector.rule)
        self._preferred = PreferredUrls(preference, detector.store, notices)

    async def of_page(
        self,
        record: PageRecord,
        state: ResponseState,
        response: Response,
        options: RequestOptions,
        said: ItemValues,
    ) -> Decided:
        """Return the verdict on an item of *response*, and if it is new, the claim on its page.

        And the number of the page that it repeats. *said*: what the item says, in words.
        """
        again = options.again
        if options.key:  # which is no URL
            return self._decided(await self._reserve(record, state, said, again=again))
        canonical = self._canonicals.named_by(response) if self._canonicals else None
        # Later items of the page do not wait: others may wait for the first ones.
        if canonical and not (options.again or state.is_judged):
            await self._wait_for(canonical, response, record)
        until = monotonic() + self._timeout
        reservation = await self._reserve(record, state, said, again=again, until=until)
        if canonical and reservation.claim not in state.claims:
            reservation = await self._by_own_word(
                reservation, record, canonical, state, said, until
            )
        verdict, claim, number = self._decided(reservation)
        if self._canonicals:
            is_stored_elsewhere = verdict.is_duplicate or verdict.kind is Kind.UNCHANGED
            stored = (is_stored_elsewhere and verdict.original) or response.url
            self._self_declared.note_stored_at(urls_of(response), stored)
        original = number if verdict.is_duplicate else None
        verdict = await self._preferred.verdict(verdict, claim, original, response.url, canonical)
        return Decided(verdict, claim, number)

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
        verdict, claim, *_ = reservation
        if not (verdict and claim and self._self_declared.is_copy(verdict, record, canonical)):
            return reservation
        original = verdict.original or ""
        self._self_declared.believe(original)
        self._detector.release(claim)
        nameless = without_names(record, said.names)
        believed = await self._reserve(nameless, state, again=False, until=until)
        verdict = believed.verdict
        if verdict and verdict.is_duplicate and verdict.original == original:
            return believed
        self._self_declared.take_back(original)
        if believed.claim:
            self._detector.release(believed.claim)
        return await self._reserve(record, state, said, again=False, until=until)

    async def of_text(self, record: PageRecord, url: str, *, again: bool) -> Decided:
        """Return the verdict on a text of an item with this *url*, and its claim if it is new."""
        verdict, claim, number = self._decided(await self._reserve(record, again=again))
        original = number if verdict.is_duplicate else None
        verdict = await self._preferred.verdict(verdict, claim, original, url)
        return Decided(verdict, claim, number)

    async def _wait_for(self, url: str, response: Response, record: PageRecord) -> None:
        """Wait for the page at *url*, which *response* names, while that would be stored else."""
        assert self._canonicals
        try:
            if await self._detector.is_new(record):
                await self._canonicals.wait_for(url, response)
        except StoreDownError:
            return
        except Exception:
            self._notices.count_error("what <%s> names as its canonical page", response.url)

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
        until = monotonic() + self._timeout if until is None else until
        own = state.own_claims(record.scope) if state else OwnClaims()
        while True:
            try:
                await self._join()
                start = perf_counter()
                reservation = await self._detector.reserve(
                    record, again=again, own_names=lambda: said.names, own=own
                )
            except StoreDownError as error:
                self._outage.begin(error)
                return self._detector.unchecked(record)
            except LedgerError:
                if not self._detector.store.is_shared:
                    raise
                self._notices.count_error("<%s>", record.key)
                return self._detector.unchecked(record)
            self._summary.record_time("index", perf_counter() - start)
            if reservation.verdict:
                return reservation
            assert reservation.claim
            claim, left = reservation.claim, until - monotonic()
            if left <= 0 or claim in self._given_up:
                self._given_up.add(claim)
                claim.put_off()
                return Reservation(self._detector.skipped(_UNRESOLVED))
            if claim.is_put_off:
                self._notices.tell_once(_OPEN_BATCHES)
                return Reservation(self._detector.skipped(_OPEN_BATCH))
            if state and state.holds_older(claim):
                return Reservation(self._detector.skipped(_UNRESOLVED))
            self._summary.count("claims/waited")
            await wait_for_call(left, claim.when_ended)

    def _decided(self, reservation: Reservation) -> Decided:
        """Return what *reservation* has, and count where nobody could wait for it."""
        assert reservation.verdict
        if reservation.verdict.reason == _UNRESOLVED:
            self._summary.count("claims/unresolved")
        return Decided(reservation.verdict, reservation.claim, reservation.original)
