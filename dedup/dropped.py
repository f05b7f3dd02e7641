"""The file of dropped items (DEDUP_DUPLICATES): crawls write its lines, commands read them."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Self

from dedup.records import Fields, RecordError
from dedup.records.lines import JsonLines, object_in
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
    def of_json(cls, values: Mapping[str, Any]) -> Self:
        """Return the item of a line that a crawl wrote; raises ValueError for anything else."""
        if not isinstance(values.get("item"), dict):
            raise ValueError("it has no dropped item")
        dropped = cls(*(values.get(name) for name in cls._fields))  # type: ignore[arg-type]
        texts = (dropped.url, dropped.method, dropped.dropped, dropped.original or "")
        is_number = isinstance(dropped.distance, int | float | None)
        if not (all(isinstance(text, str) for text in texts) and is_number):
            raise ValueError("it does not say why its item was dropped")
        if dropped.verdict not in DROPPED:
            raise ValueError(f"it has an unknown verdict, {dropped.verdict!r:.100}")
        return dropped


def read_dropped(path: Path) -> Iterator[DroppedItem | RecordError]:
    """Yield the items of the lines of a file, in order, or why a line has none. Raises OSError."""
    return JsonLines([path], Fields()).read_each(
        lambda raw: DroppedItem.of_json(object_in(raw.data))
    )
