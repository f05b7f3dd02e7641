"""The page of all reports in a folder: the crawls over time, and what changed."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
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


@dataclass(frozen=True, slots=True)
class CrawlFigures:
    """What the page shows of a crawl; *file* is its report, *lost* a share from 0 to 1."""

    file: str
    site: str
    spider: str
    started: str
    seconds: float
    pages: int
    new: int
    exact: int
    near: int
    lost: float | None

    @property
    def share(self) -> float:
        """The percentage of duplicates."""
        return 100 * (self.exact + self.near) / max(1, self.pages)


@dataclass(frozen=True, slots=True)
class _Row:
    crawl: CrawlFigures
    before: CrawlFigures | None
    exists: bool

    def change(self, name: str) -> float | None:
        """Return by how much a figure grew."""
        if self.before is None:
            return None
        grown: float = getattr(self.crawl, name) - getattr(self.before, name)
        return grown


def add_to_index(report: Report, path: Path) -> Path:
    """Add *report*, whose HTML file is *path*, to the page of its folder; return that page.

    Figures of all crawls are in a file of JSON lines beside it, of which the page shows the last
    500. Several crawls may end at once. Raises OSError.
    """
    folder, text = path.parent, report.dropped_text
    crawl = CrawlFigures(
        file=path.name,
        site=site_of(report),
        spider=report.spider,
        started=report.started,
        seconds=report.seconds,
        pages=report.pages.judged,
        new=report.pages.new,
        exact=report.pages.exact_duplicates,
        near=report.pages.near_duplicates,
        lost=text.share if text and text.pages else None,
    )
    with FileLock(folder / ".index.lock", timeout=_SECONDS_TO_WAIT):
        with (folder / _CRAWLS).open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(crawl)) + "\n")
        crawls = list(_crawls(folder / _CRAWLS))[-_SHOWN:]
        page = folder / NAME
        with replacing(page) as file:
            file.write(_as_html(crawls, folder).encode("utf-8", "replace"))
    return page


def _crawls(path: Path) -> Iterator[CrawlFigures]:
    names = {field.name for field in fields(CrawlFigures)}
    for line in path.read_text("utf-8", "replace").splitlines():
        try:
            values: dict[str, Any] = json.loads(line)
            yield CrawlFigures(**{name: values[name] for name in names})
        except (ValueError, KeyError, TypeError):  # a line that a kill tore
            continue


def _as_html(crawls: list[CrawlFigures], folder: Path) -> str:
    last: dict[tuple[str, str], CrawlFigures] = {}
    rows = []
    for crawl in crawls:
        key = crawl.site, crawl.spider
        rows.append(_Row(crawl, last.get(key), (folder / crawl.file).is_file()))
        last[key] = crawl
    return templating.render("index.html", {"rows": rows[::-1]})
