"""The folder of reports: the JSON file of each, and the page of all, with what changed."""

import json
import re
from collections.abc import Iterable, Iterator
from itertools import count
from os import SEEK_END
from pathlib import Path
from typing import Any

from filelock import FileLock

from dedup.atomic_file import replacing
from dedup.report import templating
from dedup.report.events import Copy
from dedup.report.report import Report

INDEX = "index.html"
_NOT_ASCII = re.compile(r"[^\n -~]+")
_NOT_IN_NAMES = re.compile(r"[^\w.-]+")
_CRAWLS = "index.jsonl"
_SHOWN = 500
_SECONDS_TO_WAIT = 10.0


def write_json(report: Report, folder: Path) -> Path:
    """Write *report* into *folder*, and return the path of the new file.

    It is named after the site and the start; no file is overwritten. Raises OSError.
    """
    folder.mkdir(parents=True, exist_ok=True)
    started = report.started.replace("+00:00", "Z").replace(":", "")
    site = _NOT_IN_NAMES.sub("_", site_of(report))[:50]
    text = json.dumps(report, ensure_ascii=False, indent=1)
    text = _NOT_ASCII.sub(lambda match: "".join(map(_escape, match[0])), text)
    for number in count(1):
        suffix = f"-{number}" if number > 1 else ""
        path = folder / f"{site}-{started}{suffix}.json"
        try:
            file = path.open("x", encoding="utf-8")
        except FileExistsError:  # another crawl that began in the same second
            continue
        try:
            with file:
                file.write(text)
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


def _escape(character: str) -> str:
    """Return *character*, escaped if a terminal might obey it, or it cannot be encoded."""
    return character if character.isprintable() else json.dumps(character)[1:-1]


def add_to_index(report: Report, path: Path) -> Path:
    """Add *report*, whose HTML file is *path*, to the page of its folder; return that page.

    Figures of all crawls are in a file of JSON lines beside it, of which the page shows the last
    500. Several crawls may end at once. Raises OSError.
    """
    folder, pages, text = path.parent, report.pages, report.dropped_text
    crawl = {
        "file": path.name,
        "site": site_of(report),
        "spider": report.spider,
        "started": report.started,
        "seconds": report.seconds,
        "pages": pages.judged,
        "new": pages.new,
        "exact": pages.exact_duplicates,
        "near": pages.near_duplicates,
        "lost": text.share if text and text.pages else None,
    }
    with FileLock(folder / ".index.lock", timeout=_SECONDS_TO_WAIT):
        with (folder / _CRAWLS).open("a+b") as file:
            if file.tell() and (file.seek(-1, SEEK_END), file.read(1))[1] != b"\n":
                file.write(b"\n")  # after a line that a kill tore
            file.write(json.dumps(crawl).encode() + b"\n")
        crawls = list(_crawls(folder / _CRAWLS, crawl))[-_SHOWN:]
        templating.write_html(folder / INDEX, _as_html(crawls, folder))
    return folder / INDEX


def _crawls(path: Path, names: Iterable[str]) -> Iterator[dict[str, Any]]:
    for line in path.read_text("utf-8", "replace").splitlines():
        try:
            values = json.loads(line)
            yield {name: values[name] for name in names}
        except (ValueError, KeyError, TypeError):  # a line that a kill tore
            continue


def _as_html(crawls: list[dict[str, Any]], folder: Path) -> str:
    last: dict[tuple[str, str], dict[str, Any]] = {}
    for crawl in crawls:
        site = crawl["site"], crawl["spider"]
        crawl["share"] = 100 * (crawl["exact"] + crawl["near"]) / max(1, crawl["pages"])
        crawl["exists"] = (folder / crawl["file"]).is_file()
        crawl["before"] = last.get(site)
        last[site] = crawl
    return templating.render("index.html", {"crawls": crawls[::-1]})
