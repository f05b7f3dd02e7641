"""The page of all reports in a folder: the crawls over time, and what changed."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from filelock import FileLock

from dedup.atomic_file import replacing
from dedup.report import templating
from dedup.report.json_file import site_of
from dedup.report.report import Report

NAME = "index.html"
_CRAWLS = "index.jsonl"
_SHOWN = 500
_SECONDS_TO_WAIT = 10.0


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
        with (folder / _CRAWLS).open("a", encoding="utf-8") as file:
            file.write(json.dumps(crawl) + "\n")
        crawls = list(_crawls(folder / _CRAWLS, crawl))[-_SHOWN:]
        page = folder / NAME
        with replacing(page) as file:
            file.write(_as_html(crawls, folder).encode("utf-8", "replace"))
    return page


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
