"""The session of Spark that a command uses, and what Spark says of what is wrong."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from dedup.records import RecordError

_SETTINGS = {
    "spark.app.name": "dedup scan",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
_ERROR_OF_RECORD = re.compile(r"\bRecordError: (.*)$", re.MULTILINE)
_NO_PYTHON = re.compile(r'Cannot run program "(.*?)"')
_LAST_ERROR = re.compile(r"^(?:Caused by: )?(?:\w+\.)*(\w*(?:Error|Exception): .+)$", re.MULTILINE)


class SparkError(ValueError):
    """Spark, or the cluster, is not as it must be."""


@contextmanager
def spark_session(master: str | None) -> Iterator[SparkSession]:
    """Yield a session on *master*, by default on all cores of this machine; stop it at the end.

    If there is one, as under ``spark-submit``, it is that one. Raises SparkError if there can be
    none.
    """
    if "PYSPARK_GATEWAY_PORT" in os.environ or SparkSession.getActiveSession():
        if master is not None:
            raise SparkError("--spark takes no master: there is a session of Spark already")
        yield SparkSession.builder.getOrCreate()
        return
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    configuration = SparkConf().setAll(list(_SETTINGS.items()))
    configuration.setMaster(master or os.environ.get("MASTER") or "local[*]")
    try:
        # Java tells all that happens, at length.
        quiet = {"stderr": subprocess.DEVNULL}
        gateway = launch_gateway(configuration, popen_kwargs=quiet)  # type: ignore[no-untyped-call]
        session = SparkSession(SparkContext(gateway=gateway, conf=configuration))
    except (PySparkException, Py4JError, OSError) as error:
        told = f"Spark does not start on {master or 'this machine'} (it needs Java 17 or later)"
        raise SparkError(f"{told}: {_one_line(str(error))}") from error
    try:
        yield session
    finally:
        session.stop()


@contextmanager
def clear_errors() -> Iterator[None]:
    """Raise what tasks raise as RecordError, and what Spark raises as SparkError, in one line."""
    try:
        yield
    except (PySparkException, Py4JError) as error:
        told = str(error)
        if found := _ERROR_OF_RECORD.search(told):
            raise RecordError(found[1]) from error
        raise SparkError(_one_line(told)) from error


def _one_line(told: str) -> str:
    if found := _NO_PYTHON.search(told):
        return f"the executors have no {found[1]}: PYSPARK_PYTHON names their Python"
    errors = _LAST_ERROR.findall(told)
    return str(errors[-1] if errors else told.strip().partition("\n")[0]).strip()
