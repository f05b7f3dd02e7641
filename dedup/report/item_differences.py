"""In which fields items differ whose pages repeat others."""

from collections import Counter, OrderedDict
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from dedup.item_values import ItemValues
from dedup.limits import shorten
from dedup.record import values_in

_REMEMBERED = 10_000
_NONE: frozenset[bytes] = frozenset()
_FIELDS_SHOWN = 10
_MOST_SETS = 1000
_LONGEST_VALUE = 60


class Difference(NamedTuple):
    """The item of a kept page says more than the nearest one that is stored.

    *values*: by the name of each field in which they differ, the value, and that of the stored
    item, ``None`` if it has none or that is not known any more.
    """

    values: Mapping[str, tuple[str, str | None]]


class RememberedItems:
    """Remembers what the last items say, in words: of older ones, only digests are known."""

    def __init__(self, most: int = _REMEMBERED) -> None:
        self._most = most
        self._contents: OrderedDict[bytes, tuple[str, str]] = OrderedDict()

    def remember(self, item: ItemValues) -> None:
        """Take note of an *item* that is about to be stored."""
        for key, (field, text) in item.contents.items():
            self._contents[key] = field, shorten(text, _LONGEST_VALUE)
        while len(self._contents) > self._most:
            self._contents.popitem(last=False)

    def difference(self, item: ItemValues, stored: Iterable[bytes]) -> Difference:
        """Return in what *item* differs from that of the *stored* ones which says most of it."""
        nearest = max(map(values_in, stored), key=lambda keys: len(keys & item.keys), default=_NONE)
        others = dict(self._contents[key] for key in nearest - item.keys if key in self._contents)
        return Difference(
            {
                field: (shorten(text, _LONGEST_VALUE), others.get(field))
                for key, (field, text) in item.contents.items()
                if key not in nearest
            }
        )


class DifferenceCounts:
    """Counts, of pages that are kept since their items differ from stored ones, the fields."""

    def __init__(self) -> None:
        self._pages = 0
        self._fields: Counter[str] = Counter()
        self._values: dict[str, tuple[str, str | None]] = {}
        self._sets: Counter[frozenset[str]] = Counter()
        self._example: tuple[str, str] | None = None

    def add(self, difference: Difference, url: str, original: str | None) -> None:
        """Take note of the *difference* between the items of *url* and of a stored page."""
        self._pages += 1
        fields = frozenset(difference.values)
        if len(self._sets) < _MOST_SETS or fields in self._sets:
            self._sets[fields] += 1
        self._fields.update(fields)
        if self._example is None:
            self._example = url, original or ""
        for field, (one, other) in difference.values.items():
            known = self._values.get(field)
            if known is None or (known[1] is None and other is not None):
                self._values[field] = one, other

    def result(self) -> dict[str, Any] | None:
        """Return the fields in which most pages differ; ``None`` if no page does."""
        if self._example is None:
            return None
        shown = dict(self._fields.most_common(_FIELDS_SHOWN))
        fields = [
            {"name": field, "pages": pages, "one": one, "other": other}
            for field, pages in shown.items()
            for one, other in [self._values[field]]
        ]
        url, original = self._example
        return {
            "pages": self._pages,
            "in_fields": sum(n for names, n in self._sets.items() if names <= shown.keys()),
            "fields": fields,
            "url": url,
            "original": original,
        }
