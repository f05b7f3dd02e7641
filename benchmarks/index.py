"""The Hamming index against its peers, on uniform and on skewed fingerprints, in one run.

    python benchmarks/index.py FOLDER [--sizes N,...] [--full] [--json FILE] [--plot FILE.png]

FOLDER holds labelled/<name>/docs.jsonl; fingerprints.py makes the data of it. Peers that are not
installed are left out: pip install faiss-cpu gaoya simhash matplotlib. (simhash-py is a package of
the same name as simhash: install it into a folder of its own, and set SIMHASH_PY to that.)

Every competitor, data set and size runs in a process of its own, on one thread; a round takes all
competitors in turn, and the tables show medians over the rounds. Fingerprints are added one by one
until n are stored; then come single queries, a batch, all pairs, saving and loading, and at last,
as in a crawl, check-and-adds. Everyone gets its keys ready-made: a number, a row, an object. Only
gaoya takes nothing but texts, which it hashes within the clock: its fingerprints are its own, with
raw tf, and "(hash)" is the part of a query that goes into them. Whatever takes more than BUDGET
seconds is cut off there, and all pairs are then extrapolated (~). What would take much over LIMIT
seconds or a third of the memory, to judge by the size before, is left out, and the table says so.
"-": the competitor cannot, or has no figure. Bytes are what the resident memory grew by; the worst
add is its CPU time; a load ends with the first answer; "false" counts wrong answers.
"""

import argparse
import ctypes
import gc
import json
import math
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from fingerprints import MOST_REAL, NAMES, NEAR, prepare, skew, texts
from peers import BATCH, COMPETITORS, WIDE, Competitor, Gaoya

BUDGET, LIMIT, MEASURED_ONCE = 10.0, 600.0, 120.0
# A third: what is loaded again is there twice, and others may use the machine as well.
MEMORY = 0.33 * os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
COLUMNS = {
    "check_and_adds_per_s": ("check+add/s", ",.0f"),
    "miss_us": ("miss µs", ",.1f"),
    "miss_us_p95": ("p95", ",.1f"),
    "hit_us": ("hit µs", ",.1f"),
    "hit_us_p95": ("p95", ",.1f"),
    "hash_us": ("(hash)", ",.1f"),
    "batch_queries_per_s": ("batch/s", ",.0f"),
    "pairs_s": ("pairs s", ",.2f"),
    "pairs": ("pairs", ",.0f"),
    "bytes": ("bytes", ",.0f"),
    "adds_per_s": ("add/s", ",.0f"),
    "worst_add_ms": ("worst ms", ",.1f"),
    "load_s": ("load s", ",.3f"),
    "recall": ("recall", ".4f"),
    "false_matches": ("false", ",.0f"),
}


def measure(name: str, distance: int, data: str, path: Path, folder: Path) -> Iterator[dict]:
    """Yield figures as they become known."""
    kind = COMPETITORS[name]
    try:
        index = kind(distance)
        yield {"version": version(kind.package) if kind.package else platform.python_version()}
    except (ImportError, PackageNotFoundError) as error:
        yield {"skipped": f"not installed ({error})"}
        return
    except ValueError as error:
        yield {"skipped": str(error)}
        return
    if kind.takes_texts:
        index.text = texts(data, folder)
    arrays = dict(np.load(path))
    n = len(arrays["stored"])
    before = resident_bytes()
    seconds, worst = 0.0, 0.0
    for page, key in enumerate(index.keys(arrays["stored"], arrays["stored_texts"])):
        # The worst is CPU time: another process may take the core away for longer than an add.
        cpu, start = time.thread_time(), time.perf_counter()
        index.add(key, page)
        seconds += time.perf_counter() - start
        worst = max(worst, time.thread_time() - cpu)
    if not kind.finds_pairs_only:
        try:
            index.finish()
        except NotImplementedError as error:
            yield {"skipped": str(error)}
            return
        yield {"adds_per_s": n / seconds, "worst_add_ms": worst * 1e3}
        yield {"bytes": (resident_bytes() - before) / n}
        yield from queries(index, arrays)
    if distance != NEAR:
        return
    for figures in (batch, pairs, load, check_and_adds):
        with suppress(NotImplementedError):
            yield figures(index, arrays)


