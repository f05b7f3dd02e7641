"""The item pipeline: drops or marks the items of duplicates, and fills their fields."""

import logging
from typing import TYPE_CHECKING, Any

from scrapy.exceptions import DropItem

from dedup.detector import UNCHECKED
from dedup.limits import shorten_url
from dedup.logs import get_logger
from dedup.record_field import to_field
from dedup.rule import Kind, Verdict
from dedup.scrapy_plugin.canonicals import canonical_url
from dedup.scrapy_plugin.items import get_field, set_field
from dedup.scrapy_plugin.plugin import Extension
from dedup.scrapy_plugin.response_state import ItemState, Judgement, ResponseState
from dedup.scrapy_plugin.settings import MARK_FIELD, DedupSettings
from dedup.text import printable
from dedup.workers import ReadError

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

logger = get_logger(__name__)

_MOST_NAMED = 20
"""So many drops are named in the log, unless it is for those who look for a fault (DEBUG)."""


class DuplicatePage(DropItem):
    """The item's page, known as *key*, repeats one that was kept; *verdict* says which."""

    def __init__(self, verdict: Verdict, key: str) -> None:
        # That of a duplicate names the other page.
        message = f"{verdict}" if verdict.is_duplicate else f"{verdict}: <{printable(key)}>"
        super().__init__(message, log_level="DEBUG")  # Scrapy logs the whole item with it
        self.verdict = verdict
        self.key = key


class ExactDuplicate(DuplicatePage):
    """The item's main text is equal to that of a kept page."""


class NearDuplicate(DuplicatePage):
    """The item's main text is nearly that of a kept page."""


class RepeatedPage(DuplicatePage):
    """The item's page was met before in this crawl, under the same URL."""


class UnchangedPage(DuplicatePage):
    """The item's page was stored by an earlier crawl, with the same main text."""


_REASONS = {
    Kind.EXACT: ExactDuplicate,
    Kind.NEAR: NearDuplicate,
    Kind.REPEATED: RepeatedPage,
    Kind.UNCHANGED: UnchangedPage,
}


class ItemPipeline:
    """Acts on the verdict about the page that an item comes from.

    It should be the first pipeline: an earlier one would work on items that are dropped, and if it
    returned another object, this one would not recognise the item.
    """

    def __init__(self, plugin: Extension) -> None:
        self._plugin = plugin
        self._level = logging.getLevelNamesMapping()[plugin.settings.log_level]
        self._named = 0

    @classmethod
    def from_crawler(cls, crawler: "Crawler") -> "ItemPipeline":
        return cls(Extension.of(crawler, cls.__name__))

    async def open_spider(self) -> None:
        await self._plugin.read_store()

    def close_spider(self) -> None:
        if self._named > _MOST_NAMED:
            logger.log(
                self._level,
                "Dropped %d more: a report names them, and the log does if LOG_LEVEL and "
                'DEDUP_LOG_LEVEL are "DEBUG"',
                self._named - _MOST_NAMED,
            )

    async def process_item(self, item: Any) -> Any:
        try:
            await self._act(self._plugin, item)
        except DuplicatePage:
            raise
        except Exception:
            self._plugin.notices.count_error("an item of %s", type(item).__name__)
        return item

    async def _act(self, plugin: Extension, item: Any) -> None:
        """Drop *item*, by raising a DuplicatePage, or fill its fields and mark it."""
        settings = plugin.settings
        item_state = plugin.states.item_arrives(item)
        judgement = item_state.judgement
        if settings.item_field:
            judgement = await plugin.judge.of_item(item, item_state)
        if judgement is None:
            if not settings.enabled:
                return
            plugin.summary.count("items/unknown")
            plugin.notices.tell_once(
                "An item of an unknown page, a %s, is not judged: it comes from start() or an "
                "errback, or an earlier pipeline replaced it. DEDUP_ITEM_FIELD judges any item",
                type(item).__name__,
            )
            return
        verdict = judgement.verdict
        if reason := _reason_to_drop(judgement, settings):
            if plugin.dropped_file and verdict.kind is not Kind.UNCHANGED:
                await _fill(item, item_state, judgement, plugin)
                record = judgement.record and to_field(judgement.record, settings.made_with)
                plugin.dropped_file.add(item, judgement.key, verdict, record)
            plugin.summary.count("items/dropped")
            self._log_drop(judgement, settings, item_state.state)
            raise reason(verdict, judgement.key)
        if settings.sketch_field or settings.fields:
            await _fill(item, item_state, judgement, plugin)
        is_compared = verdict.kind is not Kind.SKIPPED
        if settings.action == "mark" and (is_compared or verdict.reason == UNCHECKED):
            _mark(item, verdict, plugin)

    def _log_drop(
        self, judgement: Judgement, settings: DedupSettings, state: ResponseState | None
    ) -> None:
        """Log why items of a page are dropped, once, or an item that is judged by itself."""
        told = set() if state is None or settings.item_field else state.told_originals
        if judgement.verdict.original in told:
            return
        told.add(judgement.verdict.original)
        level = self._level
        # What is stored already is no loss, and most of what a later crawl meets.
        if judgement.verdict.kind is Kind.UNCHANGED:
            level = min(level, logging.DEBUG)
        elif level > logging.DEBUG:
            self._named += 1
            level = level if self._named <= _MOST_NAMED else logging.DEBUG
        logger.log(level, "Dropped <%s>: %s", judgement.key, judgement.verdict)


