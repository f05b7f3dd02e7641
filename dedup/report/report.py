"""What a crawl's dedup did, in numbers; docs/report.md describes each key."""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from itertools import count
from pathlib import Path
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


def write_json(report: Report, folder: Path) -> Path:
    """Write *report* into *folder*, and return the path of the new file.

    It is named after the site and the start; no file is overwritten. Raises OSError.
    """
    folder.mkdir(parents=True, exist_ok=True)
    started = report.started.replace("+00:00", "Z").replace(":", "")
    site = _NOT_IN_NAMES.sub("_", _site_of(report))[:50]
    for number in count(1):
        suffix = f"-{number}" if number > 1 else ""
        path = folder / f"{site}-{started}{suffix}.json"
        try:
            file = path.open("x", encoding="utf-8")
        except FileExistsError:  # another crawl that began in the same second
            continue
        try:
            with file:
                json.dump(report, file, indent=1)
        except BaseException:  # half a file is worse than none
            path.unlink(missing_ok=True)
            raise
        break
    return path


_NOT_IN_NAMES = re.compile(r"[^\w.-]+")


def _site_of(report: Report) -> str:
    """Return the host that most pages are of, or the spider's name if there is none of most."""
    for host in report.hosts.largest[:1]:
        judged = report.pages.judged - sum(report.pages.skipped.values())
        if host.name.strip(".") and 2 * host.pages >= judged:
            return str(host.name)
    return str(report.spider)
