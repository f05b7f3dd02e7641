"""The settings of a crawl, checked: the only reader of ``DEDUP_*``."""

import dataclasses
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Annotated, Any

from scrapy import Spider
from scrapy.settings import BaseSettings
from scrapy.utils.job import job_dir

from dedup.choices import did_you_mean, name_of
from dedup.evidence import NORMAL
from dedup.extraction import Extractor
from dedup.item_values import ALL_FIELDS
from dedup.logs import get_logger
from dedup.methods.base import Method
from dedup.methods.keyed import KeyedHashing, with_keyed_hashing
from dedup.plugins import MethodChoice, load_extractor, load_preference
from dedup.preference import URL_CRITERIA, Preference
from dedup.record_field import MadeWith
from dedup.rule import Rule
from dedup.scopes import Scope
from dedup.scrapy_plugin import setting_values as kinds
from dedup.scrapy_plugin.setting_values import Reader, Setting, SettingError, StorePlace

logger = get_logger(__name__)

MARK_FIELD = "dedup"
"""The field of an item that is marked."""
LEDGER_OF_A_JOB = "dedup.sqlite"
"""The name of the ledger in a JOBDIR."""


@dataclass(frozen=True)
class DedupSettings:
    """The settings of one crawl, checked. docs/settings.md says what each means.

    To add a setting, add a field here: `min_tokens` is read from DEDUP_MIN_TOKENS.
    """

    method: Method
    """Made of DEDUP_METHOD and DEDUP_MAX_DISTANCE, with DEDUP_SECRET of the environment."""
    extractor: Annotated[Extractor, Setting("trafilatura", load_extractor, name_of)]
    item_field: Annotated[str | None, kinds.ITEM_FIELD]
    index: Annotated[StorePlace, kinds.STORE_PLACE]
    workers: Annotated[int, kinds.whole_number(1)]
    enabled: Annotated[bool, kinds.switch(True)]
    min_tokens: Annotated[int, kinds.whole_number(20)]
    evidence: Annotated[bool, kinds.switch(True)]
    scope: Annotated[Scope, Setting("crawl", Scope.of, lambda _given, scope: scope.name)]
    action: Annotated[str, kinds.choice(("drop", "mark"))]
    follow_duplicates: Annotated[bool, kinds.switch(True)]
    fields: Annotated[Mapping[str, str], kinds.FILLED_FIELDS]
    sketch_field: Annotated[str | None, kinds.ITEM_FIELD]
    ignore_fields: Annotated[frozenset[str], kinds.FIELD_NAMES]
    log_level: Annotated[str, kinds.LOG_LEVEL]
    report: Annotated[Path | None, kinds.FOLDER]
    revisits: Annotated[kinds.Revisits, kinds.REVISITS]
    skip_urls: Annotated[bool, kinds.switch(False)]
    close_unchanged: Annotated[int, kinds.whole_number(0)]
    duplicates: Annotated[Path | None, kinds.FILE]
    prefer: Annotated[
        Preference,
        Setting((), partial(load_preference, URL_CRITERIA), lambda _given, made: made.names),
    ]
    job: str | None
    """Scrapy's JOBDIR."""
    shown: Mapping[str, Any] = dataclasses.field(repr=False)
    """The values for the report, by the name of the setting."""

    @classmethod
    def from_settings(cls, settings: BaseSettings, spider: Spider | None = None) -> "DedupSettings":
        """Read the ``DEDUP_*`` settings; paths may name attributes of *spider*.

        Raises SettingError for a wrong value; warns about a setting that does not exist.
        """
        if settings.get("DEDUP_SECRET") is not None:
            raise SettingError(
                "DEDUP_SECRET is no setting: the environment variable DEDUP_SECRET has it, which "
                "nobody is shown"
            )
        reader = Reader(settings, spider)
        values: dict[str, Any] = {"method": _read_method(reader), "job": job_dir(settings)}
        for field in dataclasses.fields(cls):
            for setting in getattr(field.type, "__metadata__", ()):
                values[field.name] = reader.read(f"DEDUP_{field.name.upper()}", setting)
        if values["item_field"] and settings.get("DEDUP_MIN_TOKENS") is None:
            # Nothing but the text tells such items from others of their template.
            values["min_tokens"] = reader.shown["DEDUP_MIN_TOKENS"] = NORMAL.titled_tokens
        if values["job"] and values["index"].place is None:
            values["index"] = StorePlace(Path(values["job"], LEDGER_OF_A_JOB).absolute())
        result = cls(**values, shown=reader.shown)
        result._check_together()
        result._check_files(settings)
        for name in map(str, settings):
            if name.startswith("DEDUP_") and name not in reader.shown:  # a typing error
                hint = did_you_mean(name, reader.shown)
                logger.warning("There is no setting %s%s", name, hint)
        return result

    def _check_together(self) -> None:
        """Raise SettingError if settings exclude each other."""
        if self.workers:
            kinds.check_for_workers("DEDUP_METHOD", self.method)
            kinds.check_for_workers("DEDUP_EXTRACTOR", self.extractor)
        of_page = "DEDUP_FOLLOW_DUPLICATES=False needs a verdict on the page"
        for is_wrong, problem in (
            (
                self.item_field and not self.follow_duplicates,
                f"{of_page}, DEDUP_ITEM_FIELD gives one on each item: set one of them only",
            ),
            (
                self.scope.needs_item and not self.follow_duplicates,
                f"{of_page}, DEDUP_SCOPE = {self.scope.name!r} gives one on each item: set one of "
                "them only",
            ),
            (
                self.item_field and self.fields,
                "DEDUP_FIELDS needs the text of the page, DEDUP_ITEM_FIELD uses the item's own: "
                "set one of them only",
            ),
            (
                self.revisits.need_leaves and (self.index.is_shared or self.index.place is None),
                f"DEDUP_REVISITS = {self.revisits.mode!r} needs a ledger that no other crawl "
                "shares: set DEDUP_INDEX to the path of a file",
            ),
            (
                self.sketch_field in {self.item_field, *self.fields.values(), self._mark_field}
                and self.sketch_field,
                "DEDUP_SKETCH_FIELD, and DEDUP_ITEM_FIELD, DEDUP_FIELDS or a mark, use the field "
                f"{self.sketch_field!r}: give each its own",
            ),
        ):
            if is_wrong:
                raise SettingError(problem)

    def _check_files(self, settings: BaseSettings) -> None:
        """Raise SettingError if two settings, or one and a feed, are one file, also by links."""
        uris = settings.getdict("FEEDS")
        feeds = {os.path.realpath(str(uri).removeprefix("file://")) for uri in uris}
        places = (self.index.place, self.duplicates, self.report)
        ours = [os.path.realpath(place) for place in places if isinstance(place, Path)]
        for path in ours:
            if path in feeds or ours.count(path) > 1:
                raise SettingError(
                    f"{path} is used twice: give DEDUP_INDEX, DEDUP_DUPLICATES, DEDUP_REPORT and "
                    "each feed a file of its own"
                )

    @property
    def _mark_field(self) -> str | None:
        return MARK_FIELD if self.action == "mark" else None

    @cached_property
    def fields_without_content(self) -> frozenset[str]:
        """The fields of items that say nothing of the content."""
        return self.ignore_fields | {*filter(None, (self.sketch_field, self._mark_field))}

    @property
    def text_field(self) -> str | None:
        """The field that has the main text, or gets it, unless it says nothing."""
        field = self.item_field or self.fields.get("text")
        is_ignored = not self.ignore_fields.isdisjoint((field, ALL_FIELDS))
        return None if is_ignored else field

    @property
    def rule(self) -> Rule:
        return Rule(self.min_tokens, NORMAL if self.evidence else None)

    @property
    def identity(self) -> dict[str, Any]:
        """What stored sketches depend on: a ledger is for crawls with an equal one."""
        return {**self.method.identity, **self._identity_of_texts}

    @cached_property
    def made_with(self) -> MadeWith:
        """What the records in the fields of items depend on: as much as those in a ledger."""
        return MadeWith.of(self.method, self._identity_of_texts)

    @property
    def _identity_of_texts(self) -> dict[str, Any]:
        return {
            "extractor": self.shown["DEDUP_EXTRACTOR"],
            "item_field": self.item_field,
            "scope": self.scope.name,
        }


