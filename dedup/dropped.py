"""The file of dropped items (DEDUP_DUPLICATES): crawls write its lines, commands read them."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Self

from dedup.records import Fields
from dedup.records.lines import JsonLines
from dedup.rule import Kind

DROPPED = (Kind.EXACT, Kind.NEAR, Kind.REPEATED)
"""The verdicts with which an item is dropped and put aside."""


class DroppedItem(NamedTuple):
    """An item that a crawl dropped, as a line of the file has it: its fields are those of the line.

    *url* is that of its page, *verdict* a value of `Kind`, *original* the page it repeats,
    *dropped* the time, in ISO 8601. *record* is that of the page, as `to_field` writes it; ``None``
    where there is none.
    """

    url: str
    verdict: str
    original: str | None
    distance: float | None
    method: str
    dropped: str
    item: Any
    record: dict[str, Any] | None = None

    @classmethod
    def of_json(cls, values: Any) -> Self:
        """Return the item of a line that a crawl wrote; raises ValueError for anything else."""
        if not (isinstance(values, Mapping) and isinstance(values.get("item"), dict)):
            raise ValueError("it has no dropped item")
        dropped = cls(*(values.get(name) for name in cls._fields))  # type: ignore[arg-type]
        texts = (dropped.url, dropped.method, dropped.dropped, dropped.original or "")
        is_number = isinstance(dropped.distance, int | float | None)
        if not (all(isinstance(text, str) for text in texts) and is_number):
            raise ValueError("it does not say why its item was dropped")
        if dropped.verdict not in DROPPED:
            raise ValueError(f"it has an unknown verdict, {dropped.verdict!r:.100}")
        return dropped


def read_dropped(path: Path) -> Iterator[DroppedItem | ValueError]:
    """Yield the items of the lines of a file, in order, or why a line has none. Raises OSError."""
    for raw in JsonLines([path], Fields()).raw_records():
        where = f"{raw.source}, item {raw.number}"
        try:
            if raw.error is not None:
                raise ValueError(raw.error)
            yield DroppedItem.of_json(json.loads(raw.data))
        except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
            yield ValueError(f"{where}: not JSON, as of a line that was torn ({error})")
        except ValueError as error:
            yield ValueError(f"{where}: {error}")
