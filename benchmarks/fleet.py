"""What fleets of processes do to a store, and what they have stored.

    python benchmarks/fleet.py conformance STORE [--kills N] [--stops N] [--seed N] [--keep FOLDER]
    python benchmarks/fleet.py speed STORE [--pages N ...] [--processes N ...] [--methods M ...]

In the conformance suite, eight processes crawl families of near pages together, over a server that
is started for that. They are killed, stopped for longer than their leases, and lose answers; the
server is killed, or loses what it had last. What they have stored is judged afterwards: no two near
pages, none called a duplicate of what is not stored, no content lost
(tests/stores/conformance.py). What fleets cost is measured by fleet_speed.py.
"""

import argparse
import sys
import tempfile
import time
from itertools import count, cycle
from pathlib import Path

ROOT = Path(__file__).parents[1]
TESTS = ROOT / "tests"
sys.path[:0] = map(str, [ROOT, TESTS, TESTS / "stores", TESTS / "scrapy_plugin"])

import fleet_speed  # noqa: E402
from conformance import PLANS, SERVERS, Result, play  # noqa: E402
from planted_faults import FAULTS  # noqa: E402
from pytest import skip  # noqa: E402, PT013


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("conformance", help="disturb fleets, and judge what they stored")
    command.set_defaults(run=conformance)
    command.add_argument("store", choices=SERVERS)
    command.add_argument("--kills", type=int, default=200, help="at least (default: 200)")
    command.add_argument("--stops", type=int, default=50, help="at least (default: 50)")
    command.add_argument("--seed", type=int, default=1)
    command.add_argument("--minutes", type=float, default=1e9, help="begin no round after")
    command.add_argument("--fault", choices=FAULTS, help="plant one, to see that it is found")
    command.add_argument("--keep", type=Path, help="a folder for the files of all rounds")
    command = commands.add_parser("speed", help="measure what a store and its processes take")
    command.set_defaults(run=fleet_speed.speed)
    command.add_argument("store", choices=SERVERS)
    command.add_argument("--pages", type=float, nargs="+", default=[1e4], help="in the store")
    command.add_argument("--processes", type=int, nargs="+", default=[1, 4, 8, 16])
    command.add_argument("--methods", choices=fleet_speed.METHODS, nargs="+", default=["simhash"])
    command.add_argument("--seconds", type=float, default=5.0, help="of each crawl")
    command.add_argument("--in-flight", type=int, default=16, help="pages of each process")
    arguments = parser.parse_args()
    code: int = arguments.run(arguments)
    return code


def conformance(arguments: argparse.Namespace) -> int:
    """Play rounds until there were enough kills and stops; 1 if anything is not as it must be."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        try:
            server = SERVERS[arguments.store](folder)
        except skip.Exception as reason:
            sys.exit(str(reason))
        try:
            results = rounds(server, folder, arguments)
        finally:
            server.stop()
    print(table(results))
    return 1 if any(result.violations for result in results.values()) else 0


def rounds(server, folder: Path, arguments: argparse.Namespace) -> dict[str, Result]:
    results: dict[str, Result] = {}
    end = time.monotonic() + 60 * arguments.minutes
    for seed, name in zip(count(1000 * arguments.seed), cycle(PLANS), strict=False):
        kills = sum(result.kills for result in results.values())
        stops = sum(result.stops for result in results.values())
        is_enough = kills >= arguments.kills and stops >= arguments.stops
        if (is_enough and name == next(iter(PLANS))) or time.monotonic() > end:
            return results
        plan = PLANS[name]
        if (plan.crashes and not server.can_crash) or (plan.shrinks and not server.can_shrink):
            continue
        begun = time.monotonic()
        result = play(plan.with_fault(arguments.fault), server, folder / str(seed), seed)
        told = f"{result.violations or 'as it must be'}, {time.monotonic() - begun:.0f} s"
        print(
            f"round {seed}, {name}: {result.kills} kills, {result.stops} stops: {told}", flush=True
        )
        for example in result.examples:
            print("   ", example, flush=True)
        results.setdefault(name, Result())
        results[name] += result
    raise AssertionError("counting does not end")


def table(results: dict[str, Result]) -> str:
    """Return what came of the rounds, in Markdown."""
    lines = ["", "| | " + " | ".join(results) + " | all |", "|---" * (len(results) + 2) + "|"]
    everything = Result()
    for result in results.values():
        everything += result
    columns = [*results.values(), everything]
    for name in ("rounds", "pages", "stored", "duplicates", "unchanged", "changed", "kills",
                 "stops", "crashes", "shrinks", "claims_lost", "waits_over"):  # fmt: skip
        figures = [f"{getattr(column, name):,}" for column in columns]
        lines.append(f"| {name.replace('_', ' ')} | " + " | ".join(figures) + " |")
    for counter, kind in (("excused", "both stored: "), ("violations", "WRONG: ")):
        for key in sorted(getattr(everything, counter)):
            figures = [f"{getattr(column, counter)[key]:,}" for column in columns]
            lines.append(f"| {kind}{key} | " + " | ".join(figures) + " |")
    if not everything.violations:
        lines.append("| anything wrong |" + " 0 |" * len(columns))
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
