"""What is asked of DataFrames: method, rule and preference, checked before any work."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dedup.evidence import NORMAL
from dedup.extraction import Extractor
from dedup.methods import Method
from dedup.methods.keyed import KeyedHashing, with_keyed_hashing
from dedup.plugins import MethodChoice, load_extractor, load_preference, name_of
from dedup.preference import CRITERIA, canonical, first, newest
from dedup.record_field import MadeWith
from dedup.records import Fields
from dedup.rule import Rule
from dedup.scan.reader import RecordReader
from dedup.scopes import Scope
from dedup.spark.columns import Columns
from dedup.spark.reading import RowReader, Rows
from dedup.units import SECONDS_OF_A_DAY


def method_of(method: Any, secret: str | None) -> Method:
    """Return the method that *method* is or describes; raises ValueError if there is none."""
    with _naming("method"):
        chosen: Method = method if isinstance(method, Method) else MethodChoice.of(method).method()
    return with_keyed_hashing(chosen, KeyedHashing(secret)) if secret else chosen


@contextmanager
def _naming(argument: str) -> Iterator[None]:
    """Name *argument* in messages of errors."""
    try:
        yield
    except (TypeError, ValueError) as error:
        raise type(error)(f"{argument} {error}") from error


def reader_of(
    columns: Columns,
    method: Method,
    extractor: str | Extractor,
    scope: Any = None,
    keep: Any = "first",
    page_timeout: float = 30.0,
) -> RowReader:
    """Return the reader of rows; raises ValueError for settings that do not go together."""
    with _naming("scope"):
        where = None if scope is None else Scope.of(scope)
    with _naming("keep"):
        preference = load_preference(CRITERIA, keep)
    with _naming("extractor"):
        extract: Extractor = load_extractor(extractor)
    checks = (
        (not preference, f"keep must name a criterion, one of {', '.join(CRITERIA)}"),
        (first in preference.criteria[:-1], "keep: after first, nothing is left to decide"),
        (newest in preference.criteria and not columns.date, "keep newest needs date, a column"),
        (
            bool(columns.record) and where is not None and where.needs_language,
            "a scope of languages is for text and html: no record has one",
        ),
        (
            where is not None and where.needs_url and not (columns.key or columns.record),
            "a scope of URLs needs key, a column",
        ),
        (
            bool(columns.canonical) and canonical not in preference.criteria,
            "canonical is for keep canonical",
        ),
        (
            not 1 <= page_timeout <= SECONDS_OF_A_DAY,
            f"page_timeout must be from 1 to {SECONDS_OF_A_DAY} seconds, got {page_timeout}",
        ),
    )
    for is_wrong, problem in checks:
        if is_wrong:
            raise ValueError(problem)
    fields = Fields(
        columns.content,
        columns.html is not None,
        columns.own_key,
        columns.date,
        is_object=columns.record is not None,
        with_all=where is not None and where.needs_item,
        canonical=columns.canonical,
    )
    made_with = MadeWith.of(
        method,
        {
            "extractor": name_of(extractor, extract),
            "item_field": columns.text,
            "scope": "crawl" if where is None else where.name,
        },
    )
    rows = Rows(fields)
    reader = RecordReader(
        rows, method, extract, where, page_timeout=page_timeout, with_sequences=False
    )
    return RowReader(reader, preference, made_with)


def rule_of(min_tokens: int, *, evidence: bool) -> Rule:
    """Return the rule of an argument of `deduplicate`."""
    return Rule(min_tokens, NORMAL if evidence else None)
