"""``dedup scan --spark`` beside the scan on one machine, text-dedup and datatrove.

    python benchmarks/spark.py [--fingerprints 100000 1000000] [--texts 100000] [--peers PYTHON]

*Fingerprints*: records of simhash, as a crawl stores them, are judged by `dedup.spark.judge` in a
session on all cores, and by the judge of `dedup scan` in one process. A fifth are copies of others,
with up to 3 bits changed; nothing is near another by chance. *Texts*: synthetic ones of 200 words,
two fifths of them copies with up to 2 words in 100 changed, go from a file of JSONL to the kept
records, with each fast method on both engines, and with MinHash of text-dedup (its command) and of
datatrove (signatures, buckets, clusters, filter) with the same 3-word shingles.

Each contestant is a process of its own. CPU is that of all its processes, memory the most that they
have together, with the driver and the executors of Spark. Shuffled bytes, jobs and stages are those
of Spark's event log. PEERS has: pip install text-dedup 'datatrove[io,processing]' spacy
"""

import argparse
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from scan import memory_of_tree, text_dedup

METHODS = ("exact", "simhash", "minhash", "verified")
COPIES = 0.2
WORDS = 200
VOCABULARY = 20_000


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--fingerprints", type=int, nargs="*", default=[100_000, 1_000_000])
    parser.add_argument("--texts", type=int, nargs="*", default=[100_000])
    parser.add_argument("--methods", nargs="*", default=METHODS)
    parser.add_argument("--peers", help="the Python that has text-dedup and datatrove")
    parser.add_argument("--master", default="local[*]")
    parser.add_argument("--memory", default="4g", help="that of the driver (default: 4g)")
    parser.add_argument("--partitions", type=int)
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--run", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.run:
        name, source, target = arguments.run
        RUNS[name](Path(source), Path(target), arguments)
        return 0
    figures: list[dict[str, Any]] = []
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for count in arguments.fingerprints:
            source = folder / "fingerprints.parquet"
            write_fingerprints(source, count)
            for name in ("judge on Spark", "judge of scan"):
                figures.append(measure(name, [name, source], count, folder, arguments))
        for count in arguments.texts:
            source = folder / "texts.jsonl"
            write_texts(source, count)
            for command, name in contestants(source, folder, arguments):
                figures.append(measure(name, command, count, folder, arguments))
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=1))
    return 0


def contestants(
    source: Path, folder: Path, arguments: argparse.Namespace
) -> list[tuple[list[Any], str]]:
    scan = [sys.executable, "-m", "dedup", "scan", source, "--json", "-o"]
    spark = ["--spark", arguments.master]
    found: list[tuple[list[Any], str]] = []
    for method in arguments.methods:
        own = ["--method", method]
        found.append(([*scan, folder / f"{method}.jsonl", *own], f"scan, {method}"))
        found.append(([*scan, folder / f"{method}-parts", *own, *spark], f"Spark, {method}"))
    if arguments.peers is None:
        print("without --peers, text-dedup and datatrove are left out", file=sys.stderr)
        return found
    for name in ("text_dedup", "datatrove"):
        code = subprocess.run([arguments.peers, "-c", f"import {name}"], capture_output=True)
        if code.returncode:
            print(f"{arguments.peers} has no {name}", file=sys.stderr)
            continue
        target = folder / name
        target.mkdir(exist_ok=True)
        if name == "text_dedup":
            command = text_dedup(source, target, arguments.peers)
        else:
            command = [arguments.peers, __file__, "--run", name, source, target]
        found.append((command, name))
    return found


