"""What a crawl's dedup did: numbers, and their forms for people and programs."""

from dedup.report.copies import CopyLog
from dedup.report.details import Details
from dedup.report.html import write_html
from dedup.report.json_file import write_json
from dedup.report.losses import Losses
from dedup.report.replay import PageVerdict, replay
from dedup.report.report import Report
from dedup.report.summary import Summary
from dedup.report.table import as_text
from dedup.report.texts import TextStore

__all__ = [
    "CopyLog",
    "Details",
    "Losses",
    "PageVerdict",
    "Report",
    "Summary",
    "TextStore",
    "as_text",
    "replay",
    "write_html",
    "write_json",
]
