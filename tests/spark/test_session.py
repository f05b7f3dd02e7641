"""What is wrong with Spark, Java or a cluster is said in one line, and soon."""

import os
import signal
import subprocess
import sys
import time

import collections_on_disk as collections
import pytest
from cases import each, sampled
from redis_server import free_port
from test_scan_on_spark import some_texts

from dedup.spark.errors import SparkError, one_line

WITHOUT = "import sys; sys.modules[{module!r}] = None; from dedup.cli import main; sys.exit(main())"


def scan(tmp_path, *options, start=("-m", "dedup"), **variables):
    """Start a scan on Spark of its own; return the process."""
    pages = collections.write(tmp_path / "pages.jsonl", some_texts())
    command = [sys.executable, *start, "scan", pages, "-o", tmp_path / "unique"]
    path = os.pathsep.join(sys.path)
    environment = {**os.environ, "PYTHONPATH": path, "SPARK_LOCAL_IP": "127.0.0.1", **variables}
    return subprocess.Popen(
        [*map(str, command), "--engine", "spark", *options],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
        text=True,
    )


def said(process):
    """What a scan says that must fail; nothing is left of its output."""
    out, error = process.communicate(timeout=300)
    assert (process.returncode, out, error.count("\n")) == (2, "", 1), error
    return error.removeprefix("dedup scan: ").strip()


@pytest.mark.slow
@pytest.mark.parametrize("module", sampled(["pyspark", "pandas", "pyarrow"], "pandas"))
def test_without_pyspark_the_extra_is_named(tmp_path, module):
    process = scan(tmp_path, start=("-c", WITHOUT.format(module=module)))
    assert said(process) == "--engine spark needs: pip install 'scrapy-dedup[spark]'"


@pytest.mark.slow
def test_without_java_the_variable_is_named(tmp_path):
    remedy = "Spark needs Java 17 or later; JAVA_HOME names its folder"
    process = scan(tmp_path, JAVA_HOME=str(tmp_path))
    assert said(process) == f"there is no {tmp_path}/bin/java: {remedy}"
    process = scan(tmp_path, PATH=str(tmp_path), JAVA_HOME="")
    assert said(process) == f"there is no java: {remedy}"
    assert sorted(os.listdir(tmp_path)) == ["pages.jsonl"]


@pytest.mark.slow
def test_a_master_that_does_not_answer_is_named(tmp_path):
    master = f"spark://127.0.0.1:{free_port()}"
    process = scan(tmp_path, "--master", master)
    assert said(process) == f"--master {master}: nobody answers there"


@pytest.mark.slow
def test_a_python_that_executors_do_not_have_is_named(needs_java, tmp_path):
    process = scan(tmp_path, "--master", "local[1]", PYSPARK_PYTHON="/no/such/python")
    assert said(process) == (
        "the executors have no /no/such/python: PYSPARK_PYTHON names their Python"
    )
    assert os.listdir(tmp_path) == ["pages.jsonl"]


@pytest.mark.slow
def test_an_unknown_master_is_an_error(needs_java, tmp_path):
    told = said(scan(tmp_path, "--master", "no-such-master"))
    assert told.startswith("Spark does not start: ")
    assert "aster" in told


@pytest.mark.slow
def test_ctrl_c_ends_a_scan_and_leaves_nothing(needs_java, tmp_path):
    process = scan(tmp_path, "--master", "local[1]")
    deadline = time.monotonic() + 300
    while not list(tmp_path.glob(".unique.*/*")) and time.monotonic() < deadline:
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=100)
    assert (process.returncode, error) == (130, "interrupted\n")
    assert os.listdir(tmp_path) == ["pages.jsonl"]


@each(
    ("told", "line"),
    [
        (
            "[PYTHON_VERSION_MISMATCH] Python in worker has different version: 3.9 than that in "
            "driver: 3.11, PySpark cannot run with different minor versions.",
            "the executors have another version of Python than this one, "
            f"{sys.version_info[0]}.{sys.version_info[1]}: PYSPARK_PYTHON names theirs",
        ),
        (
            "Traceback (most recent call last):\n  ...\nModuleNotFoundError: No module named 'x'\n",
            "the executors cannot import what they need (No module named 'x'): they must have "
            "this environment (--archives with venv-pack or conda-pack, or --py-files; "
            "docs/scale.md)",
        ),
        (
            "An error\nCaused by: java.io.IOException: No space left\n\tat x",
            "IOException: No space left",
        ),
        ("first\nlast", "last"),
    ],
)
def test_what_spark_tells_is_put_into_one_line(told, line):
    assert one_line(told) == line
    assert issubclass(SparkError, ValueError)
