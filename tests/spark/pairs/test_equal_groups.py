"""Of what is equal, the earliest few."""

from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dedup.spark.pairs.groups import Groups
from dedup.spark.pairs.pairs import Pairs


@given(which=st.lists(st.integers(0, 4), min_size=1), leaders=st.integers(1, 3))
def test_of_groups_all_pairs_are_found_of_which_one_leads(which, leaders):
    numbers = np.unique(which, return_inverse=True)[1]
    groups = Groups.of(numbers, leaders)
    count = numbers.max() + 1
    near = {pair for pair in combinations(range(count), 2) if sum(pair) % 2}
    found = [
        pair
        for pairs in groups.pairs(Pairs(*(np.array([p[n] for p in near], int) for n in (0, 1))))
        for pair in zip(pairs.earlier.tolist(), pairs.later.tolist(), strict=True)
    ]
    before = [list(numbers[:place]).count(own) for place, own in enumerate(numbers)]
    leads = [number < leaders for number in before]
    assert sorted(found) == [
        (one, two)
        for one, two in combinations(range(len(numbers)), 2)
        if leads[one] or leads[two]
        if numbers[one] == numbers[two] or tuple(sorted((numbers[one], numbers[two]))) in near
    ]
    assert sorted(groups.others.tolist()) == [n for n, own in enumerate(leads) if not own]
