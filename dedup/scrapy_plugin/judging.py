"""Responses and items -> verdicts, whatever happens."""

from collections.abc import Awaitable
from dataclasses import replace
from time import time
from typing import Any

from itemadapter import ItemAdapter
from scrapy.http import Response, TextResponse

from dedup.detector import Detector, storable
from dedup.evidence import Objection
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
from dedup.report.item_differences import RememberedItems
from dedup.report.summary import Summary
from dedup.rule import Kind
from dedup.scrapy_plugin import limits
from dedup.scrapy_plugin.bodies import reason_not_to_read
from dedup.scrapy_plugin.closing import Closing
from dedup.scrapy_plugin.item_scopes import ItemScopes
from dedup.scrapy_plugin.items import get_field
from dedup.scrapy_plugin.notices import Notices
from dedup.scrapy_plugin.plain_requests import urls_of
from dedup.scrapy_plugin.reservations import Reservations
from dedup.scrapy_plugin.response_pages import ResponsePages
from dedup.scrapy_plugin.settings.crawl import DedupSettings
from dedup.scrapy_plugin.visits import Judgement, Passage, Visit, Visits
from dedup.scrapy_plugin.wishes import Wishes, wishes_of
from dedup.text import to_utf8
from dedup.workers.base import ReadError

logger = get_logger(__name__)


