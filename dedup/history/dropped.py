"""What a file of dropped items says of a page."""

from datetime import datetime
from itertools import islice

from dedup.dropped import DroppedItem
from dedup.history.event import (
    MOST_LISTED,
    Event,
    History,
    event_of_copies,
    format_time,
    noun_of,
    was,
)
from dedup.rule import Kind
from dedup.units import count_of


class DroppedHistory:
    """What the items of a file of dropped ones say of one page; they are told one by one."""

    def __init__(self, source: str, url: str) -> None:
        self._source = source
        self._url = url
        self._drops: dict[tuple[str, str | None], list[DroppedItem]] = {}
        self._copies: list[tuple[str, str, float | None]] = []
        self._count = 0

    def add(self, dropped: DroppedItem) -> None:
        """Take note of an item."""
        if dropped.url == self._url:
            key = dropped.verdict, dropped.original
            self._drops.setdefault(key, []).append(dropped._replace(item=None))
        elif dropped.original == self._url:
            self._count += 1
            if len(self._copies) < MOST_LISTED:
                self._copies.append((dropped.url, dropped.verdict, dropped.distance))

    def result(self) -> History:
        """Return what they said."""
        history = History(self._source)
        for (verdict, original), items in islice(self._drops.items(), MOST_LISTED):
            last = items[-1]
            is_repeated = verdict == Kind.REPEATED
            of = "" if is_repeated else f" of <{original}>"
            words = (
                f"{count_of(len(items), 'item').capitalize()} of it {was(len(items))} dropped, "
                f"last on {_format_iso(last.dropped)}, as {noun_of(verdict, last.distance)}{of} "
                f"({last.method}). "
                f"dedup restore has {'it' if len(items) == 1 else 'them'} back."
            )
            facts = {
                "verdict": verdict, "original": original, "distance": last.distance,
                "method": last.method, "dropped": last.dropped, "items": len(items),
            }  # fmt: skip
            history.events.append(Event("dropped", words, facts))
        if self._count:
            history.events.append(event_of_copies(self._count, "item", self._copies))
        return history


def _format_iso(iso: str) -> str:
    try:
        return format_time(datetime.fromisoformat(iso).timestamp()) or iso
    except (ValueError, OverflowError, OSError):
        return iso
