"""Disturbs crawls in all the ways that crawls are disturbed, and counts what is lost.

    python benchmarks/crash.py [--kills N] [--faults N] [--seed N] [--jobs N] [--json FILE]
    python benchmarks/crash.py --only SCENARIO --rounds 1 [--first N] [--seed N] [--keep FOLDER]

Each round crawls a site that a server on loopback gives: every content is on several pages, and the
server notes which of them it gave. The crawl is killed, torn, signalled, starved of disk and so on,
two to five times, begun again each time, and at last everything is crawled once more, undisturbed.
After each disturbance every page that the ledger names must be in every feed, and at the end every
content, as a reader of that format finds them. All that is drawn depends on the seed, the scenario
and the number of the round only (when a signal arrives, on the machine, too).
"""

import argparse
import json
import shutil
import sys
import tempfile
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import count, repeat
from pathlib import Path
from random import Random

from oracle.crawling import Violations, prepared
from oracle.disturbances import DISTURBANCES, Disturber
from oracle.scenarios import SCENARIOS, Scenario, drawn
from oracle.site import served

MOST_DISTURBANCES = 5


@dataclass
class Round:
    """What came of a round."""

    scenario: str
    number: int
    seed: int
    feeds: list[str]
    disturbances: list[str] = field(default_factory=list)
    """Those that came in time."""
    missed: list[str] = field(default_factory=list)
    """Those that came too late."""
    counts: dict[str, int] = field(default_factory=dict)
    violations: Violations = field(default_factory=lambda: defaultdict(list))
    seconds: float = 0


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--kills", type=int, default=30, help="at least (default: 30)")
    parser.add_argument("--faults", type=int, default=6, help="at least (default: 6)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", action="append", choices=SCENARIOS)
    parser.add_argument("--rounds", type=int, help="of each scenario, whatever the other numbers")
    parser.add_argument("--first", type=int, default=0, help="number of the first round")
    parser.add_argument("--jobs", type=int, default=1, help="rounds at a time (default: 1)")
    parser.add_argument("--json", type=Path, help="a file of the rounds")
    parser.add_argument("--keep", type=Path, help="a folder for the files of rounds that fail")
    arguments = parser.parse_args()
    names, rounds = arguments.only or list(SCENARIOS), list[Round]()
    with ThreadPoolExecutor(arguments.jobs) as pool:
        for number in count(arguments.first):
            options = map(repeat, (number, arguments.seed, arguments.keep))
            for one in pool.map(play, names, *options):
                rounds.append(one)
                show_last(rounds)
            kills, faults = totals(rounds)
            is_enough = kills >= arguments.kills and faults >= arguments.faults
            if number + 1 - arguments.first == arguments.rounds or (
                is_enough and not arguments.rounds
            ):
                break
    if arguments.json:
        arguments.json.write_text(json.dumps({"rounds": list(map(vars, rounds))}, indent=1))
    print(table(rounds))
    return 1 if any(one.violations for one in rounds) else 0


def play(name: str, number: int, seed: int, keep: Path | None = None) -> Round:
    """Play round *number* of a scenario; if something is wrong, copy its files to *keep*."""
    rng = Random(f"{seed} {name} {number}")
    scenario = drawn(name, rng)
    result = Round(name, number, seed, scenario.feeds)
    begin = time.monotonic()
    with (
        tempfile.TemporaryDirectory(prefix="oracle-") as folder,
        served(scenario.contents, rng.choice((0.0, 0.01, 0.03))) as server,
        prepared(scenario, server, Path(folder)) as crawl,
    ):
        for _ in range(rng.randint(2, MOST_DISTURBANCES)):
            disturbance = drawn_disturbance(rng, scenario, crawl.has_disks)
            disturber = Disturber(crawl, Random(rng.random()), result.violations)
            came = DISTURBANCES[disturbance].play(disturber)
            (result.disturbances if came else result.missed).append(disturbance)
            crawl.check_ledger(result.violations, f"after {disturbance}")
        result.counts = crawl.finish(result.violations)
        if keep and result.violations:
            shutil.copytree(folder, keep / f"{name}-{seed}-{number}", dirs_exist_ok=True)
    result.seconds = round(time.monotonic() - begin, 1)
    return result


def drawn_disturbance(rng: Random, scenario: Scenario, has_disks: bool) -> str:
    """Return a disturbance that the scenario can have."""
    weights = {
        name: one.weight
        for name, one in DISTURBANCES.items()
        if (has_disks or not one.needs_disks)
        and (scenario.settings["DEDUP_WORKERS"] or not one.needs_workers)
    }
    return rng.choices(list(weights), list(weights.values()))[0]


def totals(rounds: list[Round]) -> tuple[int, int]:
    """Return how often crawls were killed, and how often disturbed in another way."""
    are_kills = [DISTURBANCES[name].is_kill for one in rounds for name in one.disturbances]
    return sum(are_kills), len(are_kills) - sum(are_kills)


def show_last(rounds: list[Round]) -> None:
    """Print a line for the last round, and all that is wrong with it."""
    last = rounds[-1]
    kills, faults = totals(rounds)
    came = [*last.disturbances, *(f"({name} too late)" for name in last.missed)]
    print(
        f"{kills} kills, {faults} faults: {last.scenario} {last.number} ({'+'.join(last.feeds)}), "
        f"{last.seconds} s: {', '.join(came)}",
        flush=True,
    )
    for kind, details in last.violations.items():
        print(f"  VIOLATION {kind}: {'; '.join(details)}")
    if last.violations:
        options = f"--only {last.scenario} --seed {last.seed} --first {last.number} --rounds 1"
        print(f"  repeat: python benchmarks/crash.py {options}", flush=True)


def table(rounds: list[Round]) -> str:
    """Return what the rounds of each scenario had, those with each disturbance, and all."""
    kinds = sorted({kind for one in rounds for kind in one.violations})
    columns = ["rounds", "kills", "faults", *rounds[0].counts, *kinds]
    lines = [f"| | {' | '.join(columns)} |", "|---" * (len(columns) + 1) + "|"]
    for name in (*SCENARIOS, *DISTURBANCES, "all"):
        some = [one for one in rounds if name in (one.scenario, *one.disturbances, "all")]
        if some:
            cells = [len(some), *totals(some)]
            cells += [sum(one.counts[column] for one in some) for column in rounds[0].counts]
            cells += [sum(kind in one.violations for one in some) for kind in kinds]
            lines.append(f"| {name} | {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
