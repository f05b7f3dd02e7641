"""What became of a page, in words, from what crawls left: ledgers, reports, dropped items."""

from dedup.history.dropped import DroppedHistory
from dedup.history.event import Event, History
from dedup.history.ledger import LedgerHistory
from dedup.history.near_urls import NearUrl, nearest_urls
from dedup.history.report import events_of_report, urls_of_report

__all__ = [
    "DroppedHistory",
    "Event",
    "History",
    "LedgerHistory",
    "NearUrl",
    "events_of_report",
    "nearest_urls",
    "urls_of_report",
]
