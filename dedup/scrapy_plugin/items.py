"""Reading and writing the fields of items of any kind."""

from typing import Any

from itemadapter import ItemAdapter


def get_field(item: Any, name: str) -> Any:
    """Return the value of field *name*, or ``None`` if *item* has no such field or no fields."""
    return ItemAdapter(item).get(name) if ItemAdapter.is_item(item) else None


def set_field(item: Any, name: str, value: Any) -> bool:
    """Set field *name* of *item*; return False if it cannot hold it (no such field, or frozen)."""
    try:
        ItemAdapter(item)[name] = value
    except (KeyError, TypeError, ValueError, AttributeError):
        return False
    return True
