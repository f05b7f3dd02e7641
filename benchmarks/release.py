"""Run all long proofs, one after the other, before a release: some hours on an idle machine.

    python benchmarks/release.py [--quick] [FOLDER_OR_ARCHIVE ...]

Crawls that are killed, torn and starved of disk (crash.py), fleets of processes over each store,
and the faults that are planted in them (fleet.py), mutated pages, of which some are
those of the folders and archives that are named (fuzz.py), a crawl of many pages (load.py), and
all tests with all that they can try (THOROUGH=1). The documentation has its figures from here.
Exit code 1 if anything is wrong; with --quick each is as short as can be, to see that it works.
"""

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
STORES = ("sqlite", "redis", "postgresql")
FAULTS = ("look_once", "drop_for_open_claims", "take_all_for_unchanged", "expire_the_living",
          "ignore_losses")  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("paths", nargs="*", help="folders or tar archives with pages, for fuzz.py")
    parser.add_argument("--quick", action="store_true", help="only see that all of them work")
    arguments = parser.parse_args()
    wrong = [name for name in proofs(arguments.quick, arguments.paths) if not holds(name)]
    print("all as it must be" if not wrong else f"WRONG: {'; '.join(wrong)}")
    return 1 if wrong else 0


def proofs(quick: bool, paths: list[str]) -> list[str]:
    """Return the commands, as they are given to Python; what a planted fault runs must fail."""
    kills, few = ("3", "1") if quick else ("2000", "400")
    crash = f"crash.py --kills {kills} --faults {few} --jobs {os.cpu_count()}"
    rounds = "--kills 1 --stops 0" if quick else "--kills 200 --stops 50"
    fleets = [f"fleet.py {store} {rounds}" for store in STORES]
    faults = [f"fleet.py redis {rounds} --fault {fault}" for fault in FAULTS]
    fuzz = " ".join(["fuzz.py --pages", "50" if quick else "100000", *paths])
    load = f"load.py --pages {200 if quick else 50_000}"
    tests = "-m pytest -q" + (" tests/index/test_keys.py" if quick else "")
    return [crash, *fleets, *faults, fuzz, load, tests]


def holds(proof: str) -> bool:
    """Run a command, and tell whether it ended as it must."""
    print(f"+ {proof}", flush=True)
    begun = time.monotonic()
    words = proof.split()
    command = words if words[0] == "-m" else [str(ROOT / "benchmarks" / words[0]), *words[1:]]
    environment = {**os.environ, "THOROUGH": "1"}
    code = subprocess.run([sys.executable, *command], cwd=ROOT, env=environment).returncode
    is_right = (code == 1) if "--fault " in proof else (code == 0)
    print(f"{'as it must be' if is_right else 'WRONG'}: {proof}, "
          f"{(time.monotonic() - begun) / 60:.0f} minutes", flush=True)  # fmt: skip
    return is_right


if __name__ == "__main__":
    sys.exit(main())
