"""What a crawl counts and keeps for its reports."""

from contextlib import ExitStack

from scrapy.statscollectors import StatsCollector

from dedup.report.losses import Losses
from dedup.report.summary import Summary
from dedup.report.texts import TextStore
from dedup.scrapy_plugin import limits
from dedup.scrapy_plugin.settings import DedupSettings
from dedup.url_advice.contents import Contents


class Reporting:
    """Has the `Summary`, and of its parts those that nobody else closes or asks."""

    def __init__(self, settings: DedupSettings, stats: StatsCollector) -> None:
        # The report is written, or the ledger keeps it; else, nobody sees more than the table.
        has_report = bool(settings.enabled and (settings.report or settings.index.place))
        self.texts = TextStore(limits.REPORT_TEXTS if has_report else 0)
        drops = settings.action == "drop"
        self.losses = Losses(drops=drops) if settings.enabled else None
        self.summary = Summary(
            stats,
            settings.shown,
            drops=drops,
            losses=self.losses,
            texts=self.texts,
            contents=Contents(settings.method) if has_report else None,
            min_tokens=settings.min_tokens,
        )

    def halvings(self) -> int:
        """Return how much of the sequences of a text is to be kept for what is lost."""
        return self.losses.halvings if self.losses else 0

    def close(self) -> None:
        with ExitStack() as ending:  # whatever fails, the others are closed
            ending.callback(self.texts.close)
            ending.callback(self.summary.close)
