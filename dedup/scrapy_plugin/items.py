"""Reading and writing the fields of items of any kind."""

from collections.abc import Mapping
from typing import Any

from itemadapter import ItemAdapter


def get_field(item: Any, name: str) -> Any:
    """Return the value of field *name*; ``None`` if it is not set or *item* has no such field."""
    try:
        return ItemAdapter(item).get(name) if ItemAdapter.is_item(item) else None
    except Exception:  # a field never set, or any of the item's own code
        return None


def fields_of(item: Any) -> Mapping[str, Any]:
    """Return the fields of *item* that are set, by their names."""
    return ItemAdapter(item) if ItemAdapter.is_item(item) else {}


def set_field(item: Any, name: str, value: Any) -> bool:
    """Set field *name* of *item*; return False if it cannot hold it (no such field, or frozen)."""
    try:
        ItemAdapter(item)[name] = value
    except Exception:  # no such field, frozen, or refused by the item's own validation
        return False
    return True
