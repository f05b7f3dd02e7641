"""Disturbs crawls in all the ways that crawls are disturbed, and counts what is lost.

    python benchmarks/crash.py [--kills N] [--faults N] [--seed N] [--jobs N] [--json FILE]
    python benchmarks/crash.py --only SCENARIO [--round N] [--seed N] [--keep FOLDER]

Each round crawls a site that a server on loopback gives: every content is on several pages, and the
server notes which of them it gave. The crawl is killed, torn, signalled, starved of disk and so on,
two to five times, begun again each time, and at last everything is crawled once more, undisturbed.
After each disturbance every page that the ledger names must be in every feed, and at the end every
content, as a reader of that format finds them. All that is drawn depends on the seed, the scenario
and the number of the round only (when a signal arrives, on the machine, too).
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import count, islice
from pathlib import Path

from oracle.disturbances import DISTURBANCES
from oracle.rounds import Round, play
from oracle.scenarios import SCENARIOS


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--kills", type=int, default=30, help="in all (default: 30)")
    parser.add_argument("--faults", type=int, default=6, help="in all (default: 6)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", action="append", choices=SCENARIOS, metavar="SCENARIO",
                        help=f"of {', '.join(SCENARIOS)}")  # fmt: skip
    parser.add_argument("--rounds", type=int, help="of each scenario, whatever the other numbers")
    parser.add_argument("--round", type=int, help="play this round only")
    parser.add_argument("--jobs", type=int, default=1, help="rounds at a time (default: 1)")
    parser.add_argument("--json", type=Path, help="a file of the rounds")
    parser.add_argument("--keep", type=Path, help="a folder for the files of rounds that fail")
    arguments = parser.parse_args()
    rounds: list[Round] = []
    todo, running = wanted(arguments, rounds), set[Future[Round]]()
    with ThreadPoolExecutor(arguments.jobs) as pool:
        while True:
            pairs = islice(todo, arguments.jobs - len(running))
            running |= {pool.submit(play, *pair, arguments.seed, arguments.keep) for pair in pairs}
            if not running:
                break
            ended, running = wait(running, return_when=FIRST_COMPLETED)
            for future in ended:
                rounds.append(future.result())
                tell(rounds)
    if arguments.json:
        arguments.json.write_text(json.dumps({"rounds": list(map(vars, rounds))}, indent=1))
    print(table("scenario", rounds, SCENARIOS, lambda one: Counter([one.scenario])))
    print(table("disturbance", rounds, DISTURBANCES, lambda one: Counter(one.disturbances)))
    return 1 if any(one.violations for one in rounds) else 0


def wanted(arguments: argparse.Namespace, rounds: list[Round]) -> Iterator[tuple[str, int]]:
    """Yield scenarios and numbers, until the *rounds* that have ended are enough."""
    numbers: Iterable[int] = [arguments.round]
    if arguments.round is None:
        numbers = count() if arguments.rounds is None else range(arguments.rounds)
    for number in numbers:
        for name in arguments.only or SCENARIOS:
            kills, faults = totals(rounds)
            is_enough = kills >= arguments.kills and faults >= arguments.faults
            if is_enough and arguments.round is arguments.rounds is None:
                return
            yield name, number


def totals(rounds: list[Round]) -> tuple[int, int]:
    return sum(one.kills for one in rounds), sum(one.faults for one in rounds)


def tell(rounds: list[Round]) -> None:
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
        print(f"  repeat: {last.command}", flush=True)


COLUMNS = ("contents", "items", "surplus", "named")


def table(what: str, rounds: list[Round], names: Iterable[str], of) -> str:  # type: ignore[no-untyped-def]
    """Return a table of the rounds, by *what* they had, and of what was wrong."""
    kinds = sorted({kind for one in rounds for kind in one.violations})
    lines = [f"| {what} | times | rounds | kills | faults | {' | '.join((*COLUMNS, *kinds))} |"]
    lines.append("|---" * (5 + len(COLUMNS) + len(kinds)) + "|")
    for name in [*names, "all"]:
        times = [of(one).total() if name == "all" else of(one)[name] for one in rounds]
        some = [one for one, number in zip(rounds, times, strict=True) if number or name == "all"]
        if not some:
            continue
        cells = [sum(times), len(some), *totals(some)]
        cells += [sum(one.counts[column] for one in some) for column in COLUMNS]
        cells += [sum(kind in one.violations for one in some) for kind in kinds]
        lines.append(f"| {name} | {' | '.join(map(str, cells))} |")
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    sys.exit(main())
