"""Duplicates in what is already on disk: files of records -> which of them to keep."""

from dedup.scan.deciding import scan
from dedup.scan.reader import Fate, RecordReader
from dedup.scan.record_judge import Outcome, write_clusters
from dedup.scan.sketches_file import SketchesFile

__all__ = ["Fate", "Outcome", "RecordReader", "SketchesFile", "scan", "write_clusters"]
