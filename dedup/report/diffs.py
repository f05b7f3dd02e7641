"""The word diffs of the HTML report, in bounded space and time."""

import json
from time import monotonic
from typing import Any

from dedup.diff import word_diff
from dedup.limits import shorten
from dedup.report.texts import TextStore

_BYTES = 900_000
_SECONDS = 4.0
_PARTS_OF_A_DIFF = 300
_LONGEST_PART = 1_000
_SIGNS = {"equal": "=", "removed": "-", "added": "+"}


class Diffs:
    """Numbers the diffs that the report shows; `parts` has those of each, which begin with a sign.

    When there are too many, or they take too long, no more are shown.
    """

    def __init__(self, texts: TextStore) -> None:
        self._texts = texts
        self._bytes = 0
        self._deadline = monotonic() + _SECONDS
        self.parts: list[list[str]] = []

    def add(self, url: str, other: str) -> int | None:
        """Return the number of the diff of two pages, ``None`` if it is not shown."""
        if self._bytes > _BYTES or monotonic() > self._deadline:
            return None
        before, after = self._texts.get(url), self._texts.get(other)
        if before is None or after is None:
            return None
        parts: list[str] = []
        for kind, words in word_diff(before, after):
            if len(parts) == _PARTS_OF_A_DIFF:
                parts.append("…")
                break
            parts.append(_SIGNS[kind] + shorten(words, _LONGEST_PART))
        self._bytes += size_in_html(parts)
        self.parts.append(parts)
        return len(self.parts) - 1


def size_in_html(value: Any) -> int:
    """Return the bytes of *value* as JSON in HTML, where some characters are escaped."""
    text = json.dumps(value, ensure_ascii=False)
    return len(text.encode("utf-8", "replace")) + 5 * sum(map(text.count, "<>&'"))
