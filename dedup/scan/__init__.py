"""Duplicates in what is already on disk: files of records -> which of them to keep."""

from dedup.scan.clusters import write_clusters
from dedup.scan.deciding import KEEP, Found, Outcome, scan
from dedup.scan.reading import RecordReader

__all__ = ["KEEP", "Found", "Outcome", "RecordReader", "scan", "write_clusters"]
