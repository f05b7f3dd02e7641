"""Indexes over sketches. `dedup.search` chooses one for a method."""

from dedup.index.base import Index, Match
from dedup.index.hamming import HammingIndex

__all__ = ["HammingIndex", "Index", "Match"]
