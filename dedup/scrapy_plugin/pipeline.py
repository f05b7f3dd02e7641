"""The item pipeline: drops or marks the items of duplicates, and fills their fields."""

from typing import TYPE_CHECKING, Any

from scrapy.http import HtmlResponse

from dedup.detector import Kind, Verdict
from dedup.scrapy_plugin.exceptions import (
    DuplicatePage,
    ExactDuplicate,
    NearDuplicate,
    RepeatedPage,
    UnchangedPage,
)
from dedup.scrapy_plugin.extension import Extension
from dedup.scrapy_plugin.items import get_field, set_field
from dedup.scrapy_plugin.logs import logger_named
from dedup.scrapy_plugin.visits import Judgement, Passage
from dedup.workers import ReadError

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

logger = logger_named(__name__)

MARK_FIELD = "dedup"
_REASONS = {
    Kind.EXACT: ExactDuplicate,
    Kind.NEAR: NearDuplicate,
    Kind.REPEATED: RepeatedPage,
    Kind.UNCHANGED: UnchangedPage,
}


class ItemPipeline:
    """Carries out the verdict on the page an item comes from.

    Should be the first pipeline: one before it would work for items that are dropped, and if it
    returned another object, the item would not be recognised.
    """

    def __init__(self, extension: Extension) -> None:
        self._extension = extension
        self._settings = extension.settings
        self._summary = extension.summary
        self._notices = extension.notices

    @classmethod
    def from_crawler(cls, crawler: "Crawler") -> "ItemPipeline":
        return cls(Extension.of(crawler, cls.__name__))

    async def open_spider(self) -> None:
        await self._extension.wait_for_ledger()

    async def process_item(self, item: Any) -> Any:
        try:
            await self._carry_out(item)
        except DuplicatePage:
            raise
        except Exception:
            self._notices.count_error("an item of %s", type(item).__name__)
        return item

    async def _carry_out(self, item: Any) -> None:
        """Drop or mark *item* as the verdict says, and fill its fields.

        Raises a DuplicatePage to drop it.
        """
        passage = self._extension.visits.item_arrives(item)
        judgement = passage.judgement
        if self._settings.item_field:
            judgement = await self._extension.judge.of_item(item, passage)
        if judgement is None:
            if not self._settings.enabled:
                return
            self._summary.count("items/unknown")
            self._notices.tell_once(
                "Items of unknown pages are not judged, such as those from start(), from errbacks, "
                "or replaced by an earlier pipeline; DEDUP_ITEM_FIELD judges any item. One is a %s",
                type(item).__name__,
            )
            return
        verdict = judgement.verdict
        if reason := self._reason_to_drop(verdict):
            if self._extension.quarantine and verdict.kind is not Kind.UNCHANGED:
                await self._fill(item, passage, judgement)
                self._extension.quarantine.add(item, judgement.key, verdict)
            self._summary.count("items/dropped")
            raise reason(verdict, self._settings.log_level)
        await self._fill(item, passage, judgement)
        if self._settings.action == "mark" and verdict.kind is not Kind.SKIPPED:
            self._mark(item, verdict)

    def _reason_to_drop(self, verdict: Verdict) -> type[DuplicatePage] | None:
        if self._settings.action != "drop":
            return None
        if verdict.kind is Kind.UNCHANGED and self._settings.revisits == "keep":
            return None
        return _REASONS.get(verdict.kind)

    async def _fill(self, item: Any, passage: Passage, judgement: Judgement) -> None:
        """Set the fields of *item* that DEDUP_FIELDS names and the spider left empty."""
        if not self._settings.fields:
            return
        response = passage.visit.response if passage.visit else None
        page = judgement.page
        if page and page.text is None and isinstance(response, HtmlResponse):
            try:
                page = judgement.page = await self._extension.judge.read_again(response)
            except ReadError as error:
                logger.debug("Dedup cannot read <%s> again: %.500s", response.url, error)
                page = judgement.page = None
            self._summary.count("bodies_read_again")
        if page is None:
            return
        for key, field in self._settings.fields.items():
            present = get_field(item, field)
            if not (present is None or (isinstance(present, str) and not present)):
                continue
            if not set_field(item, field, getattr(page, key)):
                self._notices.tell_once("Items cannot hold the field %r of DEDUP_FIELDS", field)

    def _mark(self, item: Any, verdict: Verdict) -> None:
        mark = {
            "verdict": verdict.kind.value,
            "original": verdict.original,
            "distance": verdict.distance,
            "method": verdict.method,
        }
        if set_field(item, MARK_FIELD, mark):
            self._summary.count("items/marked")
        else:
            self._summary.count("items/unmarked")
            self._notices.tell_once(
                "Items of %s cannot be marked: they have no field %r, or are frozen",
                type(item).__name__,
                MARK_FIELD,
            )
