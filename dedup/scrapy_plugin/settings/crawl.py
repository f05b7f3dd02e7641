"""The settings of one crawl."""

import dataclasses
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from scrapy import Spider
from scrapy.settings import BaseSettings
from scrapy.utils.job import job_dir

from dedup.evidence import NORMAL
from dedup.extraction import Extractor
from dedup.logs import get_logger
from dedup.methods.base import Method
from dedup.preference import Preference
from dedup.record_field import MadeWith
from dedup.rule import Rule
from dedup.scopes import Scope
from dedup.scrapy_plugin.crawling import is_crawl
from dedup.scrapy_plugin.settings.paths import Placeholders, feed_files, find_shared
from dedup.scrapy_plugin.settings.plugins import (
    check_for_workers,
    criteria,
    extractor,
    read_method,
    scope,
)
from dedup.scrapy_plugin.settings.values import (
    Reader,
    Revisits,
    SettingError,
    StorePlace,
    choice,
    fields_of_items,
    file,
    folder,
    index,
    item_field,
    log_level,
    names_of_fields,
    revisits,
    switch,
    whole_number,
)
from dedup.suggestion import did_you_mean

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

logger = get_logger(__name__)

MARK_FIELD = "dedup"
"""The field of an item that is marked."""
LEDGER_OF_A_JOB = "dedup.sqlite"
"""The name of the ledger in a JOBDIR."""
_OUTSIDE_A_CRAWL = {
    "DEDUP_ENABLED": False,
    "DEDUP_WORKERS": 0,
    "DEDUP_INDEX": "",
    "DEDUP_REVISITS": "drop",
    "DEDUP_SKIP_URLS": False,
    "DEDUP_REPORT": "",
    "DEDUP_DUPLICATES": "",
    "JOBDIR": "",
}
"""There, no page is judged, no file is written, and DEDUP_FIELDS are filled."""
_IN_INDEX = "DEDUP_INDEX takes it, such as"
_FIXED = "its value is fixed now"
_IN_METHOD = 'DEDUP_METHOD takes it, such as {"name": "minhash", "bands": 20}'
_FORMER = {
    "DEDUP_PAGE_TIMEOUT": _FIXED,
    "DEDUP_WAIT_TIMEOUT": _FIXED,
    "DEDUP_REPORT_TEXTS": _FIXED,
    "DEDUP_MAX_PAGE_BYTES": f"{_FIXED}; Scrapy's DOWNLOAD_MAXSIZE is there for less",
    "DEDUP_SHORT_PAGES": "DEDUP_MIN_TOKENS = 0 keeps short pages",
    "DEDUP_METHOD_ARGS": _IN_METHOD,
    "DEDUP_SIMPLIFY_CHINESE": 'DEDUP_METHOD = {"name": ..., "simplify_chinese": True} does it',
    "DEDUP_SECRET": "the environment variable DEDUP_SECRET has it, which nobody is shown",
    "DEDUP_RESET": "the spider argument does it: -a dedup_reset=1",
    "DEDUP_FSYNC": _FIXED,
    "DEDUP_CHECKPOINT_INTERVAL": _FIXED,
    "DEDUP_INDEX_IN_USE": f'{_IN_INDEX} "sqlite:///pages.sqlite?share=1"; else a crawl stops',
    "DEDUP_COMMIT": f'{_IN_INDEX} "sqlite:///pages.sqlite?commit=passed"',
    "DEDUP_STORE_DOWN": f'{_IN_INDEX} "redis://host/0?store_down=stop"',
    "DEDUP_MAX_AGE": 'DEDUP_REVISITS = {"drop": "30d"} does it',
}
"""Settings that are gone, and what is there instead. In the next version, so is this."""


