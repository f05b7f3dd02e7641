"""Crawls that die: by SIGKILL at random moments, and on disks that are full."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from cases import sampled
from own_process import run_python

PROJECT = Path(__file__).parents[2]
BENCHMARKS = PROJECT / "benchmarks"
sys.path.append(str(BENCHMARKS))
from oracle.scenarios import SCENARIOS  # noqa: E402

pytestmark = pytest.mark.slow

LONGEST_OF_ALL_ROUNDS = 580
Rounds = dict[str, list[dict[str, Any]]]
PLAYED = sampled(SCENARIOS, "plain", "fields")


@pytest.fixture(scope="module")
def rounds(tmp_path_factory: pytest.TempPathFactory) -> Rounds:
    """The rounds of the benchmark's short form, by scenario."""
    file = tmp_path_factory.mktemp("crashes") / "rounds.json"
    file.touch()  # as `mktemp` does it
    only = [word for name in PLAYED for word in ("--only", name)]
    command = (BENCHMARKS / "crash.py", "--rounds", "1", "--jobs", "2", "--json", file, *only)
    done = run_python(*command, check=False, timeout=LONGEST_OF_ALL_ROUNDS)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    by_scenario: Rounds = {name: [] for name in PLAYED}
    for one in json.loads(file.read_text())["rounds"]:
        by_scenario[one["scenario"]].append(one)
    return by_scenario


def test_crawls_are_disturbed(rounds: Rounds):
    assert any(one["disturbances"] for [one] in rounds.values())


@pytest.mark.parametrize("scenario", PLAYED)
def test_no_content_is_lost_whatever_happens_to_the_crawl(rounds: Rounds, scenario: str):
    [one] = rounds[scenario]
    assert not one["violations"], (
        f"python benchmarks/crash.py --only {scenario} --rounds 1 --first {one['number']}"
    )
    assert one["counts"]["items"] >= one["counts"]["contents"] > 0
