"""The groups of the HTML report, in the form that its script reads, in bounded space."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from dedup.report.copies import CopyOf
from dedup.report.diffs import Diffs, size_in_html
from dedup.report.report import Copy, Report
from dedup.report.sample import priority
from dedup.report.tally import url_pattern
from dedup.report.templating import cut_url
from dedup.report.texts import TextStore
from dedup.text import printable

_BYTES = 1_900_000
_LONGEST_TITLE = 200


class GroupRows:
    """Groups with their copies, the largest first, as many as there is room for.

    `rows` are the groups, `patterns` the URL patterns to which copies refer by number. A copy is a
    list: how many characters its URL shares with that of the original, the rest, its title (0 if it
    is that of the original), its distance (``None`` if it is an exact duplicate), the number of the
    differences, and of its pattern. `copies_left_out` and `groups_left_out` found no room.
    """

    def __init__(self, report: Report, texts: TextStore, diffs: Diffs) -> None:
        self._texts = texts
        self._diffs = diffs
        self._size = 0
        self._rows: dict[str, dict[str, Any]] = {}
        self._patterns: dict[str, int] = {}
        self._first: dict[str, int] = {}
        for group in report.largest_groups:
            self._first[group.original] = len(group.first)
            for copy in group.first:
                self._add(group.original, copy)
            if row := self._rows.get(group.original):
                row["count"] = group.duplicates
        self._groups = report.groups
        self._copies = sum(group.duplicates for group in report.largest_groups)

    def add_all(self, copies: Iterable[CopyOf]) -> None:
        """Add those of the *copies*, which are all of the crawl, that the report does not have."""
        met: Counter[str] = Counter()
        copies_of_all = 0
        for original, copy in copies:
            copies_of_all += 1
            if original in self._rows or self._size <= _BYTES:
                met[original] += 1
                if met[original] > self._first.get(original, 0):
                    self._add(original, copy)
        self._copies = max(self._copies, copies_of_all)
        for original, row in self._rows.items():
            row["count"] = max(row["count"], met[original])

    def _add(self, original: str, copy: Copy) -> None:
        if self._size > _BYTES:
            return
        row = self._rows.get(original) or self._new_row(original)
        told = self._form(row, original, copy)
        self._size += size_in_html(told)
        if self._size > _BYTES:
            return
        self._rows[original] = row
        row["copies"].append(told)

    def _new_row(self, original: str) -> dict[str, Any]:
        row = {
            "id": f"{priority(original):016x}",
            "url": cut_url(original),
            "title": printable(self._texts.title(original) or "", _LONGEST_TITLE),
            "count": 0,
            "copies": [],
        }
        self._size += size_in_html(row)
        return row

    def _form(self, row: dict[str, Any], original: str, copy: Copy) -> list[Any]:
        url, title = cut_url(copy.url), printable(copy.title or "", _LONGEST_TITLE)
        shared = _common_start(row["url"], url)
        is_exact = copy.verdict == "exact-duplicate" or copy.distance is None
        pattern = cut_url(url_pattern(copy.url))
        if pattern not in self._patterns:
            self._size += size_in_html(pattern)
        return [
            len(shared.encode("utf-16-le", "surrogatepass")) // 2,  # as scripts count characters
            url[len(shared) :],
            0 if title == row["title"] else title,
            None if is_exact else copy.distance,
            self._difference(row, original, copy, is_exact=is_exact),
            self._patterns.setdefault(pattern, len(self._patterns)),
        ]

    def _difference(
        self, row: dict[str, Any], original: str, copy: Copy, *, is_exact: bool
    ) -> int | None:
        if not is_exact:
            return self._diffs.add(original, copy.url)
        if "text" not in row:
            row["text"] = self._diffs.add_text(original)
        text: int | None = row["text"]
        return text

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The groups, the largest first."""
        return sorted(self._rows.values(), key=lambda row: -row["count"])

    @property
    def patterns(self) -> list[str]:
        return list(self._patterns)

    @property
    def copies_left_out(self) -> int:
        return max(0, self._copies - sum(len(row["copies"]) for row in self._rows.values()))

    @property
    def groups_left_out(self) -> int:
        return max(0, self._groups - len(self._rows))


def _common_start(one: str, other: str) -> str:
    pairs = enumerate(zip(one, other, strict=False))
    return one[: next((place for place, (a, b) in pairs if a != b), min(len(one), len(other)))]
