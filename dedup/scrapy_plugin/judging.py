"""Responses and items -> verdicts and claims, whatever happens and however long that takes."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from functools import partial
from time import monotonic, perf_counter, time
from typing import Any

from itemadapter import ItemAdapter
from scrapy.http import Response, TextResponse

from dedup.claim import Claim
from dedup.detector import Detector, Reservation
from dedup.evidence import Objection
from dedup.extraction import language_of_text
from dedup.item_values import (
    ALL_FIELDS,
    NOTHING,
    ItemValues,
    PageOfItem,
    UnreadableItemError,
    has_long_text,
    values_of,
    what_numbers_say,
)
from dedup.limits import shorten_url
from dedup.logs import get_logger
from dedup.page import Page
from dedup.preference import CLEAN_URLS, Copy
from dedup.record import PageRecord
from dedup.report.summary import Summary
from dedup.rule import Kind, Verdict
from dedup.scrapy_plugin import limits
from dedup.scrapy_plugin.awaiting import wait_for_call
from dedup.scrapy_plugin.bodies import BodyReader, reason_not_to_read
from dedup.scrapy_plugin.canonicals import Canonicals, other_canonical
from dedup.scrapy_plugin.items import fields_of, get_field
from dedup.scrapy_plugin.notices import Notices
from dedup.scrapy_plugin.requests import RequestOptions, request_options, urls_of
from dedup.scrapy_plugin.response_state import ItemState, Judgement, ResponseState
from dedup.scrapy_plugin.settings import DedupSettings
from dedup.stores import LedgerError, StoreDownError
from dedup.text import to_utf8
from dedup.workers import ReadError

logger = get_logger(__name__)

UNCHANGED = "dedup_unchanged"
"""The finish reason of a crawl that meets nothing new any more (DEDUP_CLOSE_UNCHANGED)."""
_REASONS_TO_KEEP = {UnreadableItemError: "unreadable_item", ReadError: "extraction_failed"}
_UNRESOLVED = "unresolved"
OPEN_BATCH = "open_batch"
"""Why pages are kept: what they repeat is in a batch of a feed that is not stored yet."""
_OPEN_BATCHES = (
    "Copies of pages in a batch of a feed are kept until the batch is stored, since it might fail "
    "(dedup/skipped/open_batch). commit=passed in the URL of DEDUP_INDEX has them dropped at once"
)


@dataclass(slots=True, eq=False)
class Judge:
    """Gives a verdict on each item, by its page and by what it says, or by its own field.

    It waits for what the verdict depends on: near pages that are being stored, and the page that a
    page names as its canonical one. A page counts once: as new, if any of its items is. What fails
    in dedup itself is a verdict that keeps the item.
    """

    settings: DedupSettings
    pages: BodyReader
    detector: Detector
    canonicals: Canonicals
    summary: Summary
    notices: Notices
    begin_outage: Callable[[StoreDownError], object]
    """Is told that the store is out of reach."""
    end_early: Callable[[str], object]
    """Ends the crawl, for a reason."""
    _unchanged_in_a_row: int = 0
    _began: float = field(default_factory=time)

    async def of_page(self, item: Any, response: Response, state: ResponseState) -> Judgement:
        """Return the judgement of *item* by the page that it comes from, and by what it says.

        The same one for all items of *response*, of *state*, that say the same and have the same
        scope.
        """
        options = request_options(response.request, self.notices)
        key = options.key or response.url
        try:
            judgement = await self._judge_page(item, response, state, options, key)
        except Exception as error:
            judgement = self._failed(error, key, state.skipped)
        judgement.key, judgement.size = key, len(response.body)
        counted = state.counted_as
        if counted is None or (counted.is_known and not judgement.is_known):
            state.counted_as = judgement
        return judgement

    async def of_item(self, item: Any, item_state: ItemState) -> Judgement:
        """Return the judgement of *item* by its own field (DEDUP_ITEM_FIELD)."""
        response = item_state.state.response if item_state.state else None
        key = get_field(item, "url")
        if not (isinstance(key, str) and key):
            key = response.url if response else ""
        value = get_field(item, self.settings.item_field or "")
        if isinstance(value, list | tuple) and all(isinstance(part, str) for part in value):
            value = "\n".join(value)  # as item loaders leave it
        size = len(to_utf8(value)) if isinstance(value, str) else 0
        options = request_options(response.request if response else None, self.notices)
        try:
            judgement = await self._judge_field(value, size, key, item, options)
        except Exception as error:
            judgement = self._failed(error, key, {})
        judgement.key, judgement.size = key, size
        item_state.claim = judgement.claim
        self._count(judgement)
        return judgement

    def page_is_unchanged(self, url: str) -> None:
        """Count a stored page of which its server says that it has not changed."""
        verdict = Verdict(Kind.UNCHANGED, self.settings.method.name, url, 0)
        self._count(Judgement(verdict, key=url))

    def output_ends(self, state: ResponseState) -> None:
        """Count the page of *state*, of which no more items come, if it was not counted."""
        if state.counted_as and not state.is_counted:
            state.is_counted = True
            self._count(state.counted_as)

    def _count(self, judgement: Judgement) -> None:
        self.summary.record(
            judgement.verdict, judgement.key, judgement.size, judgement.page, judgement.record,
            differences=judgement.differences,
        )  # fmt: skip
        if judgement.verdict.kind in (Kind.NEW, Kind.CHANGED):
            self._unchanged_in_a_row = 0
        elif judgement.verdict.kind is Kind.UNCHANGED:
            self._unchanged_in_a_row += 1
            if self._unchanged_in_a_row == self.settings.close_unchanged:
                self.end_early(UNCHANGED)

    def _failed(self, error: Exception, key: str, skipped: dict[str, Judgement]) -> Judgement:
        """Return a judgement that keeps an item in spite of *error*, being handled; tell of that.

        Once, but for what is *skipped* already. Dedup must never lose an item, or a page's other
        items, by its own fault.
        """
        reason = _REASONS_TO_KEEP.get(type(error), "error")
        if reason in skipped:
            return skipped[reason]
        match error:
            case UnreadableItemError():
                self.notices.tell_once(
                    "Items are kept unjudged whose field %r holds what cannot be compared; "
                    "plain values can, and DEDUP_IGNORE_FIELDS leaves a field out. One is of "
                    "<%s>", str(error), key,
                )  # fmt: skip
            case ReadError(cause=cause):
                self.summary.count(f"unread/{cause}")
                logger.debug("Dedup cannot read <%s> (%s): %.500s", key, cause, error)
                self.notices.tell_once(f"A page cannot be read ({cause}): <%s>: %.500s", key, error)
            case _:
                self.notices.count_error("<%s>", key)
        skipped[reason] = self._skipped(reason)
        return skipped[reason]

    def _skipped(self, reason: str, page: Page | None = None) -> Judgement:
        return Judgement(self.detector.skipped(reason), page)

    async def _judge_page(
        self,
        item: Any,
        response: Response,
        state: ResponseState,
        options: RequestOptions,
        key: str,
    ) -> Judgement:
        """Raises UnreadableItemError or ReadError."""
        is_judged = self.settings.enabled and options.is_on
        if not is_judged and not self.settings.fields:
            return self._skipped("switched_off")
        if reason := reason_not_to_read(response):
            return self._skipped(reason)
        page = await self.pages.read(response, state)
        if not is_judged:
            return self._skipped("switched_off", page)
        said = await self._what_says(item, state, response, page)
        scope = self._scope_of(item, response.url, page.language)
        known = scope, said.to_bytes()
        if known not in state.judgements:
            state.judgements[known] = await self._compare(page, scope, key, options, state, said)
        return state.judgements[known]

    async def _judge_field(
        self, value: Any, size: int, key: str, item: Any, options: RequestOptions
    ) -> Judgement:
        """Raises ReadError."""
        if not options.is_on:
            return self._skipped("switched_off")
        if not isinstance(value, str):
            self.notices.tell_once(
                "Items without text in the field %r (DEDUP_ITEM_FIELD) are not judged. One is a %s",
                self.settings.item_field,
                type(item).__name__,
            )
            return self._skipped("no_field")
        if size > limits.MAX_PAGE_BYTES:
            return self._skipped("too_big")
        page = await self.pages.read_field(value)
        language = page.language
        if self.settings.scope.needs_language and language is None:  # text does not declare it
            language = language_of_text(page.text or "")
        field = self.settings.text_field
        said = what_numbers_say(field, page.numbers) if field else NOTHING
        scope = self._scope_of(item, key, language)
        return await self._compare(page, scope, key, options, said=said)

    async def _what_says(
        self, item: Any, state: ResponseState, response: Response, page: Page
    ) -> ItemValues:
        """Return what *item* of *response* says; raises UnreadableItemError or ReadError."""
        ignored = self.settings.fields_without_content
        if ALL_FIELDS in ignored:
            return NOTHING
        values = values_of(item, ItemAdapter, ignored)
        of_items = state.page_of_items
        if of_items is None:
            body = response.text if isinstance(response, TextResponse) else ""
            of_items = state.page_of_items = PageOfItem(
                urls_of(response), (self._began, state.began), body, page.evidence,
                page.numbers, self.settings.text_field,
            )  # fmt: skip
        if of_items.main_text is None and has_long_text(values):
            of_items.main_text = (await self.pages.read_with_text(response, state)).text or ""
        return of_items.what_says(values)

    def _scope_of(self, item: Any, url: str, language: str | None) -> str | None:
        """Return where *item* is compared (DEDUP_SCOPE), ``None`` if that is not known."""
        scope = self.settings.scope
        try:
            name = scope.name_of(url, language, fields_of(item) if scope.needs_item else {})
        except Exception:  # of a function of somebody else's, or a value that is none
            self.notices.count_error("the scope of an item of <%s>", url)
            return None
        if name is None:
            self.notices.tell_once(
                "Items without a value for DEDUP_SCOPE = %r are not compared, and kept. One is of "
                "<%s>",
                scope.name,
                url,
            )
        return name

    async def _compare(
        self,
        page: Page,
        scope: str | None,
        key: str,
        options: RequestOptions,
        state: ResponseState | None = None,
        said: ItemValues = NOTHING,
    ) -> Judgement:
        """Return what an item is that has *key*; with the *state* of its page, if it goes with it.

        Then it is what is *said* of it in words.
        """
        if scope is None:
            return self._skipped("no_scope", page)
        record = page.under(key, scope)._replace(item=said.to_bytes())
        canonical = None
        if self.canonicals.are_asked and state and not options.key:
            canonical = await self._wait_for_canonical(page, record, state, options)
        verdict, claim, number = await self._reserve(record, state, canonical, again=options.again)
        assert verdict
        if verdict.is_duplicate and number is not None:
            url = "" if state and options.key else key
            verdict = self._with_preferred(verdict, Copy(url, canonical))
        judgement = Judgement(verdict, page, record=record, claim=claim)
        self._take_note(record, page, claim, state)
        if state:
            state.item_is_judged(record, verdict, claim, number)
        if verdict.objection is Objection.ITEM and number is not None:
            judgement.differences = said.beyond(self.detector.follower.view.items_of(number))
            self.detector.store.note_difference(record.key, number, judgement.differences)
        return judgement

    def _take_note(
        self, record: PageRecord, page: Page, claim: Claim | None, state: ResponseState | None
    ) -> None:
        """Have the names of a page known that was met, and its text if it is about to be stored.

        Once, whatever items the page of *state* has.
        """
        if claim and not (state and claim in state.claims):
            self.summary.claim_begins(claim, record.key, page)
        if state is None or not state.judgements:
            self.detector.follower.view.learn_names(record)

    async def _wait_for_canonical(
        self, page: Page, record: PageRecord, state: ResponseState, options: RequestOptions
    ) -> str | None:
        """Return the URL of another page that *page* names.

        Wait for that page, while this one would be stored in its place.
        """
        response = state.response
        if response is None or response.request is None:
            return None
        url = other_canonical(response, page)
        # Later items of the page do not wait: others may wait for the first ones.
        if url and not (options.again or state.judgements or state.skipped):
            try:
                if await self.detector.is_new(record):
                    await self.canonicals.wait_for(url, response.request)
            except StoreDownError:
                pass  # `_reserve` tells of it
            except Exception:
                self.notices.count_error("what <%s> names as its canonical page", record.key)
        return url

    async def _reserve(
        self,
        record: PageRecord,
        state: ResponseState | None,
        canonical: str | None,
        *,
        again: bool,
    ) -> Reservation:
        """Return the verdict and, if the page is new, the claim on its content.

        The title of a copy of the *canonical* page by its own word is no objection. While a near
        page is being stored, wait for what becomes of it, until the timeout. A page waits only for
        claims that are older than its own, so nobody waits in a circle, here or in another process.
        """
        until = monotonic() + limits.WAIT_TIMEOUT
        own = state.claims if state else ()
        believes = partial(self.canonicals.believe, record, canonical) if canonical else None
        while True:
            try:
                start = perf_counter()
                reservation = await self.detector.reserve(
                    record, again=again, believes=believes, own=own
                )
            except StoreDownError as error:
                self.begin_outage(error)
                return self.detector.unchecked(record)
            except LedgerError:
                if not self.detector.store.is_shared:
                    raise
                self.notices.count_error("<%s>", record.key)
                return self.detector.unchecked(record)
            self.summary.record_time("index", perf_counter() - start)
            claim = reservation.claim
            if reservation.verdict or claim is None:
                return reservation
            reason = _reason_to_give_up(claim, until, own)
            if not reason:
                self.summary.count("claims/waited")
                await wait_for_call(until - monotonic(), claim.when_ended)
            elif believes:
                believes = None  # it is what its own title makes it
            else:
                if reason == OPEN_BATCH:
                    self.notices.tell_once(_OPEN_BATCHES)
                else:
                    self.summary.count("claims/unresolved")
                return Reservation(self.detector.skipped(reason))

    def _with_preferred(self, verdict: Verdict, page: Copy) -> Verdict:
        """Return the *verdict* on *page*, a duplicate; it says so if its URL is the better one."""
        original = verdict.original
        # An item may have no URL, and the one of the original is not known while the store is down.
        if not (page.url and original) or self.detector.store.is_down:
            return verdict
        try:
            is_better = (self.settings.prefer or CLEAN_URLS).prefers(page, Copy(original))
        except Exception:  # of a criterion of somebody else's
            self.notices.count_error("the preference of <%s>", page.url)
            return verdict
        return replace(verdict, preferred=shorten_url(page.url)) if is_better else verdict


def _reason_to_give_up(claim: Claim, until: float, own: Collection[Claim]) -> str | None:
    """Return why a page with its *own* claims does not wait for *claim*, if it does not."""
    if monotonic() >= until:
        claim.put_off(_UNRESOLVED)
    if claim.put_off_for:
        return claim.put_off_for
    holds_older = any(one.is_open and one.number < claim.number for one in own)
    return _UNRESOLVED if holds_older else None
