"""The session of Spark that a command uses, and what is wrong with it in one line."""

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
from threading import Timer
from typing import IO, Any

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from dedup.records import RecordError

_LOWEST_JAVA = 17
_SECONDS_TO_CONNECT = 10.0
# Of a cluster that has to start machines first.
_SECONDS_TO_BEGIN = 600.0
_OURS = {
    "spark.app.name": "dedup scan",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
_ERROR_OF_RECORD = re.compile(r"^dedup\.records\.base\.RecordError: (.*)$", re.MULTILINE)
_NOT_IMPORTABLE = re.compile(
    r"(?:ModuleNotFoundError|ImportError|AttributeError): (No module named '[^']*'|cannot import "
    r"name '[^']*'|Can't get attribute '[^']*'|module '[^']*' has no attribute '[^']*')"
)
_NO_PROGRAM = re.compile(r'Cannot run program "([^"]*)"')
_JAVA_VERSION = re.compile(r'version "(?:1\.)?(\d+)')
_PLACES = re.compile(r"(?:spark://|,)(\[[^]]*\]|[^:,/]+):(\d+)")
_GONE = re.compile(r"(All masters are unresponsive[^\n]*|SparkContext was shut down)")
_OTHER_PYTHON = re.compile(r"PYTHON_VERSION_MISMATCH")
_LAST_ERROR = re.compile(r"^(?:Caused by: )?(?:\w+\.)*(\w*(?:Error|Exception): .+)$", re.MULTILINE)


class SparkError(ValueError):
    """Spark, or the cluster, is not as it must be."""


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
            _begin(session)
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
                _begin(session)
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
        raise SparkError(f"Spark does not start: {_one_line(str(error), lines)}") from error


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


def _begin(session: SparkSession) -> None:
    """Run a first job; raises SparkError if the cluster does not begin with it in time."""
    context = session.sparkContext
    group = "dedup begins"
    context.setJobGroup(group, "dedup scan: the first task", interruptOnCancel=True)
    is_late = False

    def cancel() -> None:
        nonlocal is_late
        is_late = True
        context.cancelJobGroup(group)

    timer = Timer(_SECONDS_TO_BEGIN, cancel)
    timer.daemon = True
    timer.start()
    try:
        session.range(1).mapInArrow(_first_task, "id long").collect()
    except Exception as error:
        if is_late:
            raise SparkError(
                f"{context.master} began no task within {_SECONDS_TO_BEGIN:.0f} seconds: does it "
                "have executors, with as much memory and as many cores as were asked for?"
            ) from error
        raise
    finally:
        timer.cancel()
        context.setLocalProperty("spark.jobGroup.id", None)  # type: ignore[arg-type]


def _first_task(batches: Iterator[Any]) -> Iterator[Any]:
    import dedup.scan  # noqa: F401  # with all that it needs

    yield from batches


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
        raise SparkError(_one_line(text)) from error


def _one_line(text: str, lines: list[str] | None = None) -> str:
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
    lines = [line.strip() for line in lines or text.splitlines()]
    lines = [line for line in lines if line and not line.startswith("at ")]
    wrong = (line for line in lines if "Error" in line or "Exception" in line)
    return next(wrong, lines[-1] if lines else "no reason is given")