def _reason_to_drop(judgement: Judgement, settings: DedupSettings) -> type[DuplicatePage] | None:
    if settings.action != "drop":
        return None
    verdict = judgement.verdict
    # What is stored under another URL is kept when it is met there.
    is_met_there = verdict.original == shorten_url(judgement.key)
    if verdict.kind is Kind.UNCHANGED and settings.revisits.are_kept and is_met_there:
        return None
    return _REASONS.get(verdict.kind)


async def _fill(item: Any, item_state: ItemState, judgement: Judgement, plugin: Extension) -> None:
    if field := plugin.settings.sketch_field:
        _fill_record(item, field, judgement, plugin)
    if plugin.settings.fields:
        await _fill_texts(item, item_state, judgement, plugin)


def _fill_record(item: Any, field: str, judgement: Judgement, plugin: Extension) -> None:
    made_with = plugin.settings.made_with
    record = to_field(judgement.record, made_with) if judgement.record else None
    there = get_field(item, field)
    if isinstance(there, dict) and there.get("made_with") == made_with._asdict():
        set_field(item, field, record)  # the object was yielded before, with another page
    elif record:
        _set_if_empty(item, field, record, "DEDUP_SKETCH_FIELD", plugin)


async def _fill_texts(
    item: Any, item_state: ItemState, judgement: Judgement, plugin: Extension
) -> None:
    state = item_state.state
    response = state.response if state else None
    page = judgement.page
    if page and page.text is None and state and response is not None:
        try:
            page = judgement.page = await plugin.pages.read_with_text(response, state)
        except ReadError as error:
            logger.debug("Dedup cannot read <%s> again: %.500s", response.url, error)
            page = judgement.page = None
    if page is None:
        return
    for key, field in plugin.settings.fields.items():
        value = getattr(page, key)
        if key == "canonical":
            value = response and canonical_url(response, page)
        _set_if_empty(item, field, value, "DEDUP_FIELDS", plugin)


def _set_if_empty(item: Any, field: str, value: Any, setting: str, plugin: Extension) -> None:
    there = get_field(item, field)
    is_empty = there is None or (isinstance(there, str) and not there)
    if is_empty and not set_field(item, field, value):
        plugin.notices.tell_once(
            f"Items of the class %s have no field %r ({setting}), or are frozen",
            type(item).__name__,
            field,
        )


def _mark(item: Any, verdict: Verdict, plugin: Extension) -> None:
    mark = {
        "verdict": verdict.reason or verdict.kind.value,
        "original": verdict.original,
        "distance": verdict.distance,
        "method": verdict.method,
        "objection": verdict.objection and verdict.objection.value,
        "preferred": verdict.preferred,
    }
    if set_field(item, MARK_FIELD, mark):
        plugin.summary.count("items/marked")
    else:
        plugin.summary.count("items/unmarked")
        plugin.notices.tell_once(
            "Items of the class %s cannot be marked: they have no field %r, or are frozen",
            type(item).__name__,
            MARK_FIELD,
        )
