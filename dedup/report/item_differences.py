"""In which fields items differ whose pages repeat others."""

from collections import OrderedDict
from collections.abc import Iterable, Mapping

from dedup.item_values import ItemValues
from dedup.limits import shorten
from dedup.record import values_in

_REMEMBERED = 10_000
_NONE: frozenset[bytes] = frozenset()
_LONGEST_VALUE = 60

Differences = Mapping[str, tuple[str, str | None]]
"""What an item says that the nearest stored one does not: by the name of each field, its value, and
that of the stored item, ``None`` if it has none or that is not known any more."""


class RememberedItems:
    """Remembers what the last items say, in words: of older ones, only digests are known."""

    def __init__(self, most: int = _REMEMBERED) -> None:
        self._most = most
        self._contents: OrderedDict[bytes, tuple[str, str]] = OrderedDict()

    def remember(self, item: ItemValues) -> None:
        for key, (field, text) in item.contents.items():
            self._contents[key] = field, shorten(text, _LONGEST_VALUE)
        while len(self._contents) > self._most:
            self._contents.popitem(last=False)

    def differences(self, item: ItemValues, stored: Iterable[bytes]) -> Differences:
        """Return in what *item* differs from that of the *stored* ones which says most of it."""
        nearest = max(map(values_in, stored), key=lambda keys: len(keys & item.keys), default=_NONE)
        others = dict(self._contents[key] for key in nearest - item.keys if key in self._contents)
        return {
            field: (shorten(text, _LONGEST_VALUE), others.get(field))
            for key, (field, text) in item.contents.items()
            if key not in nearest
        }
