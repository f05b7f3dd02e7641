"""Duplicates in what is already on disk: files of records -> which of them to keep."""

from dedup.scan.clusters import write_clusters
from dedup.scan.reading import RecordReader
from dedup.scan.scan import KEEP, Found, Outcome, scan

__all__ = ["KEEP", "Found", "Outcome", "RecordReader", "scan", "write_clusters"]
