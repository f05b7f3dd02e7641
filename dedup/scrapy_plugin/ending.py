"""The end of a crawl: the last checkpoint, then the reports."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from scrapy import Spider

from dedup.limits import shorten
from dedup.logs import get_logger
from dedup.report.events import write_copies
from dedup.report.findings import findings, lines_of
from dedup.report.report import Report, write_json
from dedup.report.table import as_text
from dedup.report.templating import write_html
from dedup.stores import StoreDownError
from dedup.text import Lines, printable

if TYPE_CHECKING:
    from dedup.scrapy_plugin.plugin import Extension

logger = get_logger(__name__)


async def end_crawl(plugin: "Extension", spider: Spider, reason: str) -> str:
    """Make the last checkpoint, write the reports, and return the text for the log.

    That is the table, then what is found, and at last where the report is. It is empty if there are
    no numbers. Each of the steps is taken whatever becomes of those before it: what fails is
    logged.
    """
    summary, checkpoints = plugin.summary, plugin.checkpoints
    follower = plugin.detector.follower
    events, folder = summary.events, plugin.settings.report

    @contextmanager
    def step(what: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            logger.warning("Dedup: %s could not be written: %s", what, error)
        except Exception:
            summary.count("errors")
            logger.exception("Dedup failed on %s; what comes after it is done", what)

    report: Report | None = None
    lines: list[str] = []
    with step("the last checkpoint"):
        await checkpoints.finish()
    # Without the store, the report has other words for pages.
    with step("the near misses"), suppress(StoreDownError):
        await summary.kept.fetch_near_misses(follower.view, follower.store)
    with step("the numbers of the report"):
        name = shorten(str(spider.name))
        report = summary.finish(follower.view, follower.store, checkpoints.state, spider=name)
    if report:
        with step("the table of the report"):
            lines.append(as_text(report))
        with step("what is found"):
            found = findings(report)
            lines += lines_of(found)
            if found and found[0].name == "alarm":
                summary.count("alarm")
                logger.warning("%s", found[0])
    await checkpoints.leave(str(reason), report, events.texts())
    if report and not (report.pages.judged or report.unread):
        lines.append("No page that gave items was met, so no report is written")
    elif report and folder:
        from dedup.report.html import as_html  # most crawls write none

        with step("the report"):
            path = write_json(report, folder)
            lines.append(f"The report: {printable(str(path), None)}")
            page, beside = path.with_suffix(".html"), None
            with step("the copies"):
                beside = write_copies(events.copies(), path.with_suffix(".copies.jsonl"))
            name = beside.name if beside else ""
            html = as_html(report, events.text, events.copies(), copies_in=name)
            write_html(page, html)
            lines[-1] = f"The report: {printable(str(page), None)}"
    elif report:
        lines.append('For a report with every page that was dropped, set DEDUP_REPORT = "reports"')
    return Lines("\n".join(lines))
