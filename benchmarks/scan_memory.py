"""What ``dedup scan`` takes of memory, by the number of records and by the method.

    python benchmarks/scan_memory.py --records 100000 1000000 --methods simhash verified [--words N]

Records of random words, by a seed; one in ten repeats an earlier one. They are written to a file
below TMPDIR, which is removed at the end: 1.1 GB for a million of 166 words. What grows does not
depend on their length. The figures are the most memory that the processes of the scan had together.
"""

import argparse
import random
import sys
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from scan import run

WORDS = 20_000
REMEMBERED = 1_000
COPIES = 0.1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--records", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--methods", nargs="+", default=["simhash", "verified"])
    parser.add_argument("--words", type=int, default=166, help="of each record (default: 166)")
    parser.add_argument("--workers", default="1")
    arguments = parser.parse_args()
    print("| method | records | seconds | MB |\n|---|---|---|---|")
    for count in arguments.records:
        with TemporaryDirectory() as temporary:
            source, target = Path(temporary, "texts.jsonl"), Path(temporary, "unique.jsonl")
            with source.open("w", encoding="ascii") as file:
                for number, text in enumerate(texts(count, arguments.words)):
                    file.write(f'{{"url": "https://example.com/{number}", "text": "{text}"}}\n')
            for method in arguments.methods:
                command = [
                    sys.executable, "-m", "dedup", "scan", str(source), "-o", str(target),
                    "--method", method, "--workers", arguments.workers,
                ]  # fmt: skip
                figures = run(command, Path(temporary))
                seconds, megabytes = figures["seconds"], figures["megabytes"]
                print(f"| `{method}` | {count:,} | {seconds:,.0f} | {megabytes:,.0f} |", flush=True)
                target.unlink()
    return 0


def texts(count: int, words_of_a_text: int) -> Iterator[str]:
    chooser = random.Random(7)
    words = ["".join(chooser.choices("etaoinshrdlu", k=2 + n % 9)) for n in range(WORDS)]
    weights = [1 / (10 + rank) for rank in range(WORDS)]
    pool: list[str] = []
    latest: deque[str] = deque(maxlen=REMEMBERED)
    for _ in range(count):
        if latest and chooser.random() < COPIES:
            yield chooser.choice(latest)
            continue
        if len(pool) < words_of_a_text:
            pool = chooser.choices(words, weights, k=1 << 16)
        text = " ".join(pool[-words_of_a_text:])
        del pool[-words_of_a_text:]
        latest.append(text)
        yield text


if __name__ == "__main__":
    raise SystemExit(main())
