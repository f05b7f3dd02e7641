"""Labelled collections -> precision, recall and F1 of methods."""

from dedup.evaluation.collection import Collection, CollectionError, read_collection
from dedup.evaluation.evaluation import Evaluation, compare, evaluate, sweep_of

__all__ = [
    "Collection",
    "CollectionError",
    "Evaluation",
    "compare",
    "evaluate",
    "read_collection",
    "sweep_of",
]
