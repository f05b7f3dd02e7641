"""Indexes over sketches. `dedup.search` chooses one for a method."""

from dedup.index.base import Index, Match
from dedup.index.design import Design, linear_scan, multi_index, nested_tables, permuted_tables
from dedup.index.hamming import HammingIndex

__all__ = [
    "Design",
    "HammingIndex",
    "Index",
    "Match",
    "linear_scan",
    "multi_index",
    "nested_tables",
    "permuted_tables",
]
