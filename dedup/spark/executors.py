"""Whether the executors can run what this process sends them."""

import sys
from collections.abc import Iterable, Iterator

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession


class ExecutorError(RuntimeError):
    """The executors cannot run Python, or lack a module; the message says what to set."""


def check_executors(spark: SparkSession, work: object) -> None:
    """Have an executor load *work*; raise ExecutorError, in one line, if it cannot."""

    def load(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from dedup.spark import rows  # what they need at last

        assert rows
        assert work
        yield from batches

    try:
        spark.range(1).mapInArrow(load, "id long").collect()
    except (PySparkException, Py4JJavaError) as error:
        own = f"{sys.version_info.major}.{sys.version_info.minor}"
        raise ExecutorError(
            f"the executors cannot run this: {_cause(str(error))} (PYSPARK_PYTHON must name a "
            f"Python {own} with scrapy-dedup[spark], and what else you import, on each of them)"
        ) from error


def _cause(message: str) -> str:
    """Return the line that says why, of a message of Spark, which has traces of two languages.

    >>> _cause('Job aborted:\\n  File "a.py"\\nModuleNotFoundError: no x\\n\\n\\tat org.a')
    'ModuleNotFoundError: no x'
    """
    lines = [line.strip() for line in message.splitlines()]
    lines = [line for line in lines if line and not line.startswith(("at ", "File ", "..."))]
    wanted = ("Error: ", "Cannot run program", "PYTHON_VERSION_MISMATCH", "Exception: ")
    telling = (line for word in wanted for line in lines if word in line)
    return next(telling, lines[0] if lines else "no reason given")[:500]