@dataclass(frozen=True)
class DedupSettings:
    """The settings of one crawl, checked. docs/settings.md says what each means.

    To add a setting, add a field here: `min_tokens` is read from DEDUP_MIN_TOKENS.
    """

    method: Method
    """Made of DEDUP_METHOD and DEDUP_MAX_DISTANCE, with DEDUP_SECRET of the environment."""
    extractor: Annotated[Extractor, extractor()]
    item_field: Annotated[str | None, item_field()]
    index: Annotated[StorePlace, index()]
    workers: Annotated[int, whole_number(1, at_least=0)]
    enabled: Annotated[bool, switch(True)]
    min_tokens: Annotated[int, whole_number(20, at_least=0)]
    evidence: Annotated[bool, switch(True)]
    scope: Annotated[Scope, scope()]
    action: Annotated[str, choice(("drop", "mark"))]
    follow_duplicates: Annotated[bool, switch(True)]
    fields: Annotated[Mapping[str, str], fields_of_items()]
    sketch_field: Annotated[str | None, item_field()]
    ignore_fields: Annotated[frozenset[str], names_of_fields()]
    log_level: Annotated[str, log_level("INFO")]
    report: Annotated[Path | None, folder()]
    revisits: Annotated[Revisits, revisits()]
    skip_urls: Annotated[bool, switch(False)]
    close_unchanged: Annotated[int, whole_number(0, at_least=0)]
    duplicates: Annotated[Path | None, file()]
    prefer: Annotated[Preference, criteria()]
    job: str | None
    """Scrapy's JOBDIR."""
    shown: Mapping[str, Any] = dataclasses.field(repr=False)
    """The values for the report, by the name of the setting."""

    @classmethod
    def from_crawler(cls, crawler: "Crawler") -> "DedupSettings":
        """Read the ``DEDUP_*`` settings of *crawler*; outside a crawl, dedup is switched off.

        Raises SettingError and warns as `from_settings`.
        """
        settings = crawler.settings
        if not is_crawl(crawler):
            settings = settings.copy()
            settings.frozen = False
            settings.setdict(_OUTSIDE_A_CRAWL, "cmdline")
        try:
            return cls.from_settings(settings, crawler.spider)
        except SettingError as error:
            # Scrapy logs a traceback of whatever stops a crawl; without the part in this package.
            raise error.with_traceback(None) from None

    @classmethod
    def from_settings(cls, settings: BaseSettings, spider: Spider | None = None) -> "DedupSettings":
        """Read the ``DEDUP_*`` settings; paths may name attributes of *spider*.

        Raises SettingError for a wrong value; warns about a setting that does not exist.
        """
        for name, instead in _FORMER.items():
            if settings.get(name) is not None:
                raise SettingError(f"There is no setting {name} any more: {instead}")
        placeholders = Placeholders(spider)
        reader = Reader(settings, placeholders)
        values: dict[str, Any] = {"method": read_method(reader), "job": job_dir(settings)}
        for field in dataclasses.fields(cls):
            for setting in getattr(field.type, "__metadata__", ()):
                values[field.name] = reader.read(f"DEDUP_{field.name.upper()}", setting)
        if values["job"] and values["index"].place is None:
            values["index"] = StorePlace(Path(values["job"], LEDGER_OF_A_JOB).absolute())
        result = cls(**values, shown=reader.shown)
        result._check(feed_files(settings, placeholders))
        _warn_of_unknown(settings, reader.shown)
        return result

    def _check(self, feeds: Iterable[Path]) -> None:
        """Raise SettingError if settings exclude each other."""
        if self.workers:
            check_for_workers("DEDUP_METHOD", self.method)
            check_for_workers("DEDUP_EXTRACTOR", self.extractor)
        if self.item_field and not self.follow_duplicates:
            raise SettingError(
                "DEDUP_FOLLOW_DUPLICATES=False needs a verdict on the page, DEDUP_ITEM_FIELD gives "
                "one on each item: set one of them only"
            )
        if self.scope.needs_item and not self.follow_duplicates:
            raise SettingError(
                "DEDUP_FOLLOW_DUPLICATES=False needs a verdict on the page, DEDUP_SCOPE = "
                f"{self.scope.name!r} gives one on each item: set one of them only"
            )
        if self.item_field and self.fields:
            raise SettingError(
                "DEDUP_FIELDS needs the text of the page, DEDUP_ITEM_FIELD uses the item's own: "
                "set one of them only"
            )
        if self.revisits.need_leaves and (self.index.is_shared or self.index.place is None):
            raise SettingError(
                f"DEDUP_REVISITS = {self.revisits.mode!r} needs a ledger that no other "
                "crawl shares: set DEDUP_INDEX to the path of a file"
            )
        self._check_names(feeds)

    def _check_names(self, feeds: Iterable[Path]) -> None:
        """Raise SettingError if two settings name one field or one file, or a setting a feed."""
        others: dict[str, list[str | None]] = {
            "DEDUP_ITEM_FIELD": [self.item_field],
            "DEDUP_FIELDS": [*self.fields.values()],
            'DEDUP_ACTION = "mark"': [MARK_FIELD] if self.action == "mark" else [],
        }
        for name, fields in others.items():
            if self.sketch_field and self.sketch_field in fields:
                raise SettingError(
                    f"DEDUP_SKETCH_FIELD and {name} both use the field {self.sketch_field!r}: give "
                    "each its own"
                )
        place = self.index.place
        paths = {
            "DEDUP_INDEX": place if isinstance(place, Path) else None,
            "DEDUP_DUPLICATES": self.duplicates,
            "DEDUP_REPORT": self.report,
        }
        if shared := find_shared(paths, feeds):
            raise SettingError(f"{shared[0]} and {shared[1]} are one file: give each its own")

    @classmethod
    @cache
    def defaults(cls) -> Mapping[str, Any]:
        """Return the values of a crawl that sets nothing, in the form of *shown*."""
        shown = cls.from_settings(BaseSettings()).shown
        return {name: value for name, value in shown.items() if name != "DEDUP_SECRET"}

    @property
    def fields_without_content(self) -> frozenset[str]:
        """The fields of items that say nothing of the content."""
        own = {self.sketch_field, MARK_FIELD if self.action == "mark" else None}
        return self.ignore_fields | {field for field in own if field}

    @property
    def rule(self) -> Rule:
        """The rule by which pages are judged."""
        return Rule(self.min_tokens, NORMAL if self.evidence else None)

    @property
    def identity(self) -> dict[str, Any]:
        """What stored sketches depend on: a ledger is for crawls with an equal one."""
        return {**self.method.identity, **self._identity_of_others}

    @property
    def made_with(self) -> MadeWith:
        """What the records in the fields of items depend on: as much as those in a ledger."""
        return MadeWith.of(self.method, self._identity_of_others)

    @property
    def _identity_of_others(self) -> dict[str, Any]:
        return {
            "extractor": self.shown["DEDUP_EXTRACTOR"],
            "item_field": self.item_field,
            "scope": self.scope.name,
        }


def _warn_of_unknown(settings: BaseSettings, known: Collection[str]) -> None:
    """Warn of settings that begin with ``DEDUP_`` and do not exist: probably typing errors."""
    for name in map(str, settings):
        if name.startswith("DEDUP_") and name not in known:
            logger.warning("There is no setting %s%s", name, did_you_mean(name, known))
