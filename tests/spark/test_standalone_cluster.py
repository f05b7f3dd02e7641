"""``dedup scan --engine spark`` on a real cluster, whole and with a worker that dies."""

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import collections_on_disk as collections
import pytest
from cases import needs_time
from standalone import PYSPARK, Cluster
from test_scan_on_spark import check_figures, parts, some_texts

import dedup

pytestmark = pytest.mark.slow
SUBMIT = PYSPARK / "bin" / "spark-submit"
_SECONDS = 1200


@pytest.fixture
def cluster(needs_java, tmp_path):
    folder = tmp_path / "cluster"
    folder.mkdir()
    cluster = Cluster(folder)
    yield cluster
    cluster.stop()


def environment():
    path = os.pathsep.join([*filter(None, sys.path), os.environ.get("PYTHONPATH", "")])
    own = {"PYTHONPATH": path, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    return {**os.environ, **own}


def scan_here(pages, tmp_path):
    """Return the figures of a scan on one machine, which writes here.jsonl and here.clusters."""
    command = [sys.executable, "-m", "dedup", "scan", pages, "-o", tmp_path / "here.jsonl"]
    command += ["--clusters", tmp_path / "here.clusters", "--json", "-"]
    told = subprocess.run(command, check=True, capture_output=True, env=environment(), timeout=100)
    return json.loads(told.stdout)


def check_same(tmp_path):
    assert parts(tmp_path / "there") == (tmp_path / "here.jsonl").read_bytes()
    assert parts(tmp_path / "clusters") == (tmp_path / "here.clusters").read_bytes()
    assert sorted(os.listdir(tmp_path)) == [
        "cluster", "clusters", "here.clusters", "here.jsonl", "pages.jsonl", "there",
    ]  # fmt: skip


@needs_time  # so does one of which a worker dies
def test_a_cluster_gives_the_answer_of_one_machine(cluster, tmp_path):
    pages = collections.write(tmp_path / "pages.jsonl", some_texts(240))
    figures = scan_here(pages, tmp_path)
    command = [sys.executable, "-m", "dedup", "scan", pages, "-o", tmp_path / "there"]
    command += ["--clusters", tmp_path / "clusters", "--json", "-", "--partitions", "4"]
    command += ["--engine", "spark", "--master", cluster.url]
    done = subprocess.run(
        list(map(str, command)), capture_output=True, env=environment(), timeout=_SECONDS
    )
    assert (done.returncode, done.stderr.decode()) == (0, "")
    check_figures(figures, json.loads(done.stdout))
    check_same(tmp_path)


def test_a_worker_that_dies_in_the_middle_changes_nothing(cluster, tmp_path):
    """Under spark-submit, which runs the package as a script."""
    pages = collections.write(tmp_path / "pages.jsonl", some_texts(240))
    figures = scan_here(pages, tmp_path)
    script = Path(dedup.__file__).with_name("__main__.py")
    command = [SUBMIT, "--master", cluster.url, "--conf", "spark.ui.enabled=false", script]
    command += [
        "scan",
        "--engine",
        "spark",
        pages,
        "-o",
        tmp_path / "there",
        "--clusters",
        tmp_path / "clusters",
    ]
    command += ["--json", tmp_path / "cluster" / "figures", "--partitions", "4"]
    killed = threading.Event()
    with open(tmp_path / "cluster" / "submit.log", "wb") as log:
        process = subprocess.Popen(
            list(map(str, command)), stdout=log, stderr=log, env=environment()
        )
        try:
            deadline = time.monotonic() + _SECONDS
            while process.poll() is None and time.monotonic() < deadline:
                # All texts are read; they are being judged.
                if not killed.is_set() and list(tmp_path.glob(".there.*/rounds/*/*")):
                    cluster.kill_a_worker()
                    killed.set()
                time.sleep(0.05)
        finally:
            process.kill()
            process.wait()
    assert process.returncode == 0, (tmp_path / "cluster" / "submit.log").read_text()
    assert killed.is_set()
    check_figures(figures, json.loads((tmp_path / "cluster" / "figures").read_text()))
    check_same(tmp_path)
