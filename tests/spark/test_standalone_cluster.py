"""``dedup scan --spark`` on a real cluster, of which a worker dies."""

import json
import subprocess
import sys
import time

import collections_on_disk as collections
import pytest
from commands import json_of
from standalone import Cluster, environment
from test_scan_on_spark import check_same, parts, some_texts

pytestmark = pytest.mark.slow
_SECONDS = 600


# Without both executors, nothing would be on two of them.
SETTINGS = """--conf spark.scheduler.minRegisteredResourcesRatio=1.0
--conf spark.sql.shuffle.partitions=4 pyspark-shell"""


def test_a_worker_that_dies_in_the_middle_changes_nothing(needs_java, capsys, tmp_path):
    pages = collections.write(tmp_path / "pages.jsonl", some_texts(240))
    here = "-o", tmp_path / "unique.jsonl", "--clusters", tmp_path / "local.clusters"
    told = json_of(capsys, "scan", pages, *here)
    (tmp_path / "cluster").mkdir()
    cluster = Cluster(tmp_path / "cluster")
    there = [sys.executable, "-m", "dedup", "scan", pages, "--json", "--spark", cluster.url]
    there += ["-o", tmp_path / "unique", "--clusters", tmp_path / "spark.clusters"]
    how = environment(PYSPARK_PYTHON=sys.executable, PYSPARK_SUBMIT_ARGS=SETTINGS)
    process = subprocess.Popen(
        list(map(str, there)), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=how
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
    check_same(tmp_path, told, json.loads(figures))
    assert parts(tmp_path / "unique") == (tmp_path / "unique.jsonl").read_bytes()
