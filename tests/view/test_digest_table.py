"""Page numbers by a digest, against lists of them."""

from collections import defaultdict
from random import Random

from dedup.view.digest_table import DigestTable


def digest(number):
    return Random(number).randbytes(16)


def test_all_pages_of_a_digest_are_found_whenever_they_came():
    chooser, table, oracle = Random(1), DigestTable(), defaultdict(list)
    for number in chooser.sample(range(10_000), 2000):
        of = chooser.randrange(700)
        table.add(digest(of), number)
        oracle[of].append(number)
    table.add_many([digest(1), digest(2)], [20_001, 20_000])
    oracle[1].append(20_001)
    oracle[2].append(20_000)
    for of in range(800):
        assert table.find(digest(of)) == sorted(oracle[of])


def test_what_is_forgotten_at_once_leaves_nothing_behind():
    table = DigestTable()
    for number in range(1000):
        table.add(digest(number), number)
        table.add(digest(0), number)
        table.discard(digest(number), number)
        table.discard(digest(0), number)
    assert table.nbytes < 200
    assert table.find(digest(0)) == []


def test_of_thousands_of_pages_with_one_digest_the_latest_are_found():
    table = DigestTable()
    for number in range(5000):
        table.add(digest(0), number)
    assert table.find(digest(0))[-1024:] == list(range(3976, 5000))
