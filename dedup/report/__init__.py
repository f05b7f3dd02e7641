"""What a crawl's dedup did: numbers, and their forms for people and programs."""

from dedup.report.report import Report
from dedup.report.summary import Summary
from dedup.report.table import as_text

__all__ = ["Report", "Summary", "as_text"]
