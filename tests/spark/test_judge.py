"""Records in DataFrames -> verdicts, as a scan on one machine has them."""

import random
from collections import Counter

import judged
import pytest
import without_spark
from cases import IS_THOROUGH, sampled
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from judged import COLUMNS

from dedup.detector import Detector
from dedup.evidence import NORMAL, STRICT
from dedup.methods import METHODS, Method
from dedup.record import PageRecord
from dedup.rule import Rule
from dedup.spark import judge


def judged_by_spark(spark, method, rule, scopes, chooser, **options):
    """Return what `judged.expected_with_objections` does, of collections by their scopes."""
    rows, starts = [], {}
    for scope, collection in scopes.items():
        starts[scope] = len(rows)
        rows += [
            (3 * (starts[scope] + place) - 50, own.key, scope, *own[2:])
            for place, own in enumerate(collection)
        ]
    shuffled = chooser.sample(rows, len(rows))
    records = spark.createDataFrame(shuffled, COLUMNS)
    answer = judge(records, method, rule, objections=True, **options).collect()
    found, objections = {}, {scope: Counter() for scope in scopes}
    for rank, verdict, original, distance, objection in answer:
        found[(rank + 50) // 3] = verdict, original and (original + 50) // 3, distance
        if objection is not None:
            objections[rows[(rank + 50) // 3][2]][objection] += 1
    assert sorted(found) == list(range(len(rows)))
    assert len(answer) == len(rows)
    return {
        scope: (
            [
                (place, verdict, original if original is None else original - start, distance)
                for place in range(len(scopes[scope]))
                for verdict, original, distance in [found[start + place]]
            ],
            objections[scope],
        )
        for scope, start in starts.items()
    }


def in_rounds():
    """Return records of one fingerprint, whose earliest repeat the text of another one."""
    first = PageRecord("a", "", 100, bytes(16), bytes(8))
    same = [first._replace(tokens=101 + n, sketch=b"\xff" * 8) for n in range(16)]
    others = [same[0]._replace(digest=n.to_bytes(16, "big")) for n in range(1, 300)]
    return [first, *same, *others]


RULES = st.builds(
    Rule,
    # So many words most texts have that are near: just enough.
    st.sampled_from([90, 20, 0]),
    st.sampled_from(["exact", "keep"]),
    st.sampled_from([NORMAL, STRICT, None]),
)
# One job of Spark takes seconds, however many small collections it judges. So each example has
# dozens of them, and a failure names the seed of its collection instead of being shrunk.
PHASES = [Phase.explicit, Phase.reuse, Phase.generate]


@pytest.mark.slow
@pytest.mark.parametrize("name", sampled(METHODS, "simhash", "exact", "segments", "verified"))
@settings(
    max_examples=2 if IS_THOROUGH else 1, phases=PHASES, suppress_health_check=list(HealthCheck)
)
@given(
    rule=RULES,
    seeds=st.sets(st.integers(0, 10**6), min_size=28, max_size=28),
    partitions=st.sampled_from([None, 1, 3]),
)
def test_random_collections_are_judged_as_in_a_scan(spark, name, rule, seeds, partitions):
    method = METHODS[name]()
    scopes = {f"{seed}": judged.by_chance(method, seed) for seed in sorted(seeds)}
    chooser = random.Random(min(seeds))
    found = judged_by_spark(spark, method, rule, scopes, chooser, partitions=partitions)
    for scope, collection in scopes.items():
        in_scope = [record._replace(scope=scope) for record in collection]
        assert found[scope] == judged.expected_with_objections(method, rule, in_scope), scope


@pytest.mark.parametrize("name", ["simhash", "verified"])
def test_a_crawl_says_of_random_pages_what_a_scan_says(name):
    method = METHODS[name]()
    for seed in range(12):
        collection, rule = judged.pages(method, seed), Rule()
        detector = Detector(method, rule, several_a_key=True)
        verdicts = [detector.judge(record) for record in collection]
        expected = [verdict for _, verdict, *_ in judged.expected(method, rule, collection)]
        assert [verdict.kind.value for verdict in verdicts] == expected, seed


@pytest.mark.slow
def test_what_matches_too_many_is_compared_again_in_another_round(spark):
    """Only the earliest of so many are compared with all others, and here these are dropped."""
    method, rule = METHODS["simhash"](), Rule()
    collection = in_rounds()
    assert without_spark.judged(method, rule, collection)[1] == 2
    found = judged_by_spark(spark, method, rule, {"": collection}, random.Random(2))
    assert found[""] == judged.expected_with_objections(method, rule, collection)


@pytest.mark.slow
def test_a_method_without_keys_is_refused(spark):
    class Keyless(Method):
        sketch = distance = to_bytes = from_bytes = None

    with pytest.raises(TypeError, match="Keyless is no KeyMethod"):
        judge(spark.createDataFrame([], COLUMNS), Keyless(), Rule())
