"""Disturbs crawls in all the ways that crawls are disturbed, and counts what is lost.

    python benchmarks/crash.py [--kills N] [--faults N] [--seed N] [--jobs N] [--json FILE]
    python benchmarks/crash.py --only SCENARIO [--round N] [--seed N] [--keep FOLDER]

Each round crawls a site that a server on loopback gives: every content is on several pages, and the
server notes which of them it gave. The crawl is killed, torn, signalled, starved of disk and so on,
two to five times, begun again each time, and at last everything is crawled once more, undisturbed.
After each disturbance every page that the ledger names must be in every feed, and at the end every
content, as a reader of that format finds them. All that is drawn depends on the seed, the scenario
and the number of the round only (when a signal arrives, on the machine, too).

With --json the rounds are written to a file as they end, and those of the same seed that are in it
already are not played again: a long run may be played in pieces (--minutes).
"""

import argparse
import json
import sys
import time
from collections import Counter
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import asdict
from itertools import count
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
    parser.add_argument("--minutes", type=float, default=1e9, help="begin no round after")
    parser.add_argument("--json", type=Path, help="a file of the rounds")
    parser.add_argument("--keep", type=Path, help="a folder for the files of rounds that fail")
    arguments = parser.parse_args()
    rounds = read(arguments.json, arguments.seed)
    names = arguments.only or list(SCENARIOS)
    if arguments.round is not None:
        rounds, todo = [], iter([(name, arguments.round) for name in names])
    else:
        done = {(one.scenario, one.number) for one in rounds}
        turns = count() if arguments.rounds is None else range(arguments.rounds)
        pairs = ((name, number) for number in turns for name in names)
        todo = (pair for pair in pairs if pair not in done)
    end = time.monotonic() + 60 * arguments.minutes
    enough = False
    with ThreadPoolExecutor(arguments.jobs) as pool:
        running: set[Future[Round]] = set()
        while True:
            kills, faults = sum(one.kills for one in rounds), sum(one.faults for one in rounds)
            if arguments.round is arguments.rounds is None:
                enough = kills >= arguments.kills and faults >= arguments.faults
            while not enough and len(running) < arguments.jobs and time.monotonic() < end:
                pair = next(todo, None)
                if pair is None:
                    break
                running.add(pool.submit(play, *pair, arguments.seed, arguments.keep))
            if not running:
                break
            ended, running = wait(running, return_when=FIRST_COMPLETED)
            for future in ended:
                rounds.append(future.result())
                tell(rounds)
                if arguments.json:
                    write(rounds, arguments.json)
    print(table("scenario", rounds, list(SCENARIOS), lambda one: Counter([one.scenario])))
    print(table("disturbance", rounds, list(DISTURBANCES), lambda one: Counter(one.disturbances)))
    return 1 if any(one.violations for one in rounds) else 0


def tell(rounds: list[Round]) -> None:
    """Print a line for the last round, and all that is wrong with it."""
    last = rounds[-1]
    kills, faults = sum(one.kills for one in rounds), sum(one.faults for one in rounds)
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


def read(path: Path | None, seed: int) -> list[Round]:
    if path is None or not path.exists() or not (text := path.read_text()):
        return []
    rounds = [Round(**one) for one in json.loads(text)["rounds"]]
    return [one for one in rounds if one.seed == seed]


def write(rounds: list[Round], path: Path) -> None:
    aside = path.with_name(f"{path.name}.part")
    aside.write_text(json.dumps({"rounds": [asdict(one) for one in rounds]}, indent=1))
    aside.replace(path)


COLUMNS = ("contents", "items", "surplus", "named")


def table(what: str, rounds: list[Round], names: list[str], of) -> str:  # type: ignore[no-untyped-def]
    """Return a table of the rounds, by *what* they had, and of what was wrong."""
    kinds = sorted({kind for one in rounds for kind in one.violations})
    lines = [f"| {what} | times | rounds | kills | faults | {' | '.join((*COLUMNS, *kinds))} |"]
    lines.append("|---" * (5 + len(COLUMNS) + len(kinds)) + "|")
    for name in [*names, "all"]:
        some = [one for one in rounds if name == "all" or of(one)[name]]
        if not some:
            continue
        times = sum(of(one)[name] if name != "all" else of(one).total() for one in some)
        cells = [times, len(some), sum(one.kills for one in some), sum(one.faults for one in some)]
        cells += [sum(one.counts.get(column, 0) for one in some) for column in COLUMNS]
        cells += [sum(kind in one.violations for one in some) for kind in kinds]
        lines.append(f"| {name} | {' | '.join(map(str, cells))} |")
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    sys.exit(main())
