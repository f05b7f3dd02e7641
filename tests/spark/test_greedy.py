"""Matches -> who is dropped."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dedup.spark.greedy import Standing, decide

MATCHES = st.sets(st.tuples(st.integers(0, 20), st.integers(0, 20)).filter(lambda p: p[0] < p[1]))


def decided(matches, incomplete=()):
    earlier, later = (np.array([match[side] for match in matches], np.int64) for side in (0, 1))
    result = decide(earlier, later, np.array(sorted(incomplete), np.int64))
    return dict(zip(result.nodes.tolist(), map(Standing, result.standings), strict=True))


@given(matches=MATCHES)
def test_whoever_matches_a_kept_earlier_one_is_dropped(matches):
    kept = set()
    for node in sorted({node for match in matches for node in match}):
        if not any((other, node) in matches for other in kept):
            kept.add(node)
    standings = decided(matches)
    assert {node for node, own in standings.items() if own == Standing.KEPT} == kept
    assert Standing.OPEN not in standings.values()


@given(matches=MATCHES, more=MATCHES)
def test_what_is_decided_stays_so_whatever_incomplete_ones_match_besides(matches, more):
    incomplete = {later for _, later in more - matches} | {one for one, _ in more - matches}
    early, last = decided(matches, incomplete), decided(matches | more)
    for node, own in early.items():
        if own != Standing.OPEN:
            assert last[node] == own


def test_nothing_is_decided_about_nobody():
    assert decided([]) == {}


def test_a_chain_is_decided_in_one_go():
    standings = decided([(node, node + 1) for node in range(10_000)])
    assert [standings[node] for node in range(6)] == [0, 1, 0, 1, 0, 1]
