"""What a crawl's dedup did, in numbers; docs/report.md describes each key."""

import json
from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from typing import Any

_NEEDED = ("spider", "started", "seconds", "settings", "pages", "items", "groups", "largest_groups")
# What the reports of older versions lack.
_LATER: dict[str, Any] = {
    "dropped_text": None, "objections": {}, "weak": {}, "item_differences": None,
    "preferred": 0, "chinese_scripts": None,
    "saved_requests": None,
}  # fmt: skip


class Report(dict[str, Any]):
    """A JSON object whose keys are attributes, too, unless a dictionary has such a method.

    >>> Report.of({"pages": {"judged": 3}}).pages.judged
    3
    """

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> "Report":
        """Return *values* as they are once JSON has held them: what JSON lacks is text."""
        read: Report = json.loads(json.dumps(values, default=_plain), object_hook=cls)
        return read

    @classmethod
    def from_json(cls, values: Any) -> "Report":
        """Return the report of a file or a ledger; raises ValueError if *values* are none."""
        if not isinstance(values, Mapping):
            raise ValueError(f"Report must be an object, got {values!r:.100}")
        if missing := [key for key in _NEEDED if key not in values]:
            raise ValueError(f"Report lacks {', '.join(missing)}")
        return cls.of({**_LATER, **values})

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


def _plain(value: Any) -> Any:
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else str(value)
