"""The end of a crawl: the last checkpoint, then the reports."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from scrapy import Spider

from dedup.limits import shorten
from dedup.logs import get_logger
from dedup.report.html import write_html
from dedup.report.json_file import write_json
from dedup.report.report import Report
from dedup.report.summary import Summary
from dedup.report.table import as_text, log_width
from dedup.report.texts import TextStore
from dedup.scrapy_plugin.keeper import Keeper
from dedup.scrapy_plugin.settings.crawl import DedupSettings

logger = get_logger(__name__)


async def end_crawl(
    spider: Spider,
    reason: str,
    *,
    settings: DedupSettings,
    summary: Summary,
    texts: TextStore,
    keeper: Keeper,
    other_bytes: int,
) -> str:
    """Make the last checkpoint, write the reports, and return the table for the log.

    Each of the steps is taken whatever becomes of those before it: what fails is logged. The table
    is empty if there are no numbers. *other_bytes* are those of `Summary.finish`.
    """

    @contextmanager
    def step(what: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            logger.warning("Dedup: %s could not be written: %s", what, error)
        except Exception:
            summary.count("errors")
            logger.exception("Dedup failed on %s; what comes after it is done", what)

    checkpoints = keeper.checkpoints
    report: Report | None = None
    form: dict[str, Any] | None = None
    table = ""
    if checkpoints:
        with step("the last checkpoint"):
            await checkpoints.finish()
    with step("the numbers of the report"):
        name = shorten(str(spider.name))
        report = summary.finish(keeper.detector, other_bytes, keeper.store.state, spider=name)
        form = report.as_json()
    if report:
        with step("the table of the report"):
            table = as_text(report, DedupSettings.defaults(), width=log_width())
    if checkpoints:
        await checkpoints.leave(str(reason), form, texts)
    if report and settings.report:
        with step("the report"):
            path = write_json(report, settings.report)
            write_html(report, texts, path.with_suffix(".html"))
            logger.info("Dedup report written to %s and .html", path, extra={"spider": spider})
    return table
