"""Crawl two real sites with versions side by side, with and without DEDUP_PREFER.

    python benchmarks/prefer.py FOLDER [--json FILE]

FOLDER is that of benchmarks/sites.py. A group is a stored page and those that were dropped for it.
"""

import argparse
import json
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.sites import SITES, run
from dedup.preference import URL_CRITERIA, Copy, Preference

CRITERIA = ["canonical", "https", "clean-url", "newest-version"]
PREFERENCE = Preference((name, URL_CRITERIA[name]) for name in CRITERIA)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    arguments = parser.parse_args()
    figures = {}
    for name in SITES:
        outcomes = {
            label: run(arguments.folder / "sites" / name, DEDUP_PREFER=criteria)
            for label, criteria in (("without", []), ("with", CRITERIA))
        }
        figures[name] = {label: figures_of(outcome) for label, outcome in outcomes.items()}
        print(f"== {name}")
        for what in figures[name]["with"]:
            without, with_ = (figures[name][label][what] for label in ("without", "with"))
            print(f"{what:44} {without!s:>8} {with_!s:>8}")
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=1))
    return 0


def figures_of(outcome: dict[str, Any]) -> dict[str, Any]:
    """Return what was kept of each group, and in which order pages came."""
    groups = defaultdict(list)
    for url, original, _ in outcome["dropped"]:
        groups[original].append(url)
    best_of_site = min(rank(url) for url in outcome["pages"])
    best = [rank(kept) <= min(map(rank, copies)) for kept, copies in groups.items()]
    preferred = [
        rank(kept) == best_of_site
        for kept, copies in groups.items()
        if best_of_site in map(rank, [kept, *copies])
    ]
    return {
        "pages fetched": len(outcome["pages"]),
        "stored": len(outcome["stored"]),
        "dropped": len(outcome["dropped"]),
        "groups": len(groups),
        "groups that keep their best copy": share(best),
        "groups with a copy in the site's preferred form": len(preferred),
        "of these, that keep it": share(preferred),
        "of the first half of the pages, preferred": share(
            [rank(url) == best_of_site for url in outcome["pages"][: len(outcome["pages"]) // 2]]
        ),
    }


def rank(url: str) -> tuple[int, ...]:
    return PREFERENCE.rank(Copy(url))


def share(values: list[bool]) -> float | None:
    return round(sum(values) / len(values), 3) if values else None


if __name__ == "__main__":
    sys.exit(main())