class Judge:
    """Gives a verdict on each item, by its page and by what it says, or by its own field.

    A page counts once: as new, if any of its items is. What fails in dedup itself is a verdict that
    keeps the item.
    """

    def __init__(
        self,
        settings: DedupSettings,
        pages: ResponsePages,
        detector: Detector,
        reservations: Reservations,
        summary: Summary,
        visits: Visits,
        notices: Notices,
        closing: Closing,
    ) -> None:
        self._settings = settings
        self._pages = pages
        self._detector = detector
        self._reservations = reservations
        self._summary = summary
        self._visits = visits
        self._notices = notices
        self._closing = closing
        self._ignored = settings.fields_without_content
        self._began = time()
        self._items = RememberedItems()
        self._scopes = ItemScopes(settings.scope, limits.MAX_PAGE_BYTES, pages, notices)

    async def of_page(self, item: Any, response: Response) -> Judgement:
        """Return the judgement of *item* by the page that it comes from, and by what it says.

        The same one for all items of *response* that say the same and have the same scope.
        """
        visit = self._visits.of(response)
        key = response.url
        try:
            wishes = wishes_of(response, self._notices)
            key = wishes.key or key
            is_judged = self._settings.enabled and wishes.is_on
            said = await self._what_says(item, visit, response) if is_judged else NOTHING
            scope = await self._scopes.of_page(item, response) if is_judged else ""
        except UnreadableItemError as error:
            self._notices.tell_once(
                "Items are kept unjudged whose field %r holds what cannot be compared; plain "
                "values can, and DEDUP_IGNORE_FIELDS leaves a field out. One is of <%s>",
                str(error),
                key,
            )
            return self._skipped("unreadable_item", visit, response, key)
        except ReadError as error:
            if "extraction_failed" not in visit.skipped:
                self._tell_unread(error, key)
            return self._skipped("extraction_failed", visit, response, key)
        except Exception:
            self._notices.count_error("what an item of <%s> is compared with", key)
            return self._skipped("error", visit, response, key)
        known = scope, said.to_bytes()
        judgement = visit.judgements.get(known)
        if judgement is None:
            judging = self._judge_page(visit, response, wishes, scope, said)
            judgement = await self._kept_on_failure(judging, key)
            judgement.key = key
            visit.judgements[known] = judgement
            self._count_page(judgement, visit, response)
        return judgement

    def _skipped(self, reason: str, visit: Visit, response: Response, key: str) -> Judgement:
        """Return the judgement of those items of *response* that are kept for *reason*."""
        judgement = visit.skipped.get(reason)
        if judgement is None:
            judgement = visit.skipped[reason] = Judgement(self._detector.skipped(reason), key=key)
            self._count_page(judgement, visit, response)
        return judgement

    def _count_page(self, judgement: Judgement, visit: Visit, response: Response) -> None:
        """Count the page of *response* once, as soon as it is known what it is."""
        if visit.is_counted:
            return
        judgement.size = len(response.body)
        verdict = judgement.verdict
        if verdict.is_duplicate or verdict.kind in (Kind.UNCHANGED, Kind.REPEATED):
            visit.uncounted = visit.uncounted or judgement  # a later item may be new
            return
        visit.uncounted = judgement
        self.output_ends(visit)

    def output_ends(self, visit: Visit) -> None:
        """Count the page of *visit*, of which no more items come, if it was not counted."""
        if judgement := visit.uncounted:
            visit.uncounted, visit.is_counted = None, True
            self._record(judgement)
            self._closing.verdict_is_given(judgement.verdict)

    async def _what_says(self, item: Any, visit: Visit, response: Response) -> ItemValues:
        """Return what *item* of *response* says; raises UnreadableItemError or ReadError."""
        if ALL_FIELDS in self._ignored or reason_not_to_read(response, limits.MAX_PAGE_BYTES):
            return NOTHING
        values = values_of(item, ItemAdapter, self._ignored)
        of_items = visit.page_of_items
        if of_items is None:
            page = await self._pages.read(response)
            body = response.text if isinstance(response, TextResponse) else ""
            of_items = visit.page_of_items = PageOfItem(
                urls_of(response), (self._began, visit.began), body, page.evidence
            )
        if of_items.main_text is None and has_long_text(values):
            of_items.main_text = await self._pages.text_of(response)
        return of_items.what_says(values)

    async def _judge_page(
        self, visit: Visit, response: Response, wishes: Wishes, scope: str | None, said: ItemValues
    ) -> Judgement:
        is_judged = self._settings.enabled and wishes.is_on
        if not is_judged and not self._settings.fields:
            return Judgement(self._detector.skipped("switched_off"))
        if reason := reason_not_to_read(response, limits.MAX_PAGE_BYTES):
            return Judgement(self._detector.skipped(reason))
        page = await self._pages.read(response)
        if not is_judged:
            return Judgement(self._detector.skipped("switched_off"), page)
        if scope is None:
            return Judgement(self._detector.skipped("no_scope"), page)
        of_page = storable(page.record.under(wishes.key or response.url, scope))
        record = of_page._replace(item=said.to_bytes())
        verdict, claim, number = await self._reservations.of_page(
            record, visit, response, wishes, said
        )
        if not visit.judgements:  # the page is met once, whatever items it has
            self._detector.learn_names(record)
        if claim and claim not in visit.claims:
            visit.claims.append(claim)
            visit.numbers.add(claim.number)
            self._visits.hold(claim, visit)
            self._summary.claim_begins(claim, record.key, page)
        if verdict.kind is Kind.UNCHANGED and number is not None and verdict.original == record.key:
            again = visit.said.setdefault(of_page, {})
            again.setdefault(number, []).append(record.item)
        difference = None
        if verdict.objection is Objection.ITEM and number is not None:
            difference = self._items.difference(said, self._detector.items_of(number))
            self._detector.store.note_difference(record.key, number, difference.values)
        if claim:
            self._items.remember(said)
        return Judgement(verdict, page, record=record, claim=claim, difference=difference)

    async def of_item(self, item: Any, passage: Passage) -> Judgement:
        """Return the judgement of *item* by its own field (DEDUP_ITEM_FIELD)."""
        response = passage.visit.response if passage.visit else None
        wishes = None if response is None else wishes_of(response, self._notices)
        key = _url_of(item, response)
        value = _text_of(item, self._settings.item_field or "")
        size = 0 if value is None else len(to_utf8(value))
        if wishes and not wishes.is_on:
            judgement = Judgement(self._detector.skipped("switched_off"))
        elif value is None:
            judgement = Judgement(self._detector.skipped("no_field"))
            self._notices.tell_once(
                "Items without text in the field %r (DEDUP_ITEM_FIELD) are not judged. One is a %s",
                self._settings.item_field,
                type(item).__name__,
            )
        elif size > limits.MAX_PAGE_BYTES:
            judgement = Judgement(self._detector.skipped("too_big"))
        else:
            again = bool(wishes and wishes.again)
            judging = self._judge_field(value, key, item, passage, again=again)
            judgement = await self._kept_on_failure(judging, key)
        judgement.key, judgement.size = key, size
        self._record(judgement)
        self._closing.verdict_is_given(judgement.verdict)
        return judgement

    async def _judge_field(
        self, value: str, key: str, item: Any, passage: Passage, *, again: bool
    ) -> Judgement:
        page = await self._pages.read_field(value)
        scope = self._scopes.of_text(item, key, page)
        if scope is None:
            return Judgement(self._detector.skipped("no_scope"), page)
        record = page.record.under(key, scope)
        verdict, claim = await self._reservations.of_text(record, key, again=again)
        if claim:
            passage.claim = claim
            self._summary.claim_begins(claim, key, page)
        return Judgement(verdict, page, record=record)

    async def _kept_on_failure(self, judging: Awaitable[Judgement], key: str) -> Judgement:
        """Return what *judging* gives; if it fails, a verdict that keeps the item.

        Dedup must never lose an item, or a page's other items, by its own fault.
        """
        try:
            return await judging
        except ReadError as error:
            self._tell_unread(error, key)
            return Judgement(self._detector.skipped("extraction_failed"))
        except Exception:
            self._notices.count_error("<%s>", key)
            return Judgement(self._detector.skipped("error"))

    def _tell_unread(self, error: ReadError, key: str) -> None:
        self._summary.count(f"unread/{error.cause}")
        logger.debug("Dedup cannot read <%s> (%s): %.500s", key, error.cause, error)
        self._notices.tell_once(f"A page cannot be read ({error.cause}): <%s>: %.500s", key, error)

    def _record(self, judgement: Judgement) -> None:
        """Have *judgement* counted; whatever fails with that, it stands."""
        page, record = judgement.page, judgement.record
        scope = ""  # where it was not compared
        if record is not None:
            scope, page = record.scope, page and replace(page, record=record)
        self._summary.record(
            judgement.verdict, judgement.key, judgement.size, page, scope,
            difference=judgement.difference,
        )  # fmt: skip


def _url_of(item: Any, response: Response | None) -> str:
    """Return what stands for *item* of *response*: its own URL, or that of the page."""
    url = get_field(item, "url")
    if isinstance(url, str) and url:
        return url
    return response.url if response else ""


def _text_of(item: Any, field: str) -> str | None:
    """Return the text in the *field* of *item*, ``None`` if there is none."""
    value = get_field(item, field)
    if isinstance(value, list | tuple) and all(isinstance(part, str) for part in value):
        return "\n".join(value)  # as item loaders leave it
    return value if isinstance(value, str) else None
