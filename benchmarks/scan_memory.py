"""What ``dedup scan`` takes of memory, by the number of records and by the method.

    python benchmarks/scan_memory.py --records 100000 1000000 --methods simhash verified [--words N]

Records of 1 kB of English words, by a seed; one in ten repeats an earlier one. They are written
to a file below TMPDIR, which is removed at the end: 1.1 GB for a million. What grows does not
depend on their length: with fewer words, ten million are read within minutes. The figures are what
the scan said beforehand, the most memory that its processes had together, and the most of the main
process, which is what grows.
"""

import argparse
import random
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from scan import memory_of_tree

SIZE = 1_000
WORDS = 20_000
REMEMBERED = 1_000
COPIES = 0.1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--records", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--methods", nargs="+", default=["simhash", "verified"])
    parser.add_argument("--words", type=int, default=166, help="of each record (default: 166)")
    parser.add_argument("--workers", default="1")
    parser.add_argument("--write", type=Path, help="only write the first number of records there")
    arguments = parser.parse_args()
    if arguments.write:
        write_records(arguments.write, arguments.records[0], arguments.words)
        return 0
    print("| method | records | seconds | said, MB | all, MB | main process, MB |")
    print("|---|---|---|---|---|---|")
    for count in arguments.records:
        with TemporaryDirectory() as temporary:
            source = Path(temporary, "texts.jsonl")
            write_records(source, count, arguments.words)
            for method in arguments.methods:
                target = Path(temporary, "unique.jsonl")
                figures = " | ".join(measure(source, target, method, arguments.workers))
                print(f"| `{method}` | {count:,} | {figures} |", flush=True)
                target.unlink()
    return 0


def write_records(path: Path, count: int, words: int) -> None:
    with path.open("w", encoding="ascii") as file:
        for number, text in enumerate(texts(count, words)):
            file.write(f'{{"url": "https://example.com/{number}", "text": "{text}"}}\n')


def texts(count: int, words_of_a_text: int) -> Iterator[str]:
    chooser = random.Random(7)
    letters = "etaoinshrdlu"
    words = ["".join(chooser.choices(letters, k=2 + n % 9)) for n in range(WORDS)]
    weights = [1 / (10 + rank) for rank in range(WORDS)]
    pool: list[str] = []
    latest: list[str] = []
    for number in range(count):
        if latest and chooser.random() < COPIES:
            yield chooser.choice(latest)
            continue
        if len(pool) < words_of_a_text:
            pool = chooser.choices(words, weights, k=1 << 16)
        text = " ".join(pool[-words_of_a_text:])[:SIZE]
        del pool[-words_of_a_text:]
        if len(latest) < REMEMBERED:
            latest.append(text)
        else:
            latest[number % REMEMBERED] = text
        yield text


def measure(source: Path, target: Path, method: str, workers: str) -> list[str]:
    command = [
        sys.executable, "-m", "dedup", "scan", str(source), "-o", str(target), "--method", method,
        "--workers", workers,
    ]  # fmt: skip
    start = time.perf_counter()
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    most = most_of_main = 0
    while process.poll() is None:
        most = max(most, memory_of_tree(process.pid))
        most_of_main = max(most_of_main, peak_of(process.pid))
        time.sleep(0.2)
    assert process.stderr is not None
    said = process.stderr.read()
    if process.returncode:
        raise SystemExit(said)
    estimate = re.search(r"about ([\d.,]+ \w+)", said)
    seconds = f"{time.perf_counter() - start:,.0f}"
    megabytes = (f"{size / 1e6:,.0f}" for size in (most, most_of_main))
    return [seconds, estimate[1] if estimate else "–", *megabytes]


def peak_of(process: int) -> int:
    try:
        status = Path(f"/proc/{process}/status").read_text()
    except OSError:
        return 0
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    return int(found[1]) * 1024 if found else 0


if __name__ == "__main__":
    raise SystemExit(main())
