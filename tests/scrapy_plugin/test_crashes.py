"""Crawls that die: by SIGKILL at random moments, and on disks that are full."""

import json
import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest
from cases import sampled
from crawls import remembered, urls_in
from own_process import run_python
from texts import page
from web import served

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


TEMPORARY_FILES = """
import json, sys
from crawls import crawl_paths, fill
from pathlib import Path
fill(Path(sys.argv[1]))
count, url, folder = int(sys.argv[2]), sys.argv[3], Path(sys.argv[4])
result = crawl_paths(
    url, *(f"/{number}" for number in range(count)), keep_log=False, DEDUP_EXTRACTOR=str,
    DEDUP_INDEX=folder / "pages.sqlite", DEDUP_REPORT=folder / "reports",
    FEEDS={str(folder / "feed.jsonl"): {"format": "jsonlines"}},
)
print(json.dumps(result.stats, default=str))
"""


@pytest.mark.slow
def test_a_full_disk_for_temporary_files_costs_no_item(small_disk: Path, tmp_path: Path):
    """SQLite asks once in a process where they go, so this is a process of its own."""
    chooser = Random(1)
    site = {
        f"/{number}": page(" ".join(chooser.randbytes(4).hex() for _ in range(4400)))
        for number in range(180)
    }
    folders = {"TMPDIR": str(small_disk), "SQLITE_TMPDIR": str(small_disk)}
    with served(site) as url:
        arguments = (small_disk, str(len(site)), url, tmp_path)
        done = run_python("-c", TEMPORARY_FILES, *arguments, env=folders)
    stats = json.loads(done.stdout)
    assert stats["item_scraped_count"] == len(urls_in(tmp_path / "feed.jsonl")) == len(site)
    assert len(remembered(tmp_path / "pages.sqlite")) == len(site)
    assert 0 < stats["dedup/texts_lost"] < len(site)
    assert "dedup/errors" not in stats
    assert "log_count/ERROR" not in stats
    assert len(list((tmp_path / "reports").glob("*Z.*"))) == 2
