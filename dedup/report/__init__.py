"""What a crawl's dedup did: numbers, and their forms for people and programs."""

from dedup.report.json_file import write_json
from dedup.report.summary import Summary
from dedup.report.table import as_text

__all__ = ["Summary", "as_text", "write_json"]
