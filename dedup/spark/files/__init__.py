"""``dedup scan`` on Spark: files of records -> folders of those that are kept."""

from dedup.spark.files.inputs import Inputs, find_inputs
from dedup.spark.files.job import Figures, Job
from dedup.spark.files.scan import scan_files

__all__ = ["Figures", "Inputs", "Job", "find_inputs", "scan_files"]
