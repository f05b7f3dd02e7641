"""The tables of docs/methods.md, from the output of `dedup evaluate --json`.

dedup evaluate FOLDER/labelled/reuters_a ... --method all --json > texts.json
dedup evaluate FOLDER/sites/... --extractor trafilatura --method all --json > extracted.json
python benchmarks/methods_table.py texts.json extracted.json
"""

import argparse
import json
from pathlib import Path
from typing import Any

COSTS_OF = "reuters_a"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("texts", type=Path)
    parser.add_argument("extracted", type=Path)
    arguments = parser.parse_args()
    rows = json.loads(arguments.texts.read_text())
    rows += [
        {**row, "collection": f"{row['collection']}, extracted"}
        for row in json.loads(arguments.extracted.read_text())
    ]
    by_place = {(row["collection"], row["method"]): row for row in rows}
    collections = list(dict.fromkeys(row["collection"] for row in rows))
    means = {
        method: sum(by_place[name, method]["f1"] for name in collections) / len(collections)
        for method in dict.fromkeys(row["method"] for row in rows)
    }
    methods = sorted(means, key=means.__getitem__, reverse=True)

    print("| collection | pages | pairs to find |\n|---|---|---|")
    for name in collections:
        row = by_place[name, methods[0]]
        print(f"| {name} | {row['pages']:,} | {row['pairs_to_find']:,} |")
    print("\nF1 (precision / recall), with the default arguments:")
    half = (len(collections) + 1) // 2
    for part in (collections[:half], collections[half:]):
        table([["method", *part]] + [[m, *(scores(by_place[c, m]) for c in part)] for m in methods])
    print("\nF1 of edited pairs only:")
    table(
        [["method", *collections]]
        + [[m, *(share(by_place[c, m]["f1_edited"], 3) for c in collections)] for m in methods]
    )
    print(f"\nThe mean F1 of all of them, and the cost on {COSTS_OF}:")
    costs = [[m, share(means[m], 3), *cost(by_place[COSTS_OF, m])] for m in methods]
    table([["method", "mean F1", "ms a page", "pages a second", "bytes a page"], *costs])


def scores(row: dict[str, Any]) -> str:
    if not row["pairs_found"]:
        return "–"
    return f"{share(row['f1'], 3)} ({share(row['precision'], 2)} / {share(row['recall'], 2)})"


def share(value: float, digits: int) -> str:
    """Return .97 for 0.97, and 1 only for 1."""
    if value == 1:
        return "1"
    return f"{min(value, 1 - 10**-digits):.{digits}f}".lstrip("0")


def cost(row: dict[str, Any]) -> tuple[str, str, str]:
    return (
        f"{row['cpu_ms_per_page']:.2f}",
        f"{row['pages_per_s']:,.0f}",
        f"{row['bytes_per_page']:,.0f}",
    )


def table(rows: list[list[str]]) -> None:
    print()
    header, *others = rows
    print("| " + " | ".join(header) + " |\n|" + "---|" * len(header))
    for method, *cells in others:
        print(f"| `{method}` | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
