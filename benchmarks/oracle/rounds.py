"""Rounds: a crawl of a scenario, some disturbances, an end without any, and what was found."""

import shutil
import tempfile
import time
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from oracle.crawling import Violations, prepared
from oracle.disturbances import DISTURBANCES, Disturber
from oracle.scenarios import Scenario, drawn
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

    @property
    def kills(self) -> int:
        return sum(DISTURBANCES[name].is_kill for name in self.disturbances)

    @property
    def faults(self) -> int:
        return len(self.disturbances) - self.kills

    @property
    def options(self) -> str:
        """What repeats the round alone."""
        return f"--only {self.scenario} --seed {self.seed} --first {self.number} --rounds 1"


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
        and (not one.needs_setting or scenario.settings.get(one.needs_setting))
    }
    return rng.choices(list(weights), list(weights.values()))[0]
