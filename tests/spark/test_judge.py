"""Records in DataFrames -> verdicts, as a scan on one machine has them."""

import random

import judged
import pytest
import without_spark
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from judged import COLUMNS

from dedup.evidence import NORMAL, STRICT
from dedup.methods import METHODS, Method
from dedup.record import PageRecord
from dedup.rule import Rule
from dedup.spark import judge


def judged_by_spark(spark, method, rule, scopes, chooser, **options):
    """Return the verdicts of collections by their scopes, as `judged.expected` has them of each."""
    rows, starts = [], {}
    for scope, collection in scopes.items():
        starts[scope] = len(rows)
        rows += [
            (3 * (starts[scope] + place) - 50, own.key, scope, *own[2:])
            for place, own in enumerate(collection)
        ]
    shuffled = chooser.sample(rows, len(rows))
    answer = judge(spark.createDataFrame(shuffled, COLUMNS), method, rule, **options).collect()
    found = {}
    for rank, verdict, original, distance in answer:
        found[(rank + 50) // 3] = verdict, original and (original + 50) // 3, distance
    assert sorted(found) == list(range(len(rows)))
    assert len(answer) == len(rows)
    return {
        scope: [
            (place, verdict, original if original is None else original - start, distance)
            for place in range(len(scopes[scope]))
            for verdict, original, distance in [found[start + place]]
        ]
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
@pytest.mark.parametrize("name", sorted(METHODS))
@settings(max_examples=2, phases=PHASES, suppress_health_check=list(HealthCheck))
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
        assert found[scope] == judged.expected(method, rule, in_scope), scope


@pytest.mark.slow
def test_what_matches_too_many_is_compared_again_in_another_round(spark):
    """Only the earliest of so many are compared with all others, and here these are dropped."""
    method, rule = METHODS["simhash"](), Rule()
    collection = in_rounds()
    assert without_spark.judged(method, rule, collection)[1] == 2
    found = judged_by_spark(spark, method, rule, {"": collection}, random.Random(2))
    assert found[""] == judged.expected(method, rule, collection)


@pytest.mark.slow
def test_a_method_without_keys_is_refused(spark):
    class Keyless(Method):
        sketch = distance = to_bytes = from_bytes = None

    with pytest.raises(TypeError, match="Keyless is no KeyMethod"):
        judge(spark.createDataFrame([], COLUMNS), Keyless(), Rule())
