"""Dropped items, in a file."""

import json
import os
from pathlib import Path
from time import time
from typing import Any

from scrapy.utils.serialize import ScrapyJSONEncoder

from dedup.dropped import DroppedItem
from dedup.limits import shorten_url
from dedup.rule import Verdict
from dedup.units import iso_time

_ENCODER = ScrapyJSONEncoder()


class DroppedFile:
    """Appends dropped items to a JSONL file, with their verdict, so that none is lost for good.

    Several crawls may append to one file, also at once: the system appends a line as a whole. One
    that a kill or a full disk tore is ended, so that the next item is not appended to half of one.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def add(
        self, item: Any, url: str, verdict: Verdict, record: dict[str, Any] | None = None
    ) -> None:
        """Write *item* of the page at *url*; raises OSError if there is no room for all of it.

        *record*: that of the page, as `to_field` writes it.
        """
        dropped = DroppedItem(
            shorten_url(url),
            verdict.kind.value,
            verdict.original,
            verdict.distance,
            verdict.method,
            iso_time(time()),
            item,
            record,
        )
        line = json.dumps(dropped._asdict(), default=_as_json)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        # Opened each time: whoever moves the file away finds all of it there, and nothing is
        # written to what nobody will see again.
        with self._path.open("a+b", buffering=0) as file:
            end = file.seek(0, os.SEEK_END)
            file.seek(max(0, end - 1))
            begin = b"" if file.read(1) in (b"", b"\n") else b"\n"
            rest = memoryview(b"%b%b\n" % (begin, line.encode()))
            while rest:
                rest = rest[file.write(rest) :]  # less of it than asked, on a full disk


def _as_json(value: Any) -> Any:
    """Return what is written of what JSON has no form for: the form of Scrapy, else its text."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    try:
        return _ENCODER.default(value)
    except TypeError:
        return str(value)
