"""Responses and items -> verdicts, whatever happens."""

from collections.abc import Awaitable
from dataclasses import replace
from typing import Any

from scrapy.http import Response

from dedup.detector import Detector
from dedup.logs import get_logger
from dedup.record import PageRecord, digest_with
from dedup.report.summary import Summary
from dedup.rule import Kind
from dedup.scopes import scope_within
from dedup.scrapy_plugin.bodies import reason_not_to_read
from dedup.scrapy_plugin.closing import Closing
from dedup.scrapy_plugin.item_scopes import ItemScopes
from dedup.scrapy_plugin.items import get_field
from dedup.scrapy_plugin.leaves import UnclearBaggageError
from dedup.scrapy_plugin.notices import Notices
from dedup.scrapy_plugin.provenance import Provenance
from dedup.scrapy_plugin.reservations import Reservations
from dedup.scrapy_plugin.response_pages import ResponsePages
from dedup.scrapy_plugin.settings.crawl import DedupSettings
from dedup.scrapy_plugin.visits import Judgement, Passage, Visit, Visits
from dedup.scrapy_plugin.wishes import Wishes, wishes_of
from dedup.text import to_utf8
from dedup.workers.base import ReadError

logger = get_logger(__name__)


class Judge:
    """Gives each page one verdict, or each item where items are judged by themselves.

    A page has several where its items are made of different other pages, too, or have different
    scopes. What fails in dedup itself is a verdict that keeps the item.
    """

    def __init__(
        self,
        settings: DedupSettings,
        pages: ResponsePages,
        detector: Detector,
        provenance: Provenance,
        reservations: Reservations,
        summary: Summary,
        visits: Visits,
        notices: Notices,
        closing: Closing,
    ) -> None:
        self._settings = settings
        self._pages = pages
        self._detector = detector
        self._provenance = provenance
        self._reservations = reservations
        self._summary = summary
        self._visits = visits
        self._notices = notices
        self._closing = closing
        self._scopes = ItemScopes(settings.scope, settings.max_page_bytes, pages, notices)

    async def of_page(self, item: Any, response: Response) -> Judgement:
        """Return the judgement of the page that *item* comes from, and of what else it is made of.

        The same one for all items of *response* that are made of the same and have the same scope.
        """
        visit = self._visits.of(response)
        key = response.url
        try:
            wishes = wishes_of(response, self._notices)
            key = wishes.key or key
            is_judged = self._settings.enabled and wishes.is_on
            parts = await self._provenance.of(item, visit, response, key) if is_judged else b""
            scope = await self._scopes.of_page(item, response) if is_judged else ""
        except UnclearBaggageError:
            return self._skipped("unclear_baggage", visit, response, key)
        except ReadError as error:
            if "extraction_failed" not in visit.skipped:
                self._tell_unread(error, key)
            return self._skipped("extraction_failed", visit, response, key)
        except Exception:
            self._notices.count_error("what an item of <%s> is compared with", key)
            return self._skipped("error", visit, response, key)
        judgement = visit.judgements.get((scope, parts))
        if judgement is None:
            is_first = not visit.is_judged
            judging = self._judge_page(visit, response, wishes, scope, parts)
            judgement = await self._kept_on_failure(judging, key)
            visit.judgements[scope, parts] = judgement
            judgement.key = key
            if is_first:  # a page counts once, whatever its other items are made of
                self._record(judgement, len(response.body))
            if is_first or judgement.verdict.kind is not Kind.UNCHANGED:
                self._closing.verdict_is_given(judgement.verdict)
        return judgement

    def _skipped(self, reason: str, visit: Visit, response: Response, key: str) -> Judgement:
        """Return the judgement of those items of *response* that are kept for *reason*."""
        judgement = visit.skipped.get(reason)
        if judgement is None:
            judgement = Judgement(self._detector.skipped(reason), key=key)
            if not visit.is_judged:
                self._record(judgement, len(response.body))
            visit.skipped[reason] = judgement
        return judgement

    async def _judge_page(
        self, visit: Visit, response: Response, wishes: Wishes, scope: str | None, parts: bytes
    ) -> Judgement:
        is_judged = self._settings.enabled and wishes.is_on
        if not is_judged and not self._settings.fields:
            return Judgement(self._detector.skipped("switched_off"))
        if reason := reason_not_to_read(response, self._settings.max_page_bytes):
            return Judgement(self._detector.skipped(reason))
        page = await self._pages.read(response)
        if not is_judged:
            return Judgement(self._detector.skipped("switched_off"), page)
        if scope is None:
            return Judgement(self._detector.skipped("no_scope"), page)
        record = _with_parts(page.record.under(wishes.key or response.url, scope), parts)
        verdict, claim = await self._reservations.of_page(record, visit, response, wishes)
        if claim:
            visit.claims.append(claim)
            self._visits.hold(claim, visit)
            self._summary.claim_begins(claim, record.key, page)
        return Judgement(verdict, page, record=record, claim=claim)

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
        elif size > self._settings.max_page_bytes:
            judgement = Judgement(self._detector.skipped("too_big"))
        else:
            again = bool(wishes and wishes.again)
            judging = self._judge_field(value, key, item, passage, again=again)
            judgement = await self._kept_on_failure(judging, key)
        judgement.key = key
        self._record(judgement, size)
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
            if passage.visit:  # should nobody tell what becomes of the item
                passage.visit.claims.append(claim)
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

    def _record(self, judgement: Judgement, size: int) -> None:
        """Have *judgement* counted; whatever fails with that, it stands."""
        page, record = judgement.page, judgement.record
        scope = ""  # where it was not compared
        if record is not None:
            scope, page = record.scope, page and replace(page, record=record)
        self._summary.record(judgement.verdict, judgement.key, size, page, scope)


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


def _with_parts(record: PageRecord, parts: bytes) -> PageRecord:
    """Return what is compared of an item that is made of *parts* besides the page of *record*.

    Only items with the same parts are compared, and their digest is of both.
    """
    if not parts or record.digest is None:
        return record
    digest = digest_with(record.digest, parts)
    return record._replace(digest=digest, scope=scope_within(record.scope, parts))