def measure(
    name: str, command: list[Any], count: int, folder: Path, arguments: argparse.Namespace
) -> dict[str, Any]:
    """Run a command, or a function of `RUNS` in a process of its own, and print its figures."""
    if command[0] in RUNS:
        options = ["--master", arguments.master]
        if arguments.partitions:
            options += ["--partitions", str(arguments.partitions)]
        command = [sys.executable, __file__, *options, "--run", *command, folder / "unused"]
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
    if arguments.partitions:
        settings["spark.sql.shuffle.partitions"] = str(arguments.partitions)
    own = " ".join(f"--conf {setting}={value}" for setting, value in settings.items())
    environment = {
        **os.environ,
        "PYSPARK_SUBMIT_ARGS": f"{own} pyspark-shell",
        "PYTHONPATH": os.pathsep.join(sys.path) if command[0] == sys.executable else "",
        "HF_HOME": str(folder),
        "HF_HUB_OFFLINE": "1",
    }
    start, most = time.perf_counter(), 0
    ticks: dict[int, int] = {}
    with (folder / "log").open("wb") as told:
        process = subprocess.Popen(
            list(map(str, command)), stdout=told, stderr=told, env=environment
        )
        while process.poll() is None:
            most = max(most, memory_of_tree(process.pid))
            note_ticks(process.pid, ticks)
            time.sleep(0.2)
    seconds = time.perf_counter() - start
    if process.returncode:
        raise SystemExit(f"{name}:\n{(folder / 'log').read_text()[-3000:]}")
    cpu = sum(ticks.values()) / os.sysconf("SC_CLK_TCK")
    figures = {
        "name": name, "count": count, "seconds": round(seconds, 1), "cpu_seconds": round(cpu, 1),
        "megabytes": round(most / 1e6), **events(log),
    }  # fmt: skip
    print(" | ".join(f"{key} {value}" for key, value in figures.items()), flush=True)
    return figures


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


def judge_on_spark(source: Path, target: Path, arguments: argparse.Namespace) -> None:
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


def judge_of_scan(source: Path, target: Path, arguments: argparse.Namespace) -> None:
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


def write_texts(path: Path, count: int) -> None:
    chooser = random.Random(7)
    words = [f"w{number:x}ord" for number in range(VOCABULARY)]
    texts: list[list[str]] = []
    with path.open("w") as file:
        for number in range(count):
            if texts and chooser.random() < 2 * COPIES:
                text = list(chooser.choice(texts))
                for _ in range(chooser.randrange(WORDS // 50 + 1)):
                    text[chooser.randrange(WORDS)] = chooser.choice(words)
            else:
                text = chooser.choices(words, k=WORDS)
                texts.append(text)
            file.write(json.dumps({"id": number, "text": " ".join(text)}) + "\n")


def with_datatrove(source: Path, target: Path, arguments: argparse.Namespace) -> None:
    from datatrove.executor import LocalPipelineExecutor
    from datatrove.pipeline.dedup import (
        MinhashDedupBuckets,
        MinhashDedupCluster,
        MinhashDedupFilter,
        MinhashDedupSignature,
    )
    from datatrove.pipeline.dedup.minhash import MinhashConfig
    from datatrove.pipeline.readers import JsonlReader
    from datatrove.pipeline.writers import JsonlWriter

    cores = len(os.sched_getaffinity(0))
    config = MinhashConfig(n_grams=3, num_buckets=25, hashes_per_bucket=4)
    # A task reads whole files only.
    parts = target / "parts"
    parts.mkdir()
    files = [(parts / f"{number}.jsonl").open("w") for number in range(cores)]
    with source.open() as lines:
        for number, line in enumerate(lines):
            files[number % cores].write(line)
    for file in files:
        file.close()
    of = {name: str(target / name) for name in ("signatures", "buckets", "removed", "kept")}
    steps: list[tuple[list[Any], int]] = [
        (
            [
                JsonlReader(str(parts)),
                MinhashDedupSignature(output_folder=of["signatures"], config=config),
            ],
            cores,
        ),
        (
            [
                MinhashDedupBuckets(
                    input_folder=of["signatures"], output_folder=of["buckets"], config=config
                )
            ],
            config.num_buckets,
        ),
        (
            [
                MinhashDedupCluster(
                    input_folder=of["buckets"], output_folder=of["removed"], config=config
                )
            ],
            1,
        ),
        (
            [
                JsonlReader(str(parts)),
                MinhashDedupFilter(input_folder=of["removed"]),
                JsonlWriter(of["kept"]),
            ],
            cores,
        ),
    ]
    for number, (pipeline, tasks) in enumerate(steps):
        LocalPipelineExecutor(
            pipeline, tasks=tasks, workers=cores, logging_dir=str(target / f"logs{number}")
        ).run()


RUNS: dict[str, Callable[[Path, Path, argparse.Namespace], None]] = {
    "judge on Spark": judge_on_spark,
    "judge of scan": judge_of_scan,
    "datatrove": with_datatrove,
}


if __name__ == "__main__":
    raise SystemExit(main())
