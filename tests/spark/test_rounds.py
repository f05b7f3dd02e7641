"""Who is dropped, decided by rounds over tables."""

import random

import numpy as np
import pytest

from dedup.spark.greedy import Standing, decide
from dedup.spark.rounds import standings

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(("seed", "most"), [(1, 0), (2, 30), (3, 10**6)])
def test_rounds_say_what_one_task_says(spark, seed, most):
    chooser = random.Random(seed)
    matches = {tuple(sorted(chooser.sample(range(100), 2))) for _ in range(90)}
    incomplete = sorted(chooser.sample(range(110), 9))
    rows = [(later, earlier) for earlier, later in matches] + [(node, None) for node in incomplete]
    rows += [(earlier, later) for earlier, later in list(matches)[:5]]  # for later copies only
    found = standings(spark.createDataFrame(rows, "page long, original long"), most)
    earlier, later = (np.array([match[side] for match in matches]) for side in (0, 1))
    expected = decide(earlier, later, np.array(incomplete))
    wanted = dict(zip(expected.nodes.tolist(), expected.standings.tolist(), strict=True))
    got = {row.node: row.standing for row in found.collect()}
    # Of those that are kept, some may be missing.
    assert {node: own for node, own in got.items() if own != Standing.KEPT} == {
        node: own for node, own in wanted.items() if own != Standing.KEPT
    }
    assert found.count() == len(got)
