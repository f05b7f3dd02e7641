"""Records in DataFrames -> verdicts, as a scan on one machine has them."""

import os
import random
import signal
from collections import Counter
from contextlib import suppress
from itertools import product

import judged
import pytest
from cases import sampled

from dedup.evidence import NORMAL
from dedup.methods import METHODS, SimHash
from dedup.rule import Rule
from dedup.spark import judge
from dedup.spark.judge import find_components

pytestmark = pytest.mark.slow


def judged_by_spark(spark, method, rule, collection, **options):
    rows = [(number, *record) for number, record in enumerate(collection)]
    shuffled = random.Random(1).sample(rows, len(rows))
    frame = spark.createDataFrame(shuffled, judged.COLUMNS).repartition(3)
    answer = sorted(judge(frame, method, rule, **options).collect())
    assert [row.row for row in answer] == list(range(len(rows)))
    objections = Counter(row.objection for row in answer if row.objection)
    return [tuple(row)[:4] for row in answer], objections


STRICT = Rule(min_tokens=90, demands=NORMAL._replace(titled_tokens=10**6))
WITHOUT_EVIDENCE = Rule(0, demands=None)


@pytest.mark.parametrize(
    ("name", "rule"),
    sampled(
        product(METHODS, (Rule(), STRICT, WITHOUT_EVIDENCE)),
        *product(("simhash", "containment"), [Rule()]),
        ("verified", STRICT),
        ("exact", WITHOUT_EVIDENCE),
    ),
)
def test_random_collections_are_judged_as_in_a_scan(spark, name, rule):
    """Many small ones, each in a scope of its own, are judged at once: a job takes seconds."""
    method = METHODS[name]()
    collection = [
        record._replace(scope=f"{seed}")
        for seed in range(24)
        for record in judged.by_chance(method, seed)
    ]
    expected = judged.expected(method, rule, collection)
    near = sum(verdict[1] == "near-duplicate" for verdict in expected[0])
    assert name == "exact" or near > 50
    in_tasks = judged_by_spark(spark, method, rule, collection, records_of_a_task=0)
    assert in_tasks == expected
    if rule.demands == NORMAL:  # all of a scope in one task
        assert judged_by_spark(spark, method, rule, collection) == expected


@pytest.mark.parametrize("name", sampled(["simhash", "minhash", "verified"], "minhash"))
def test_texts_are_judged_as_in_a_scan_of_texts(spark, name):
    method, rule = METHODS[name](), Rule()
    collection = [record for seed in range(8) for record in judged.records(method, seed)]
    expected = judged.expected(method, rule, collection, has_pages=False)
    options = {"has_pages": False, "records_of_a_task": 0}
    assert judged_by_spark(spark, method, rule, collection, **options) == expected


def test_what_is_connected_is_found_in_rounds_as_in_one_task(spark):
    chooser = random.Random(3)
    links = {(n + 1, n) for n in range(40)} | {(50 + n, 50) for n in range(1, 30)}
    links |= {(chooser.randrange(1_000, 1_100), chooser.randrange(900, 1_000)) for _ in range(50)}
    frame = spark.createDataFrame(sorted(links), "one long, other long")
    in_rounds, in_one = (
        sorted(map(tuple, find_components(frame, most).collect())) for most in (2, 1_000)
    )
    assert in_rounds == in_one
    assert {component for node, component in in_one if node < 50} == {0}


def test_a_killed_worker_of_python_changes_nothing(spark, tmp_path):
    class Deadly(SimHash):
        def keys_of_many(self, sketches):
            with suppress(FileExistsError):
                (tmp_path / "killed").touch(exist_ok=False)
                os.kill(os.getpid(), signal.SIGKILL)
            return super().keys_of_many(sketches)

    collection = [record for seed in range(8) for record in judged.pages(SimHash(), seed)]
    expected = judged.expected(SimHash(), Rule(), collection)
    assert judged_by_spark(spark, Deadly(), Rule(), collection, records_of_a_task=0) == expected
    assert (tmp_path / "killed").exists()