def _read_method(reader: Reader) -> Method:
    """Return the method that DEDUP_METHOD and DEDUP_MAX_DISTANCE describe, with the secret."""
    setting = Setting("simhash", MethodChoice.of, lambda _given, choice: choice.shown())
    choice: MethodChoice = reader.read("DEDUP_METHOD", setting)
    distance = reader.read("DEDUP_MAX_DISTANCE", Setting(None, kinds.parse_distance))
    names = "DEDUP_METHOD"
    if distance is not None:
        names = "DEDUP_METHOD, DEDUP_MAX_DISTANCE"
        if choice.arguments.setdefault("max_distance", distance) != distance:
            raise SettingError(
                f"DEDUP_MAX_DISTANCE is {distance}, and in DEDUP_METHOD it is "
                f"{choice.arguments['max_distance']!r}: set one of them only"
            )
    try:
        method = choice.method()
    except ValueError as error:
        raise SettingError(f"{names}: {error}") from error
    reader.shown["DEDUP_MAX_DISTANCE"] = method.parameters.get("max_distance")
    secret = os.environ.get("DEDUP_SECRET")
    if not secret:
        return method
    reader.shown["DEDUP_SECRET"] = "set"  # never its value
    try:
        return with_keyed_hashing(method, KeyedHashing(secret))
    except ValueError as error:
        raise SettingError(f"DEDUP_SECRET: {error}") from error
