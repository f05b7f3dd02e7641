"""The word diffs of the HTML report, in bounded space and time."""

import json
from time import monotonic
from typing import Any

from dedup.diff import word_diff
from dedup.limits import shorten
from dedup.report.texts import TextStore
from dedup.text import printable

_BYTES = 900_000
_SECONDS = 4.0
_PARTS_OF_A_DIFF = 300
_LONGEST_PART = 1_000
_LONGEST_TEXT = 3_000
_SAME = "≡"
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
        if self._is_full:
            return None
        before, after = self._texts.get(url), self._texts.get(other)
        if before is None or after is None:
            return None
        parts: list[str] = []
        for kind, words in word_diff(before, after, keeps_lines=True):
            if len(parts) == _PARTS_OF_A_DIFF:
                parts.append("…")
                break
            parts.append(_SIGNS[kind] + shorten(words, _LONGEST_PART))
        return self._number(parts)

    def add_text(self, url: str) -> int | None:
        """Return the number of the beginning of the text of a page, which has an exact copy."""
        text = None if self._is_full else self._texts.get(url)
        if text is None:
            return None
        lines = (printable(line, None) for line in shorten(text, _LONGEST_TEXT).split("\n"))
        return self._number([_SAME + "\n".join(lines)])

    @property
    def _is_full(self) -> bool:
        return self._bytes > _BYTES or monotonic() > self._deadline

    def _number(self, parts: list[str]) -> int:
        self._bytes += size_in_html(parts)
        self.parts.append(parts)
        return len(self.parts) - 1


def size_in_html(value: Any) -> int:
    """Return the bytes of *value* as JSON in HTML, where some characters are escaped."""
    text = json.dumps(value, ensure_ascii=False)
    return len(text.encode("utf-8", "replace")) + 5 * sum(map(text.count, "<>&'"))
