"""Crawls that die: by SIGKILL at random moments, and on disks that are full."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from time import monotonic
from typing import Any

import pytest
from cases import sampled
from crawls import crawl_site, fill, known_site, remembered, urls_in
from texts import article, page
from web import served

from dedup.stores import LedgerError

PROJECT = Path(__file__).parents[2]
BENCHMARKS = PROJECT / "benchmarks"
sys.path.append(str(BENCHMARKS))
from oracle.crawling import Crawl, prepared  # noqa: E402
from oracle.scenarios import SCENARIOS, SETTINGS, Scenario  # noqa: E402
from oracle.site import plain  # noqa: E402
from oracle.site import served as served_contents  # noqa: E402

pytestmark = pytest.mark.slow

CONTENTS = 30
LONGEST_OF_ALL_ROUNDS = 580
Rounds = dict[str, list[dict[str, Any]]]
PLAYED = sampled(SCENARIOS, "formats", "compressed")


@pytest.fixture(scope="module")
def rounds(tmp_path_factory: pytest.TempPathFactory) -> Rounds:
    """The rounds of the benchmark's short form, by scenario."""
    file = tmp_path_factory.mktemp("crashes") / "rounds.json"
    file.touch()  # as `mktemp` does it
    only = [word for name in PLAYED for word in ("--only", name)]
    command = [BENCHMARKS / "crash.py", "--rounds", "1", "--jobs", "2", "--json", file, *only]
    done = subprocess.run(
        [sys.executable, *command],
        timeout=LONGEST_OF_ALL_ROUNDS,
        capture_output=True,
        text=True,
    )
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
        f"python benchmarks/crash.py --only {scenario} --round {one['number']}"
    )
    assert one["counts"]["items"] >= one["counts"]["contents"] > 0


@contextmanager
def disturbed_crawl(folder: Path, **settings: Any) -> Iterator[Crawl]:
    """A crawl of contents that are on three pages each, with checkpoints every 0.2 seconds."""
    settings = {**SETTINGS, "DEDUP_WORKERS": 0, "CHECKPOINT_INTERVAL": 0.2, **settings}
    scenario = Scenario(plain(Random(3), CONTENTS), ["jsonl"], settings)
    with (
        served_contents(scenario.contents) as server,
        prepared(scenario, server, folder) as crawl,
    ):
        yield crawl


SITE = {f"/{number}": page(article(number, words=400)) for number in range(12)}


def test_a_ledger_on_a_full_disk_costs_no_item(small_disk: Path, tmp_path: Path):
    """The disk is full from the third to the ninth item; then there is room again."""
    ledger, feed = small_disk / "pages.sqlite", tmp_path / "pages.jsonl"

    class Filling:
        def __init__(self) -> None:
            self.lock = asyncio.Lock()

        async def process_item(self, item: Any) -> Any:
            async with self.lock:
                name = item["url"].rpartition("/")[2]
                if name == "2":
                    fill(small_disk)
                if name == "8":
                    (small_disk / "filling").unlink()
                await asyncio.sleep(0.06)
            return item

    result = crawl_site(
        SITE, DEDUP_INDEX=ledger, limits={"CHECKPOINT_INTERVAL": 0.05},
        ITEM_PIPELINES={Filling: 300}, FEEDS={str(feed): {"format": "jsonlines"}},
    )  # fmt: skip
    assert len(urls_in(feed)) == 12
    assert result.stats["dedup/checkpoints/failed"] > 0
    assert any("disk is full" in message for message in result.messages())
    assert len(remembered(ledger)) == 12


def test_a_ledger_on_a_read_only_disk_stops_the_crawl_before_it_begins(small_disk: Path):
    with known_site(SITE, small_disk) as site:
        site.crawl("/1")
        subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
        with pytest.raises(
            (LedgerError, OSError, ValueError), match=r"[Rr]ead-only|readonly|cannot"
        ):
            site.crawl("/1")
        subprocess.run(["mount", "-o", "remount,rw", small_disk], check=True)
    assert remembered(site.ledger) == ["/1"]


@pytest.mark.slow
def test_a_ledger_that_is_removed_after_a_kill_is_forgotten_with_its_log(tmp_path: Path):
    """What a killed crawl had stored is gone with its feed, and so must be that it had."""
    found: dict[str, list[str]] = {}
    with disturbed_crawl(tmp_path, DOWNLOAD_DELAY=0.03) as crawl:
        process = crawl.start()
        deadline = monotonic() + 60
        while len(crawl.named_items()) < 6 and process.is_alive() and monotonic() < deadline:
            process.join(0.02)
        os.kill(process.pid or 0, signal.SIGKILL)
        crawl.end(process)
        assert Path(f"{crawl.ledger}-wal").stat().st_size > 0
        for path in (crawl.ledger, *crawl.paths()):
            path.unlink()
        crawl.finish(found)
        assert len({unit for _, unit in crawl.stored()["jsonl"]}) == CONTENTS
    assert found == {}


TEMPORARY_FILES = """
import json, sys
from crawls import crawl_paths, fill
from pathlib import Path
fill(Path(sys.argv[1]))
count, url, folder = int(sys.argv[2]), sys.argv[3], Path(sys.argv[4])
result = crawl_paths(
    url, *(f"/{number}" for number in range(count)), keep_log=False,
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
    folders = [str(PROJECT / "tests"), str(Path(__file__).parent), str(PROJECT)]
    with served(site) as url:
        done = subprocess.run(
            [sys.executable, "-c", TEMPORARY_FILES, small_disk, str(len(site)), url, tmp_path],
            env={**os.environ, "TMPDIR": str(small_disk), "SQLITE_TMPDIR": str(small_disk),
                 "PYTHONPATH": os.pathsep.join(folders)},
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    stats = json.loads(done.stdout)
    assert stats["item_scraped_count"] == len(urls_in(tmp_path / "feed.jsonl")) == len(site)
    assert len(remembered(tmp_path / "pages.sqlite")) == len(site)
    assert 0 < stats["dedup/texts_lost"] < len(site)
    assert "dedup/errors" not in stats
    assert "log_count/ERROR" not in stats
    assert len(list((tmp_path / "reports").glob("*Z.*"))) == 2
