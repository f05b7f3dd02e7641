"""Duplicates among the rows of DataFrames, on as many machines as Spark has."""

from dedup.spark.deduplicate import deduplicate, sketches
from dedup.spark.judge import judge
from dedup.spark.session import SparkError

__all__ = ["SparkError", "deduplicate", "judge", "sketches"]
