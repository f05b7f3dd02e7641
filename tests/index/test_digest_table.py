"""Page numbers by a digest, against lists of them."""

from random import Random

from dedup.index.digest_table import DigestTable


def digest(number):
    return Random(number).randbytes(16)


def test_what_is_forgotten_at_once_leaves_nothing_behind():
    table = DigestTable()
    for number in range(1000):
        table.add(digest(number), number)
        table.add(digest(0), number)
        table.discard(digest(number), number)
        table.discard(digest(0), number)
    assert table.nbytes < 200
    assert table.find(digest(0)) == []
