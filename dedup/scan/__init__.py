"""Duplicates in what is already on disk: files of records -> which of them to keep."""

from dedup.scan.clusters import write_clusters
from dedup.scan.deciding import scan
from dedup.scan.ledger import ScanLedger
from dedup.scan.outcome import Fate, Outcome
from dedup.scan.reader import RecordReader

__all__ = ["Fate", "Outcome", "RecordReader", "ScanLedger", "scan", "write_clusters"]
