"""The judge of ``dedup scan`` on Spark, beside the same judge in one process.

    python benchmarks/spark.py [--fingerprints 100000 1000000] [--master MASTER]

Records of simhash, as a crawl stores them, are judged by `dedup.spark.judge` in a session on all
cores, and by the judge of `dedup scan` in one process. A fifth are copies of others, with up to 3
bits changed; nothing is near another by chance.

Each contestant is a process of its own. CPU is that of all its processes, memory the most that they
have together, with the driver and the executors of Spark. Shuffled bytes, jobs and stages are those
of Spark's event log.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from scan import memory_of_tree

COPIES = 0.2


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--fingerprints", type=int, nargs="*", default=[100_000, 1_000_000])
    parser.add_argument("--master", default="local[*]")
    parser.add_argument("--memory", default="4g", help="that of the driver (default: 4g)")
    parser.add_argument("--partitions", type=int)
    parser.add_argument("--run", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.run:
        name, source = arguments.run
        RUNS[name](Path(source), arguments)
        return 0
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        source = folder / "fingerprints.parquet"
        for count in arguments.fingerprints:
            write_fingerprints(source, count)
            for name in RUNS:
                figures = measure(name, source, folder, arguments)
                print(" | ".join(f"{key} {value}" for key, value in figures.items()), flush=True)
    return 0


def measure(name: str, source: Path, folder: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    """Run a function of `RUNS` in a process of its own, and return its figures."""
    command = [sys.executable, __file__, "--master", arguments.master, "--run", name, str(source)]
    if arguments.partitions:
        command[2:2] = ["--partitions", str(arguments.partitions)]
    log = folder / "events"
    log.mkdir(exist_ok=True)
    for old in log.iterdir():
        old.unlink()
    settings = {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": f"file://{log}",
        "spark.eventLog.compress": "false",
        "spark.eventLog.rolling.enabled": "false",
        "spark.driver.memory": arguments.memory,
        "spark.local.dir": str(folder),
    }
    own = " ".join(f"--conf {setting}={value}" for setting, value in settings.items())
    environment = {**os.environ, "PYSPARK_SUBMIT_ARGS": f"{own} pyspark-shell"}
    environment["PYTHONPATH"] = os.pathsep.join(sys.path)
    start, most = time.perf_counter(), 0
    ticks: dict[int, int] = {}
    with (folder / "log").open("wb") as told:
        process = subprocess.Popen(command, stdout=told, stderr=told, env=environment)
        while process.poll() is None:
            most = max(most, memory_of_tree(process.pid))
            note_ticks(process.pid, ticks)
            time.sleep(0.2)
    seconds = time.perf_counter() - start
    if process.returncode:
        raise SystemExit(f"{name}:\n{(folder / 'log').read_text()[-3000:]}")
    cpu = sum(ticks.values()) / os.sysconf("SC_CLK_TCK")
    return {
        "name": name, "seconds": round(seconds, 1), "cpu_seconds": round(cpu, 1),
        "megabytes": round(most / 1e6), **events(log),
    }  # fmt: skip


def note_ticks(process: int, ticks: dict[int, int]) -> None:
    """Note the CPU time of a process and of all that it started: nobody may wait for some."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        tasks = list(Path(f"/proc/{process}/task").iterdir())
        children = [child for task in tasks for child in (task / "children").read_text().split()]
    except OSError:
        return
    ticks[process] = int(fields[11]) + int(fields[12])
    for child in children:
        note_ticks(int(child), ticks)


def events(folder: Path) -> dict[str, int]:
    """Return what Spark's log of events says of all its tasks."""
    shuffled = jobs = stages = 0
    for path in folder.rglob("*"):
        for line in path.read_text().splitlines() if path.is_file() else ():
            event = json.loads(line)
            kind = event["Event"]
            jobs += kind == "SparkListenerJobStart"
            stages += kind == "SparkListenerStageCompleted"
            if kind == "SparkListenerTaskEnd" and (metrics := event.get("Task Metrics")):
                shuffled += metrics["Shuffle Write Metrics"]["Shuffle Bytes Written"]
    return {"shuffled_megabytes": round(shuffled / 1e6), "jobs": jobs, "stages": stages}


def write_fingerprints(path: Path, count: int) -> None:
    """Write records of simhash, of which a fifth are copies of those before them."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    chooser = np.random.default_rng(5)
    prints = chooser.integers(0, 1 << 64, count, np.uint64, endpoint=False)
    copies = np.flatnonzero(chooser.random(count) < COPIES)
    copies = copies[copies > 0]
    of = (chooser.random(len(copies)) * copies).astype(np.int64)
    changed = np.zeros(len(copies), np.uint64)
    for _ in range(3):
        changed |= np.uint64(1) << chooser.integers(0, 64, len(copies), np.uint64)
    prints[copies] = prints[of] ^ changed
    digests = chooser.bytes(16 * count)
    table = pa.table(
        {
            "row": np.arange(count),
            "key": pa.array([""] * count),
            "scope": pa.array([""] * count),
            "tokens": np.full(count, 200),
            "digest": pa.array([digests[n : n + 16] for n in range(0, 16 * count, 16)]),
            "sketch": pa.array([row.tobytes() for row in prints]),
            "evidence": pa.nulls(count, pa.binary()),
            "is_binary": np.zeros(count, np.bool_),
            "item": pa.nulls(count, pa.binary()),
        }
    )
    pq.write_table(table, path, row_group_size=1 << 17)


def judge_on_spark(source: Path, arguments: argparse.Namespace) -> None:
    from pyspark.sql import SparkSession

    from dedup.methods import SimHash
    from dedup.rule import Rule
    from dedup.spark import judge

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master(arguments.master).config("spark.ui.enabled", False)
    parts = arguments.partitions or 4 * len(os.sched_getaffinity(0))
    session = builder.config("spark.sql.shuffle.partitions", parts).getOrCreate()
    records = session.read.parquet(str(source))
    judged = judge(records, SimHash(), Rule(), has_pages=False)
    print({row.verdict: row["count"] for row in judged.groupBy("verdict").count().collect()})
    session.stop()


def judge_of_scan(source: Path, arguments: argparse.Namespace) -> None:
    import pyarrow.parquet as pq

    from dedup.methods import SimHash
    from dedup.record import PageRecord
    from dedup.rule import Rule
    from dedup.scan.record_judge import RecordJudge

    judge = RecordJudge(SimHash(), Rule())
    first = 0
    for batch in pq.ParquetFile(source).iter_batches(256):
        columns = (batch.column(name).to_pylist() for name in ("tokens", "digest", "sketch"))
        records = [PageRecord("", "", *row) for row in zip(*columns, strict=True)]
        judge.outcome.fates += bytes(len(records))
        judge.judge(range(first, first + len(records)), records)
        first += len(records)
    print(sum(judge.outcome.keep))


RUNS = {"judge on Spark": judge_on_spark, "judge of scan": judge_of_scan}


if __name__ == "__main__":
    raise SystemExit(main())
