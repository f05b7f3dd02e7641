"""Times at which pages were fetched, which say nothing of what stands on them."""

import re
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

MINUTES = 3 * 60.0
_LONGEST_TIME = 40
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d")


@dataclass(frozen=True, slots=True)
class FetchTimes:
    """Spans of Unix time: a few minutes around each of several moments."""

    spans: tuple[tuple[float, float], ...] = ()

    @classmethod
    def about(cls, *moments: float, noted: Any = ()) -> "FetchTimes":
        """Return those around *moments*, and to the second where they are *noted* in meta."""
        spans = [(moment - MINUTES, moment + MINUTES) for moment in moments]
        if isinstance(noted, list):  # else somebody else has the key
            spans += [(at - 1, at + 1) for at in noted if isinstance(at, float)]
        return cls(tuple(spans))

    def among(self, value: Any) -> list[float]:
        """Return the Unix times that *value* may stand for, if it is one of a page's fetching."""
        return [at for at in _unix_times(value) if any(a <= at <= b for a, b in self.spans)]

    def and_now(self) -> "FetchTimes":
        """Return these, and the present ones."""
        return FetchTimes((*self.spans, *FetchTimes.about(time.time()).spans))


def _unix_times(value: Any) -> Iterable[float]:
    if isinstance(value, str):
        if len(value) > _LONGEST_TIME or not _TIME.match(value):
            return ()
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            return ()
    if isinstance(value, datetime):
        return _of_datetime(value)
    if isinstance(value, int | float) and 1e9 <= value < 1e13:
        return (value, value / 1000)
    return ()


def _of_datetime(value: datetime) -> Iterator[float]:
    # Of a naive one nobody knows whether it is local or UTC.
    for zoned in {value.replace(tzinfo=UTC), value} if value.tzinfo is None else {value}:
        try:
            yield zoned.timestamp()
        except (OverflowError, OSError, ValueError):  # such as the year 1
            continue
