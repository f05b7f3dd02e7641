"""In which fields items differ whose pages repeat others."""

from collections.abc import Iterable, Mapping

from dedup.item_values import ItemValues
from dedup.limits import shorten
from dedup.record import values_in

_NONE: frozenset[bytes] = frozenset()
_LONGEST_VALUE = 60

Differences = Mapping[str, str]
"""What an item says that the nearest stored one does not: a value by the name of each field."""


def differences_of(item: ItemValues, stored: Iterable[bytes]) -> Differences:
    """Return in what *item* differs from that of the *stored* ones which says most of it."""
    nearest = max(map(values_in, stored), key=lambda keys: len(keys & item.keys), default=_NONE)
    return {
        field: shorten(text, _LONGEST_VALUE)
        for key, (field, text) in item.contents.items()
        if key not in nearest
    }
