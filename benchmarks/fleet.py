"""What fleets of processes have stored, whatever happened to them and to their server.

    python benchmarks/fleet.py STORE [--kills N] [--stops N] [--seed N] [--keep FOLDER]

Eight processes crawl families of near pages together, over a server that is started for that. They
are killed, stopped for longer than their leases, and lose answers; the server is killed, or loses
what it had last. What they have stored is judged afterwards: no two near pages, none called a
duplicate of what is not stored, no content lost (tests/stores/conformance.py). Exit code 1 if
anything is not as it must be.
"""

import argparse
import sys
import tempfile
import time
from dataclasses import replace
from itertools import count, cycle
from pathlib import Path

ROOT = Path(__file__).parents[1]
TESTS = ROOT / "tests"
sys.path[:0] = map(str, [ROOT, TESTS, TESTS / "stores", TESTS / "scrapy_plugin"])

from conformance import COUNTED, PLANS, SERVERS, Result, play  # noqa: E402
from planted_faults import FAULTS  # noqa: E402
from pytest import skip  # noqa: E402, PT013


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("store", choices=SERVERS)
    parser.add_argument("--kills", type=int, default=200, help="at least (default: 200)")
    parser.add_argument("--stops", type=int, default=50, help="at least (default: 50)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--fault", choices=FAULTS, help="plant one, to see that it is found")
    parser.add_argument("--keep", type=Path, help="a folder for the files of all rounds")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        try:
            server = SERVERS[arguments.store](folder)
        except skip.Exception as reason:
            sys.exit(str(reason))
        try:
            result = rounds(server, folder, arguments)
        finally:
            server.stop()
    rows = {name: result.counts[name] for name in COUNTED}
    rows |= {f"both stored: {why}": result.excused[why] for why in sorted(result.excused)}
    rows |= {f"WRONG: {what}": result.violations[what] for what in sorted(result.violations)}
    rows["anything wrong"] = result.violations.total()
    print("", "| | all rounds |", "|---|---|", sep="\n")
    print(*(f"| {name} | {figure:,} |" for name, figure in rows.items()), sep="\n")
    return 1 if result.violations else 0


def rounds(server, folder: Path, arguments: argparse.Namespace) -> Result:
    """Play all plans in turn, until there were enough kills and stops."""
    everything = Result()
    for seed, name in zip(count(1000 * arguments.seed), cycle(PLANS), strict=False):
        kills, stops = everything.counts["kills"], everything.counts["stops"]
        is_enough = kills >= arguments.kills and stops >= arguments.stops
        if is_enough and name == next(iter(PLANS)):
            break
        plan = PLANS[name]
        if (plan.crashes and not server.can_crash) or (plan.shrinks and not server.can_shrink):
            continue
        begun = time.monotonic()
        result = play(replace(plan, fault=arguments.fault), server, folder / str(seed), seed)
        what = f"{result.counts['kills']} kills, {result.counts['stops']} stops"
        outcome = f"{result.violations or 'as it must be'}, {time.monotonic() - begun:.0f} s"
        print(f"round {seed}, {name}: {what}: {outcome}", flush=True)
        for example in result.examples:
            print("   ", example, flush=True)
        everything += result
    return everything


if __name__ == "__main__":
    sys.exit(main())
