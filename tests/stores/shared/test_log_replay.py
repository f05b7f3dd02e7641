"""What is read of a log from its start, piece by piece."""

from dedup.record import Claimed, Committed, PageRecord
from dedup.stores.shared.columns import ListedEntries
from dedup.stores.shared.log import Entry
from dedup.stores.shared.replay import Replay


def entries(first, *events):
    numbered = enumerate(events, first)
    return ListedEntries.of(Entry(n, b"owner678", n, 1, 100.0, event) for n, event in numbered)


def claimed(*replaces):
    return Claimed(PageRecord("key", "", 1, bytes(16)), replaces)


def test_what_is_replaced_is_told_with_the_next_pages_however_late_they_come():
    replay = Replay(0.0)
    replay.add(entries(1, claimed(), Committed(1)))
    columns = replay.take().records
    assert (columns.numbers, columns.replaced) == ([1], [])
    replay.add(entries(3, claimed(), claimed(1), Committed(4)))
    assert replay.take() is None, "page 3 is open"
    columns = replay.take(is_end=True).records
    assert (columns.numbers, columns.replaced) == ([4], [1])


def test_pages_that_are_known_are_not_given_on_but_what_replaces_them_is():
    replay = Replay(0.0, after=2)
    replay.add(entries(1, claimed(), Committed(1), claimed(1), Committed(3)))
    columns = replay.take(is_end=True).records
    assert (columns.numbers, columns.replaced) == ([3], [1])
    assert replay.take(is_end=True) is None
