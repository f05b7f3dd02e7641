import random

from dedup.report.sample import Sample


def test_the_same_are_drawn_whatever_the_order():
    keys = [f"http://a/{n}" for n in range(1000)]
    drawn = []
    for seed in range(3):
        random.Random(seed).shuffle(keys)
        sample = Sample(20)
        for key in keys:
            sample.add(key, len(key))
        drawn.append(list(sample))
        assert sample.added == 1000
        assert len(sample) == 20
    assert drawn[0] == drawn[1] == drawn[2]
    assert all(value == len(key) for key, value in drawn[0])


def test_each_is_as_likely_to_be_drawn():
    early = 0
    for crawl in range(200):
        sample = Sample(10)
        for n in range(100):
            sample.add(f"http://{crawl}/{n}", n)
        early += sum(value < 50 for _, value in sample)
    assert 0.45 < early / 2000 < 0.55


def test_values_need_no_order_and_few_are_all_kept():
    sample = Sample(3)
    for n in range(2):
        sample.add("same", {n})
    assert [value for _, value in sample] == [{0}, {1}]
    nothing = Sample(0)
    nothing.add("a", 1)
    assert list(nothing) == []
