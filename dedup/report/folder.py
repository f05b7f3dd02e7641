"""The folder of reports: the files of each that programs read."""

import json
import re
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from dedup.atomic_file import replacing
from dedup.report.events import Copy
from dedup.report.report import Report

_NOT_IN_NAMES = re.compile(r"[^\w.-]+")


def write_json(report: Report, folder: Path) -> Path:
    """Write *report* into *folder*, and return the path of the new file.

    It is named after the site and the start; no file is overwritten. Raises OSError.
    """
    folder.mkdir(parents=True, exist_ok=True)
    started = report.started.replace("+00:00", "Z").replace(":", "")
    site = _NOT_IN_NAMES.sub("_", site_of(report))[:50]
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


def write_copies(copies: Iterator[Copy], path: Path) -> Path | None:
    """Write *copies* as lines of JSON; return *path*, ``None`` without any. Raises OSError."""
    first = next(copies, None)
    if first is None:
        return None
    with replacing(path) as file:
        for copy in (first, *copies):
            file.write(json.dumps({"original": copy.original, **copy.as_json()}).encode() + b"\n")
    return path


def site_of(report: Report) -> str:
    """Return the host that most pages are of, or the spider's name if there is none of most."""
    for host in report.hosts.largest[:1]:
        judged = report.pages.judged - sum(report.pages.skipped.values())
        if host.name.strip(".") and 2 * host.pages >= judged:
            return str(host.name)
    return str(report.spider)
