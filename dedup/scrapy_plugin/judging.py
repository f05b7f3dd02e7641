"""Responses and items -> verdicts, whatever happens."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from time import time
from typing import Any

from itemadapter import ItemAdapter
from scrapy.http import Response, TextResponse

from dedup.detector import Detector, storable
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
)
from dedup.logs import get_logger
from dedup.page import Page
from dedup.report.summary import Summary
from dedup.rule import Kind, Verdict
from dedup.scrapy_plugin import limits
from dedup.scrapy_plugin.bodies import BodyReader, reason_not_to_read
from dedup.scrapy_plugin.items import fields_of, get_field
from dedup.scrapy_plugin.notices import Notices
from dedup.scrapy_plugin.requests import RequestOptions, request_options, urls_of
from dedup.scrapy_plugin.reservations import Reservations
from dedup.scrapy_plugin.response_state import ItemState, Judgement, ResponseState
from dedup.scrapy_plugin.settings import DedupSettings
from dedup.text import to_utf8
from dedup.workers import ReadError

logger = get_logger(__name__)

UNCHANGED = "dedup_unchanged"
"""The finish reason of a crawl that meets nothing new any more (DEDUP_CLOSE_UNCHANGED)."""
_REASONS_TO_KEEP = {UnreadableItemError: "unreadable_item", ReadError: "extraction_failed"}


@dataclass(slots=True, eq=False)
class Judge:
    """Gives a verdict on each item, by its page and by what it says, or by its own field.

    A page counts once: as new, if any of its items is. What fails in dedup itself is a verdict that
    keeps the item.
    """

    settings: DedupSettings
    pages: BodyReader
    detector: Detector
    reservations: Reservations
    summary: Summary
    notices: Notices
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
            judgement = await self._judge_page(item, state, response, options)
        except Exception as error:
            reason = _REASONS_TO_KEEP.get(type(error), "error")
            if reason not in state.skipped:
                state.skipped[reason] = self._kept(error, key)
            judgement = state.skipped[reason]
        judgement.key, judgement.size = key, len(response.body)
        verdict = judgement.verdict
        if state.is_counted:
            return judgement
        if verdict.is_duplicate or verdict.kind in (Kind.UNCHANGED, Kind.REPEATED):
            state.uncounted = state.uncounted or judgement  # a later item may be new
        else:
            state.uncounted = judgement
            self.output_ends(state)
        return judgement

    def page_is_unchanged(self, url: str) -> None:
        """Count a stored page of which its server says that it has not changed."""
        verdict = Verdict(Kind.UNCHANGED, self.settings.method.name, url, 0)
        self._count(Judgement(verdict, key=url))

    def output_ends(self, state: ResponseState) -> None:
        """Count the page of *state*, of which no more items come, if it was not counted."""
        if judgement := state.uncounted:
            state.uncounted, state.is_counted = None, True
            self._count(judgement)

    async def _judge_page(
        self, item: Any, state: ResponseState, response: Response, options: RequestOptions
    ) -> Judgement:
        """Raises UnreadableItemError or ReadError."""
        is_judged = self.settings.enabled and options.is_on
        if not is_judged and not self.settings.fields:
            return Judgement(self.detector.skipped("switched_off"))
        if reason := reason_not_to_read(response):
            return Judgement(self.detector.skipped(reason))
        page = await self.pages.read(response)
        if not is_judged:
            return Judgement(self.detector.skipped("switched_off"), page)
        said = await self._what_says(item, state, response)
        scope = self._scope_of(item, response.url, page.language)
        known = scope, said.to_bytes()
        if known not in state.judgements:
            state.judgements[known] = await self._compare(
                page, scope, options.key or response.url, options, state, said
            )
        return state.judgements[known]

    async def _what_says(self, item: Any, state: ResponseState, response: Response) -> ItemValues:
        """Return what *item* of *response* says; raises UnreadableItemError or ReadError."""
        ignored = self.settings.fields_without_content
        if ALL_FIELDS in ignored:
            return NOTHING
        values = values_of(item, ItemAdapter, ignored)
        of_items = state.page_of_items
        if of_items is None:
            page = await self.pages.read(response)
            body = response.text if isinstance(response, TextResponse) else ""
            of_items = state.page_of_items = PageOfItem(
                urls_of(response), (self._began, state.began), body, page.evidence
            )
        if of_items.main_text is None and has_long_text(values):
            of_items.main_text = (await self.pages.read_with_text(response)).text or ""
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
            return Judgement(self.detector.skipped("no_scope"), page)
        record = storable(page.under(key, scope))._replace(item=said.to_bytes())
        url = None if state and options.key else key
        verdict, claim, number = await self.reservations.of_page(
            record, url, state, said, again=options.again
        )
        assert verdict
        if not (state and state.judgements):  # the page is met once, whatever items it has
            self.detector.learn_names(record)
        if claim and not (state and claim in state.claims):
            self.summary.claim_begins(claim, record.key, page)
        if state:
            state.item_is_judged(record, verdict, claim, number)
        differences = None
        if verdict.objection is Objection.ITEM and number is not None:
            differences = said.beyond(self.detector.items_of(number))
            self.detector.store.note_difference(record.key, number, differences)
        return Judgement(verdict, page, record=record, claim=claim, differences=differences)

    async def of_item(self, item: Any, item_state: ItemState) -> Judgement:
        """Return the judgement of *item* by its own field (DEDUP_ITEM_FIELD)."""
        response = item_state.state.response if item_state.state else None
        options = request_options(response.request if response else None, self.notices)
        key = _url_of(item, response)
        value = _text_of(item, self.settings.item_field or "")
        size = 0 if value is None else len(to_utf8(value))
        try:
            judgement = await self._judge_field(value, size, key, item, options)
        except Exception as error:
            judgement = self._kept(error, key)
        judgement.key, judgement.size = key, size
        item_state.claim = judgement.claim
        self._count(judgement)
        return judgement

    async def _judge_field(
        self, value: str | None, size: int, key: str, item: Any, options: RequestOptions
    ) -> Judgement:
        """Raises ReadError."""
        if not options.is_on:
            return Judgement(self.detector.skipped("switched_off"))
        if value is None:
            self.notices.tell_once(
                "Items without text in the field %r (DEDUP_ITEM_FIELD) are not judged. One is a %s",
                self.settings.item_field,
                type(item).__name__,
            )
            return Judgement(self.detector.skipped("no_field"))
        if size > limits.MAX_PAGE_BYTES:
            return Judgement(self.detector.skipped("too_big"))
        page = await self.pages.read_field(value)
        language = page.language
        if self.settings.scope.needs_language and language is None:  # text does not declare it
            language = language_of_text(page.text or "")
        return await self._compare(page, self._scope_of(item, key, language), key, options)

    def _kept(self, error: Exception, key: str) -> Judgement:
        """Return a judgement that keeps an item, and tell of *error*, which is being handled.

        Dedup must never lose an item, or a page's other items, by its own fault.
        """
        match error:
            case UnreadableItemError():
                self.notices.tell_once(
                    "Items are kept unjudged whose field %r holds what cannot be compared; plain "
                    "values can, and DEDUP_IGNORE_FIELDS leaves a field out. One is of <%s>",
                    str(error),
                    key,
                )
            case ReadError():
                cause = error.cause
                self.summary.count(f"unread/{cause}")
                logger.debug("Dedup cannot read <%s> (%s): %.500s", key, cause, error)
                self.notices.tell_once(f"A page cannot be read ({cause}): <%s>: %.500s", key, error)
            case _:
                self.notices.count_error("<%s>", key)
        reason = _REASONS_TO_KEEP.get(type(error), "error")
        return Judgement(self.detector.skipped(reason))

    def _count(self, judgement: Judgement) -> None:
        page, record = judgement.page, judgement.record
        scope = ""  # where it was not compared
        if record is not None:
            scope, page = record.scope, page and replace(page, record=record)
        self.summary.record(
            judgement.verdict, judgement.key, judgement.size, page, scope,
            differences=judgement.differences,
        )  # fmt: skip
        if judgement.verdict.kind in (Kind.NEW, Kind.CHANGED):
            self._unchanged_in_a_row = 0
        elif judgement.verdict.kind is Kind.UNCHANGED:
            self._unchanged_in_a_row += 1
            if self._unchanged_in_a_row == self.settings.close_unchanged:
                self.end_early(UNCHANGED)


def _url_of(item: Any, response: Response | None) -> str:
    """Return what stands for *item* of *response*: its own URL, or that of the page."""
    url = get_field(item, "url")
    if isinstance(url, str) and url:
        return url
    return response.url if response else ""


def _text_of(item: Any, field: str) -> str | None:
    value = get_field(item, field)
    if isinstance(value, list | tuple) and all(isinstance(part, str) for part in value):
        return "\n".join(value)  # as item loaders leave it
    return value if isinstance(value, str) else None
