"""What a crawl counts and keeps for its reports."""

from contextlib import ExitStack

from scrapy.statscollectors import StatsCollector

from dedup.report.copies import CopyLog
from dedup.report.details import Details
from dedup.report.losses import Losses
from dedup.report.summary import Summary
from dedup.report.texts import TextStore
from dedup.scrapy_plugin import limits
from dedup.scrapy_plugin.settings.crawl import DedupSettings
from dedup.url_advice.contents import Contents


class Reporting:
    """Has the `Summary`, and of its parts those that nobody else closes or asks."""

    def __init__(self, settings: DedupSettings, stats: StatsCollector) -> None:
        # The report is written, or the ledger keeps it; else, nobody sees more than the table.
        has_report = bool(settings.enabled and (settings.report or settings.index))
        self.texts = TextStore(limits.REPORT_TEXTS if has_report else 0)
        self.copies = CopyLog(settings.report) if settings.enabled and settings.report else None
        drops = settings.action == "drop"
        self.losses = Losses(drops=drops) if settings.enabled else None
        details = None
        if has_report:
            details = Details(
                texts=self.texts,
                copies=self.copies,
                contents=Contents(settings.method),
                min_tokens=settings.min_tokens,
            )
        self.summary = Summary(
            stats,
            settings.shown,
            drops=drops,
            losses=self.losses,
            details=details,
        )

    def halvings(self) -> int | None:
        """Return how much of each text is sampled for lost text; ``None`` for nothing."""
        return self.losses.halvings if self.losses else None

    def close(self) -> None:
        with ExitStack() as ending:  # whatever fails, the others are closed
            ending.callback(self.texts.close)
            if self.copies is not None:
                ending.callback(self.copies.close)
