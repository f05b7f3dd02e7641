"""``dedup scan --spark`` on a real cluster, of which a worker dies."""

import json
import os
import subprocess
import sys
import time

import collections_on_disk as collections
import pytest
from standalone import Cluster
from test_scan_on_spark import check_same, parts, some_texts

pytestmark = pytest.mark.slow
_SECONDS = 600


def environment():
    path = os.pathsep.join([*filter(None, sys.path), os.environ.get("PYTHONPATH", "")])
    # Without both executors, nothing would be on two of them.
    settings = "spark.scheduler.minRegisteredResourcesRatio=1.0", "spark.sql.shuffle.partitions=4"
    whole = " ".join([*(f"--conf {setting}" for setting in settings), "pyspark-shell"])
    own = {"PYTHONPATH": path, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    return {**os.environ, **own, "PYSPARK_SUBMIT_ARGS": whole}


def test_a_worker_that_dies_in_the_middle_changes_nothing(needs_java, tmp_path):
    pages = collections.write(tmp_path / "pages.jsonl", some_texts(240))
    scan = [sys.executable, "-m", "dedup", "scan", pages, "--json"]
    here = [*scan, "-o", tmp_path / "unique.jsonl", "--clusters", tmp_path / "local.clusters"]
    told = subprocess.run(here, check=True, capture_output=True, env=environment(), timeout=100)
    (tmp_path / "cluster").mkdir()
    cluster = Cluster(tmp_path / "cluster")
    there = [*scan, "-o", tmp_path / "unique", "--clusters", tmp_path / "spark.clusters"]
    there += ["--spark", cluster.url]
    process = subprocess.Popen(
        list(map(str, there)), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment()
    )
    try:
        deadline = time.monotonic() + _SECONDS
        # The texts were read, and what was read is counted.
        while not list((tmp_path / "cluster").rglob("shuffle_*.data")):
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.05)
        cluster.kill_a_worker()
        figures, _ = process.communicate(timeout=_SECONDS)
    finally:
        process.kill()
        process.wait()
        cluster.stop()
    assert process.returncode == 0
    check_same(tmp_path, json.loads(told.stdout), json.loads(figures))
    assert parts(tmp_path / "unique") == (tmp_path / "unique.jsonl").read_bytes()