def resident_bytes() -> int:
    """Return the resident memory of this process, without garbage and files mapped into it."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    status = Path("/proc/self/status").read_text()
    return int(status.partition("RssAnon:")[2].split()[0]) * 1024


def queries(index: Competitor, arrays: Any) -> Iterator[dict]:
    keys = list(index.keys(arrays["queries"], arrays["queries_texts"]))
    answers, times, spent = [], [], 0.0
    for key in keys:
        start = time.perf_counter()
        answers.append(index.query(key))
        times.append(time.perf_counter() - start)
        if (spent := spent + times[-1]) > BUDGET:
            break
    found = np.array([answer is not None for answer in answers])
    if (own := index.own_prints(arrays)) is None:
        hits = found
    else:
        stored, asked, distances = (
            part[: len(answers)] if i else part for i, part in enumerate(own)
        )
        hits = distances <= index.max_distance
        pages = np.array([answer or 0 for answer in answers])
        given = np.bitwise_count(stored[pages] ^ asked)
        right = found & (given <= index.max_distance)
        yield {
            "recall": float(right[hits].mean()) if hits.any() else None,
            "false_matches": int((found & ~right).sum()),
            "not_the_nearest": int((right & (given != distances)).sum()),
            "skew": skew(stored),
        }
    micros = np.array(times) * 1e6
    yield {"query_us": float(np.median(micros))}
    for kind, chosen in (("miss", micros[~hits]), ("hit", micros[hits])):
        if len(chosen):
            median, p95 = np.percentile(chosen, (50, 95)).tolist()
            yield {f"{kind}_us": median, f"{kind}_us_p95": p95}
    if isinstance(index, Gaoya):
        yield {"hash_us": hash_us(index, keys)}


def hash_us(index: Gaoya, keys: list[str]) -> float:
    return statistics.mean(seconds_of(partial(index.hash, key)) for key in keys) * 1e6


def seconds_of(action: Callable[[], Any]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def batch(index: Competitor, arrays: Any) -> dict:
    """Query everything at once, or as much as there is time for."""
    asked = arrays["incoming"]
    few = seconds_of(lambda: index.query_many(asked[:BATCH]))
    asked = asked[: max(BATCH, min(len(asked), int(BATCH * BUDGET / few)))]
    return {"batch_queries_per_s": len(asked) / seconds_of(lambda: index.query_many(asked))}


def pairs(index: Competitor, arrays: Any) -> dict:
    start = time.perf_counter()
    work = index.pairs(arrays["stored"])
    share, found = next(work)
    while share < 1 and time.perf_counter() - start < BUDGET:
        share, found = next(work)
    seconds = time.perf_counter() - start
    figures = {"pairs_s": seconds / share, "pairs": round(found / share)}
    return figures if share == 1 else {**figures, "pairs_estimated": True}


def load(index: Competitor, arrays: Any) -> dict:
    """Load the saved index, and have it answer once."""
    key = next(index.keys(arrays["queries"], arrays["queries_texts"]))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "index"
        open_again = index.save(file)
        seconds = seconds_of(lambda: open_again().query(key))
        return {"load_s": seconds, "file_bytes": file.stat().st_size / len(arrays["stored"])}


def check_and_adds(index: Competitor, arrays: Any) -> dict:
    """Do what a crawl does, on top of what is stored."""
    keys = list(index.keys(arrays["incoming"], arrays["incoming_texts"]))
    hashed, spent = getattr(index, "hashed", 0), 0.0
    for done, key in enumerate(keys, 1):
        start = time.perf_counter()
        index.check_and_add(key, len(arrays["stored"]) + done - 1)
        if (spent := spent + time.perf_counter() - start) > BUDGET:
            break
    figures = {"check_and_adds_per_s": done / spent, "check_and_adds": done}
    if isinstance(index, Gaoya):
        spent -= (index.hashed - hashed) * hash_us(index, keys) / 1e6
        figures["check_and_adds_per_s_without_hash"] = done / spent
    return figures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sizes", default="10000,100000,1000000", help="numbers of fingerprints")
    parser.add_argument(
        "--full", action="store_true", help="10,000,000 as well, and of random 100,000,000"
    )
    parser.add_argument("--data", default="random,zh,en-tf", help=f"some of {', '.join(NAMES)}")
    parser.add_argument("--only", help="competitors whose names contain one of these, as in a,b")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--plot", type=Path, help="draw query cost against n into this file")
    parser.add_argument("--measure", nargs=4, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        name, distance, data, path = arguments.measure
        for figures in measure(name, int(distance), data, Path(path), arguments.folder):
            print(json.dumps(figures), flush=True)
        return 0
    sizes = [int(size) for size in arguments.sizes.split(",")] + [
        10_000_000,
        100_000_000,
    ] * arguments.full
    wanted = arguments.only.split(",") if arguments.only else [""]
    names = [name for name in COMPETITORS if any(part in name for part in wanted)]
    results = []
    for n in sorted(sizes):
        for data in arguments.data.split(","):
            if data != "random" and n > MOST_REAL:
                continue
            rows = compare(names, data, n, n == min(sizes), results, arguments)
            results += rows
            show(data, n, rows)
            if arguments.json:
                arguments.json.write_text(json.dumps(results, indent=1))
    if arguments.plot:
        plot(results, arguments.plot)
    return 0


def compare(
    names: list[str], data: str, n: int, smallest: bool, earlier: list[dict], arguments: Any
) -> list[dict]:
    """Return one object of medians for each competitor and distance, in rounds that take turns."""
    rows: dict[tuple[str, int], dict] = {}
    runs: dict[tuple[str, int], list[dict]] = defaultdict(list)
    for name in names:
        for distance in COMPETITORS[name].distances:
            size = min(n, COMPETITORS[name].largest)
            if size == n or smallest:
                row = {"competitor": name, "data": data, "n": size, "max_distance": distance}
                row["data_skew"] = float(np.load(prepare(data, size, arguments.folder))["skew"])
                rows[name, distance] = row
    for number in range(arguments.rounds):
        for (name, distance), row in rows.items():
            if number and ("skipped" in row or row["seconds"] > MEASURED_ONCE):
                continue
            if reason := too_much(row, earlier):
                row["skipped"] = reason
                continue
            print(f"{data} {row['n']:,} round {number + 1}: {name}, {distance}", file=sys.stderr)
            figures = run(name, distance, data, row["n"], arguments.folder)
            row["seconds"] = figures["seconds"]
            if "skipped" in figures:
                row["skipped"] = figures["skipped"]
            runs[name, distance].append(figures)
    for key, row in rows.items():
        row["rounds"] = len(runs[key])
        for figure in {figure: None for run in runs[key] for figure in run}:
            values = [run[figure] for run in runs[key] if run.get(figure) is not None]
            number = all(isinstance(value, int | float) for value in values)
            row[figure] = (statistics.median(values) if number else values[0]) if values else None
    return list(rows.values())


def too_much(row: dict, earlier: list[dict]) -> str | None:
    """Return why the next size is not worth trying, to judge by the last one."""
    same = ("competitor", "data", "max_distance")
    for old in reversed(earlier):
        if all(old[name] == row[name] for name in same) and old["n"] < row["n"]:
            if "skipped" in old:
                return old["skipped"]
            times = row["n"] / old["n"]
            if old["seconds"] * times > 2 * LIMIT:
                return f"over {LIMIT / 60:.0f} minutes, to judge by {old['n']:,}"
            if old.get("bytes", 0) * row["n"] > MEMORY:
                return f"{old['bytes'] * row['n'] / 2**30:.0f} GB of memory"
            return None
    return None


def run(name: str, distance: int, data: str, n: int, folder: Path) -> dict:
    """Measure in a process of its own; return what it got done in time."""
    path = prepare(data, n, folder)
    command = [sys.executable, __file__, str(folder), "--measure", name, str(distance), data, path]
    single = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "RAYON")}
    figures: dict[str, Any] = {}
    start = time.monotonic()
    with tempfile.TemporaryFile("w+") as out:
        try:
            subprocess.run(command, stdout=out, env=os.environ | single, timeout=LIMIT, check=True)
        except subprocess.TimeoutExpired:
            figures["skipped"] = f"stopped after {LIMIT / 60:.0f} minutes"
        except subprocess.CalledProcessError as error:
            figures["skipped"] = f"failed: {error.returncode}"
        out.seek(0)
        for line in out:
            figures.update(json.loads(line))
    figures["seconds"] = time.monotonic() - start
    return figures


def show(data: str, n: int, rows: list[dict]) -> None:
    near = [row for row in rows if row["max_distance"] == NEAR]
    fuller = near[0]["data_skew"]
    print(f"\n== {data}, n = {n:,}, distance {NEAR}, buckets {fuller:.1f} times as full as uniform")
    print(f"{'':24}" + "".join(f"{title:>12}" for title, _ in COLUMNS.values()))
    for row in near:
        cells = (cell(row, name, pattern) for name, (_, pattern) in COLUMNS.items())
        print(f"{row['competitor']:24}" + "".join(f"{text:>12}" for text in cells) + note(row, n))
    cost = {(row["competitor"], row["max_distance"]): row.get("query_us") for row in rows}
    print(f"\n{'query µs (x own at 3; x brute)':36}" + "".join(f"{d:>26}" for d in (NEAR, *WIDE)))
    for name in dict.fromkeys(row["competitor"] for row in rows if row["max_distance"] != NEAR):
        cells = []
        for distance in (NEAR, *WIDE):
            own, near_own = cost[name, distance], cost[name, NEAR]
            brute = cost.get(("brute force", distance)) or math.nan
            ratios = f" ({own / near_own:.1f}; {own / brute:.3f})" if own and near_own else ""
            cells.append(f"{own:,.1f}{ratios}" if own else "-")
        print(f"{name:36}" + "".join(f"{text:>26}" for text in cells))
    sys.stdout.flush()


def cell(row: dict, name: str, pattern: str) -> str:
    if row.get(name) is None:
        return "-"
    estimated = name == "pairs_s" and row.get("pairs_estimated")
    return "~" * bool(estimated) + format(row[name], pattern)


def note(row: dict, n: int) -> str:
    notes = [f"n = {row['n']}"] if row["n"] != n else []
    if without_hash := row.get("check_and_adds_per_s_without_hash"):
        notes.append(f"{without_hash:,.0f} check+add/s without hashing")
        if row.get("skew"):
            notes.append(f"own buckets {row['skew']:.1f} times as full")
    return "  ".join(["", *notes, row.get("skipped", "")])


def plot(results: list[dict], path: Path) -> None:
    """Draw the median cost of a query that finds nothing, by n and data."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    smallest = min(row["n"] for row in results if COMPETITORS[row["competitor"]].largest > row["n"])
    near = [
        {**row, "us": max(0.1, row["miss_us"] - row.get("hash_us", 0.0))}
        for row in results
        if row["max_distance"] == NEAR and row["n"] >= smallest and row.get("miss_us")
    ]
    names = list(dict.fromkeys(row["competitor"] for row in near))
    panels = list(dict.fromkeys(row["data"] for row in near))
    figure, axes = plt.subplots(
        1, len(panels), figsize=(4.6 * len(panels), 4.6), sharey=True, squeeze=False
    )
    for axis, data in zip(axes[0], panels, strict=True):
        for i, name in enumerate(names):
            rows = [row for row in near if (row["competitor"], row["data"]) == (name, data)]
            ours = name.startswith("dedup")
            axis.loglog(
                [row["n"] for row in rows],
                [row["us"] for row in rows],
                marker="os^Dv"[i % 5],
                markersize=5 if ours else 4,
                linewidth=2.6 if ours else 1.2,
                color=f"C{i}",
                zorder=3 if ours else 2,
                label=f"{name}, without hashing" * COMPETITORS[name].takes_texts or name,
            )
        fuller = max(row["data_skew"] for row in near if row["data"] == data)
        axis.set_title(data if data == "random" else f"{data}: buckets {fuller:.0f} x as full")
        axis.set_xlabel("fingerprints stored")
        axis.grid(which="major", alpha=0.3)
        axis.spines[["top", "right"]].set_visible(False)
    axes[0][0].set_ylabel("µs a query without a match (median)")
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=5, frameon=False)
    figure.set_layout_engine("constrained")
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    sys.exit(main())
