"""``dedup scan`` beside rensa: from a file of texts to unique ones.

    python benchmarks/scan.py FOLDER --peers PEERS/bin/python [--records N]

FOLDER holds, at any depth, collections of texts: docs.jsonl (id, text, lang) and pairs.tsv, whose
texts are left out, since others are like them. Every English text is repeated with edits, by a
seed: heavy ones (40 of 100 words are others) make a text of its own, light ones (up to 4 of 100) a
copy of that; a copy may have none. So what is a copy of what is known by construction.

Each contestant is a process of its own, which reads the same file of JSONL and writes the unique
records, and what is a copy of what; dedup starts a worker for each core, unless it is alone. Rounds
take turns; a figure is the median of its rounds. F1 is that of all pairs of records in one cluster.

PEERS is a virtual environment with: pip install rensa
"""

import argparse
import json
import os
import random
import re
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import combinations, count, islice, product
from pathlib import Path
from tempfile import TemporaryDirectory

HEAVY, LIGHT = 0.4, 0.04
SHORTEST = 50
BATCH = 1_000
SIMILARITY = 0.65  # of 3-word shingles, as estimated by 128 minimums


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--peers", default=sys.executable, help="the Python that has rensa")
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="+", default=list(CONTESTANTS), choices=CONTESTANTS)
    parser.add_argument("--rensa", nargs=2, type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.rensa:
        run_rensa(*arguments.rensa)
        return
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        texts = texts_of(arguments.folder)
        truth = write_records(folder / "texts.jsonl", texts, arguments.records)
        copies = sum(len(family) - 1 for family in truth)
        print(f"{arguments.records:,} texts of {len(texts):,}, {copies:,} of them copies")
        show(compete(arguments, folder, truth), arguments.records)


def texts_of(folder: Path) -> list[list[str]]:
    """Return the texts, as words with the blanks after them, that no labelled pair names."""
    texts = []
    for path in sorted(folder.rglob("docs.jsonl")):
        labels = path.with_name("pairs.tsv").read_text("utf-8").splitlines()[1:]
        paired = {key for line in labels for key in line.split("\t")[:2]}
        for line in path.read_text("utf-8").splitlines():
            page = json.loads(line)
            pieces = re.findall(r"\S+\s*", page["text"])
            if page["lang"] == "en" and page["id"] not in paired and len(pieces) >= SHORTEST:
                texts.append(pieces)
    return texts


def write_records(path: Path, texts: list[list[str]], count: int) -> list[list[int]]:
    """Write *count* records to *path* in random order; return the numbers of each family."""
    chooser = random.Random(7)
    # As frequent as in the texts, and without digits: to some methods, another number makes
    # another text.
    words = [word for text in texts for word in text if word.strip().isalpha()]
    records: list[tuple[int, str]] = []
    family = 0
    while len(records) < count:
        own = texts[family % len(texts)]
        if family >= len(texts):
            own = edited(own, HEAVY, words, chooser)
        for _ in range(min(chooser.choice((1, 1, 1, 2, 3)), count - len(records))):
            share = chooser.choice((0.0, LIGHT / 2, LIGHT))
            records.append((family, "".join(edited(own, share, words, chooser))))
        family += 1
    chooser.shuffle(records)
    truth: dict[int, list[int]] = defaultdict(list)
    with path.open("w", encoding="utf-8") as file:
        for number, (of, text) in enumerate(records):
            truth[of].append(number)
            file.write(json.dumps({"id": number, "text": text}, ensure_ascii=False) + "\n")
    return list(truth.values())


def edited(text: list[str], share: float, words: list[str], chooser: random.Random) -> list[str]:
    text = list(text)
    for place in chooser.sample(range(len(text)), round(share * len(text))):
        text[place] = chooser.choice(words)
    return text


def compete(
    arguments: argparse.Namespace, folder: Path, truth: list[list[int]]
) -> dict[str, list[dict[str, float]]]:
    rounds: dict[str, list[dict[str, float]]] = defaultdict(list)
    for number in range(arguments.rounds):
        for name in arguments.only:
            own = folder / f"{name}-{number}".replace(" ", "-")
            own.mkdir()
            figures = run(CONTESTANTS[name](folder / "texts.jsonl", own, arguments.peers), own)
            figures["f1"] = f1(clusters_in(own), truth)
            rounds[name].append(figures)
            print(f"  {name}: {figures['seconds']:.1f} s", file=sys.stderr, flush=True)
    return rounds


def run(command: list[str], folder: Path) -> dict[str, float]:
    """Run *command*; return its seconds, the CPU seconds of all its processes, and its memory."""
    with (folder / "log").open("wb") as log:
        before, start = os.times(), time.perf_counter()
        process = subprocess.Popen(command, stdout=log, stderr=log)
        most = 0
        while process.poll() is None:
            most = max(most, memory_of_tree(process.pid))
            time.sleep(0.1)
        seconds, after = time.perf_counter() - start, os.times()
    if process.returncode:
        raise SystemExit(f"{command}:\n{(folder / 'log').read_text()[-2000:]}")
    cpu = after.children_user + after.children_system
    cpu -= before.children_user + before.children_system
    return {"seconds": seconds, "cpu_seconds": cpu, "megabytes": most / 1e6}


def memory_of_tree(process: int) -> int:
    """Return the proportional memory of a process and of all that it started, in bytes."""
    try:
        rollup = Path(f"/proc/{process}/smaps_rollup").read_text()
        pss = int(rollup.partition("Pss:")[2].split()[0]) * 1024
        tasks = list(Path(f"/proc/{process}/task").iterdir())
        children = [child for task in tasks for child in (task / "children").read_text().split()]
    except (OSError, IndexError):
        return 0
    return pss + sum(map(memory_of_tree, map(int, children)))


def f1(clusters: Iterable[list[int]], truth: list[list[int]]) -> float:
    found = {pair for cluster in clusters for pair in combinations(sorted(cluster), 2)}
    wanted = {pair for family in truth for pair in combinations(sorted(family), 2)}
    return 2 * len(found & wanted) / (len(found) + len(wanted))


def show(rounds: dict[str, list[dict[str, float]]], records: int) -> None:
    print("| | texts a second | texts a CPU second | MB | F1 |")
    print("|---|---|---|---|---|")
    for name, figures in rounds.items():
        of = {key: statistics.median(one[key] for one in figures) for key in figures[0]}
        speeds = [records / of[seconds] for seconds in ("seconds", "cpu_seconds")]
        columns = [*(f"{speed:,.0f}" for speed in speeds), f"{of['megabytes']:,.0f}"]
        print(f"| {' | '.join([name, *columns, format(of['f1'], '.3f')])} |")


def dedup(method: str, source: Path, target: Path, _: str, *, is_alone: bool) -> list[str]:
    return [
        sys.executable, "-m", "dedup", "scan", str(source), "-o", str(target / "unique.jsonl"),
        "--clusters", str(target / "clusters"), "--method", method, *["--workers=1"] * is_alone,
    ]  # fmt: skip


def rensa(source: Path, target: Path, python: str) -> list[str]:
    return [python, __file__, ".", "--rensa", str(source), str(target)]


CONTESTANTS: dict[str, Callable[[Path, Path, str], list[str]]] = {
    **{
        f"dedup {name}{', alone' * is_alone}": partial(dedup, name, is_alone=is_alone)
        for name, is_alone in product(("simhash", "minhash", "verified"), (False, True))
    },
    "rensa": rensa,
}
"""The command of each, of the file, a folder of its own, and the Python that has rensa."""


def clusters_in(target: Path) -> Iterator[list[int]]:
    with (target / "clusters").open() as file:
        for line in map(json.loads, file):
            yield [record["number"] - 1 for record in (line, *line["duplicates"])]


def run_rensa(source: Path, target: Path) -> None:
    """Write the unique lines of *source*, and what `clusters_in` reads."""
    from rensa import RMinHash, RMinHashDeduplicator

    # A power of two, which its makers say is the fastest; more bands would be slower.
    kept = RMinHashDeduplicator(SIMILARITY, 128, True, 32)
    clusters, numbers = defaultdict[int, list[int]](list), count(1)
    with source.open() as lines, (target / "unique.jsonl").open("w") as unique:
        while batch := list(islice(lines, BATCH)):
            sketches = RMinHash.from_token_sets(list(map(shingles_of, batch)), 128, 42)
            own = list(islice(numbers, len(batch)))
            is_new = kept.add_pairs(zip(map(str, own), sketches, strict=True))
            for number, line, sketch, new in zip(own, batch, sketches, is_new, strict=True):
                if new:
                    unique.write(line)
                else:
                    clusters[min(map(int, kept.get_duplicates(sketch)))].append(number)
    with (target / "clusters").open("w") as file:
        for original, copies in clusters.items():
            duplicates = [{"number": number} for number in copies]
            file.write(f"{json.dumps({'number': original, 'duplicates': duplicates})}\n")


def shingles_of(line: str) -> list[str]:
    """Return the 3-word shingles of a record, as fast as Python makes them."""
    words = re.findall(r"\w+", json.loads(line)["text"].lower())
    return list(map(" ".join, zip(words, words[1:], words[2:], strict=False)))


if __name__ == "__main__":
    main()
