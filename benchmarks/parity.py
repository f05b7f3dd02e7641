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
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from dedup import Deduplicator

METHODS = ("simhash", "minhash", "verified", "containment")
OPTIONS = ([], ["--scope", "field:group", "--keep", "longest"])
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
        place = Path(temporary)
        texts, pages = place / "texts.jsonl", place / "pages.jsonl"
        write(texts, texts_of(arguments.folders, arguments.records))
        has_pages = write(pages, pages_of(arguments.folders, arguments.records // 10)) > 0
        runs = [(texts, options) for options in OPTIONS]
        runs += [(pages, IN_HTML)] if has_pages else []
        for source, options in runs:
            for method in arguments.methods:
                command = [source, "--method", method, *options]
                scan = scanned(command, place / "scan")
                spark = scanned([*command, "--spark", arguments.master], place / "spark")
                others = {"Spark": spark}
                if options in ([], IN_HTML):  # in the order of the records, without scopes
                    others["Deduplicator"] = judged(source, method)
                for name, found in others.items():
                    number = sum(scan.get(key) != found.get(key) for key in scan | found)
                    differ += number
                    print(
                        f"{source.stem} {method} {' '.join(options)}: {len(scan):,} duplicates, "
                        f"{number:,} differ from those of {name}", flush=True,
                    )  # fmt: skip
    return int(differ > 0)


def texts_of(folders: Iterable[Path], count: int) -> Iterable[dict[str, Any]]:
    """Yield *count* texts of the documents in *folders*, some of them edited copies of others."""
    chooser = random.Random(7)
    texts = [
        (folder.name, document["text"])
        for folder in folders
        for document in map(json.loads, (folder / "docs.jsonl").open())
        if document.get("text")
    ]
    own = len(texts)
    while len(texts) < count:
        group, text = texts[chooser.randrange(own)]
        words = text.split(" ")
        for _ in range(max(1, len(words) // 50)):
            words[chooser.randrange(len(words))] = chooser.choice(WORDS)
        texts.append((group, " ".join(words)))
    chooser.shuffle(texts)
    for number, (group, text) in enumerate(texts[:count]):
        yield {"url": f"http://a.example/{number}", "text": text, "group": group}


def pages_of(folders: Iterable[Path], count: int) -> Iterable[dict[str, Any]]:
    """Yield *count* pages of HTML in *folders*, or as many as there are."""
    paths = [
        folder / document["html"]
        for folder in folders
        for document in map(json.loads, (folder / "docs.jsonl").open())
        if document.get("html") and (folder / document["html"]).is_file()
    ]
    random.Random(7).shuffle(paths)
    for number, path in enumerate(paths[:count]):
        yield {"url": f"http://b.example/{number}", "html": path.read_text("utf-8", "replace")}


def write(path: Path, records: Iterable[dict[str, Any]]) -> int:
    with path.open("w") as file:
        return sum(bool(file.write(f"{json.dumps(record)}\n")) for record in records)


def scanned(arguments: list[Any], place: Path) -> Verdicts:
    """Return the verdicts of ``dedup scan`` with *arguments*, which writes beside *place*."""
    is_spark = "--spark" in arguments
    output = place.with_name(f"{place.name}-kept" + ("" if is_spark else ".jsonl"))
    clusters = place.with_name(f"{place.name}-clusters.jsonl")
    subprocess.run(["rm", "-rf", output, clusters], check=True)
    command = [sys.executable, "-m", "dedup", "scan", *arguments, "-o", output]
    subprocess.run([*command, "--clusters", clusters], check=True, capture_output=True)
    files = sorted(clusters.glob("part-*")) if clusters.is_dir() else [clusters]
    return {
        duplicate["key"]: (cluster["key"], duplicate["distance"])
        for file in files
        for cluster in map(json.loads, file.open())
        for duplicate in cluster["duplicates"]
    }


def judged(source: Path, method: str) -> Verdicts:
    """Return the verdicts of the judge of a crawl on the records in *source*, in their order."""
    found: Verdicts = {}
    with Deduplicator(method) as pages:
        for record in map(json.loads, source.open()):
            content = {name: record[name] for name in ("text", "html") if name in record}
            verdict = pages.add(record["url"], **content)
            if verdict.is_duplicate:
                found[record["url"]] = str(verdict.original), float(verdict.distance or 0.0)
    return found


if __name__ == "__main__":
    sys.exit(main())
