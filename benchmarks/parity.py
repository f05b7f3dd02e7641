"""That a crawl's judge, ``dedup scan`` and ``dedup scan --spark`` say the same of each record.

    python benchmarks/parity.py FOLDER... [--records N] [--methods M ...] [--master local[*]]

FOLDER has docs.jsonl, and may have the pages of HTML that it names. N texts are those of all
folders in an order by a seed, then copies of these with some words replaced; pages of HTML are
N / 10 at most. Each method judges the texts, the texts by scopes with the longest kept, and
the pages of HTML with evidence. Prints how many verdicts, originals and distances differ, and
exits with 1 if any does.
"""

import argparse
import json
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from drops import read_lines

from dedup import Deduplicator

METHODS = ("simhash", "minhash", "verified", "containment")
IN_SCOPES = ["--scope", "field:group", "--keep", "longest"]
IN_HTML = ["--html-field", "html"]
WORDS = ("river", "stone", "seven", "汽车")
Verdicts = dict[str, tuple[str, float]]
"""For each duplicate the record that it repeats, and their distance."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folders", type=Path, nargs="+", metavar="FOLDER")
    parser.add_argument("--records", type=int, default=20_000)
    parser.add_argument("--methods", nargs="*", default=METHODS)
    parser.add_argument("--master", default="local[*]")
    arguments = parser.parse_args()
    differ = 0
    with TemporaryDirectory(prefix="dedup-parity-") as temporary:
        for source, options in sources(arguments.folders, arguments.records, Path(temporary)):
            for method in arguments.methods:
                command = [source, "--method", method, *options]
                scan = scanned(command)
                others = {"Spark": scanned([*command, "--spark", arguments.master])}
                if options != IN_SCOPES:  # in the order of the records
                    others["Deduplicator"] = judged(source, method)
                for name, found in others.items():
                    number = sum(scan.get(key) != found.get(key) for key in scan | found)
                    differ += number
                    print(
                        f"{source.stem} {method} {' '.join(options)}: {len(scan):,} duplicates, "
                        f"{number:,} differ from those of {name}", flush=True,
                    )  # fmt: skip
    return int(differ > 0)


def sources(folders: list[Path], count: int, place: Path) -> Iterator[tuple[Path, list[str]]]:
    """Yield files of records below *place*, and with which options they are judged."""
    documents = [(folder, one) for folder in folders for one in read_lines(folder / "docs.jsonl")]
    texts = [
        {"text": one["text"], "group": folder.name} for folder, one in documents if one.get("text")
    ]
    chooser, own = random.Random(7), len(texts)
    while len(texts) < count:
        original = texts[chooser.randrange(own)]
        texts.append({**original, "text": edited(original["text"], chooser)})
    chooser.shuffle(texts)
    file = written(place / "texts.jsonl", texts[:count])
    yield from ((file, []), (file, IN_SCOPES))
    files = [folder / one["html"] for folder, one in documents if "html" in one]
    files = [file for file in files if file.is_file()]
    chooser.shuffle(files)
    if pages := [{"html": path.read_text("utf-8", "replace")} for path in files[: count // 10]]:
        yield written(place / "pages.jsonl", pages), IN_HTML


def edited(text: str, chooser: random.Random) -> str:
    words = text.split(" ")
    for _ in range(max(1, len(words) // 50)):
        words[chooser.randrange(len(words))] = chooser.choice(WORDS)
    return " ".join(words)


def written(path: Path, records: list[dict[str, Any]]) -> Path:
    with path.open("w") as file:
        for number, record in enumerate(records):
            record = {"url": f"http://{path.stem}.example/{number}", **record}
            file.write(f"{json.dumps(record)}\n")
    return path


def scanned(arguments: list[Any]) -> Verdicts:
    """Return the verdicts of ``dedup scan`` with *arguments*."""
    with TemporaryDirectory() as folder:
        output = Path(folder, "kept" if "--spark" in arguments else "kept.jsonl")
        clusters = Path(folder, "clusters.jsonl")
        command = [sys.executable, "-m", "dedup", "scan", *arguments, "-o", output]
        subprocess.run([*command, "--clusters", clusters], check=True, capture_output=True)
        files = sorted(clusters.glob("part-*")) if clusters.is_dir() else [clusters]
        return {
            duplicate["key"]: (cluster["key"], duplicate["distance"])
            for file in files
            for cluster in read_lines(file)
            for duplicate in cluster["duplicates"]
        }


def judged(source: Path, method: str) -> Verdicts:
    """Return the verdicts of the judge of a crawl on the records in *source*, in their order."""
    found: Verdicts = {}
    with Deduplicator(method) as pages:
        for record in read_lines(source):
            content = {name: record[name] for name in ("text", "html") if name in record}
            verdict = pages.add(record["url"], **content)
            if verdict.is_duplicate:
                found[record["url"]] = str(verdict.original), float(verdict.distance or 0.0)
    return found


if __name__ == "__main__":
    sys.exit(main())
