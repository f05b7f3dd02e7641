"""What Spark, a cluster or its executors say of what is wrong, in one line."""

import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException

from dedup.records import RecordError

_ERROR_OF_RECORD = re.compile(r"^dedup\.records\.base\.RecordError: (.*)$", re.MULTILINE)
_NOT_IMPORTABLE = re.compile(
    r"(?:ModuleNotFoundError|ImportError|AttributeError): (No module named '[^']*'|cannot import "
    r"name '[^']*'|Can't get attribute '[^']*'|module '[^']*' has no attribute '[^']*')"
)
_NO_PROGRAM = re.compile(r'Cannot run program "([^"]*)"')
_GONE = re.compile(r"(All masters are unresponsive[^\n]*|SparkContext was shut down)")
_OTHER_PYTHON = re.compile(r"PYTHON_VERSION_MISMATCH")
_LAST_ERROR = re.compile(r"^(?:Caused by: )?(?:\w+\.)*(\w*(?:Error|Exception): .+)$", re.MULTILINE)


class SparkError(ValueError):
    """Spark, or the cluster, is not as it must be."""


@contextmanager
def clear_errors() -> Iterator[None]:
    """Raise what tasks raise as RecordError, and what Spark raises as SparkError, in one line."""
    try:
        yield
    except (PySparkException, Py4JError) as error:
        text = str(error)
        if isinstance(error, Py4JJavaError):
            text = f"{text}\n{error.java_exception}"
        if found := _ERROR_OF_RECORD.search(text):
            raise RecordError(found[1]) from error
        raise SparkError(one_line(text)) from error


def one_line(text: str, lines: Sequence[str] = ()) -> str:
    """Return what the message *text* of an error says, or else *lines* that were printed."""
    if found := _NOT_IMPORTABLE.search(text):
        return (
            f"the executors cannot import what they need ({found[1]}): they must have this "
            "environment (--archives with venv-pack or conda-pack, or --py-files; docs/scale.md)"
        )
    if _OTHER_PYTHON.search(text):
        return (
            "the executors have another version of Python than this one, "
            f"{sys.version_info[0]}.{sys.version_info[1]}: PYSPARK_PYTHON names theirs"
        )
    if found := _NO_PROGRAM.search(text):
        return f"the executors have no {found[1]}: PYSPARK_PYTHON names their Python"
    if found := _GONE.search(text):
        return f"the cluster does not answer, or has gone ({found[1]})"
    if told := _LAST_ERROR.findall(text):
        return str(told[-1]).strip()
    left = [line.strip() for line in lines or text.splitlines()]
    left = [line for line in left if line and not line.startswith("at ")]
    wrong = (line for line in left if "Error" in line or "Exception" in line)
    return next(wrong, left[-1] if left else "no reason is given")
