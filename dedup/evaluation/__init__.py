"""Labelled collections -> precision, recall and F1 of methods."""

from dedup.evaluation.collection import Collection, read_collection
from dedup.evaluation.evaluation import Evaluation, compare, evaluate, sweep_of

__all__ = [
    "Collection",
    "Evaluation",
    "compare",
    "evaluate",
    "read_collection",
    "sweep_of",
]
