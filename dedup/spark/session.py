"""The session of Spark that a command uses."""

import logging
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from dedup.spark.errors import SparkError, clear_errors, one_line
from dedup.spark.executors import check_executors

_LOWEST_JAVA = 17
_SECONDS_TO_CONNECT = 10.0
# Of a cluster that has to start machines first.
_SECONDS_TO_BEGIN = 600.0
_OURS = {
    "spark.app.name": "dedup scan",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
_JAVA_VERSION = re.compile(r'version "(?:1\.)?(\d+)')
_PLACES = re.compile(r"(?:spark://|,)(\[[^]]*\]|[^:,/]+):(\d+)")


@contextmanager
def spark_session(master: str | None) -> Iterator[SparkSession]:
    """Yield a session on *master*, by default on all cores of this machine; stop it at the end.

    If there is one, as under ``spark-submit``, it is that one. Raises SparkError if there can be
    none, or if it does not begin to work.
    """
    if "PYSPARK_GATEWAY_PORT" in os.environ or SparkSession.getActiveSession():
        if master is not None:
            raise SparkError("--master: there is a session of Spark already, with its own")
        session = SparkSession.builder.getOrCreate()
        with clear_errors():
            check_executors(session, seconds=_SECONDS_TO_BEGIN)
            yield session
        return
    master = master or os.environ.get("MASTER") or "local[*]"
    _check_java()
    _check_master(master)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    configuration = SparkConf().setMaster(master).setAll(list(_OURS.items()))
    # Java and its client tell all that happens, at length.
    with tempfile.TemporaryFile() as told, _without_logs():
        context = _start(configuration, told)
        try:
            session = SparkSession(context)
            with clear_errors():
                check_executors(session, seconds=_SECONDS_TO_BEGIN)
                yield session
        finally:
            with suppress(Exception):  # as of a cluster that is gone
                context.stop()
            _end(context)


@contextmanager
def _without_logs() -> Iterator[None]:
    before = logging.root.manager.disable
    logging.disable()
    try:
        yield
    finally:
        logging.disable(before)


def _start(configuration: SparkConf, told: IO[bytes]) -> SparkContext:
    gateway = None
    try:
        gateway = launch_gateway(  # type: ignore[no-untyped-call]  # of PySpark
            configuration, popen_kwargs={"stderr": told}
        )
        return SparkContext(gateway=gateway, conf=configuration)
    except (PySparkException, Py4JError, OSError) as error:
        told.seek(0)
        lines = [line for line in told.read().decode("utf-8", "replace").splitlines() if line]
        raise SparkError(f"Spark does not start: {one_line(str(error), lines)}") from error


def _end(context: SparkContext) -> None:
    """End the process of Java, so that the next session has one of its own."""
    gateway: Any = SparkContext._gateway
    if gateway is None:
        return
    gateway.shutdown()
    if process := getattr(gateway, "proc", None):
        if process.stdin:
            process.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            process.wait(10)
        if process.poll() is None:
            process.kill()
            process.wait()
    SparkContext._gateway = SparkContext._jvm = None


def _check_java() -> None:
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else "java"
    remedy = f"Spark needs Java {_LOWEST_JAVA} or later; JAVA_HOME names its folder"
    if shutil.which(java) is None:
        raise SparkError(f"there is no {java}: {remedy}")
    told = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    version = _JAVA_VERSION.search(told)
    if version is None or int(version[1]) < _LOWEST_JAVA:
        first = told.partition("\n")[0]
        raise SparkError(f"{java} is {first or 'no Java'}: {remedy}")


def _check_master(master: str) -> None:
    """Raise SparkError if *master* is a server that does not answer."""
    places = _PLACES.findall(master)
    if not master.startswith("spark://"):
        return
    for host, port in places:
        with (
            suppress(OSError),
            socket.create_connection((host.strip("[]"), int(port)), _SECONDS_TO_CONNECT),
        ):
            return
    raise SparkError(f"--master {master}: nobody answers there")
