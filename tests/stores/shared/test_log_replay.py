"""What is read of a log from its start, piece by piece."""

import weakref

from dedup.record import Claimed, Committed, PageRecord, Released
from dedup.stores.shared.columns import ListedEntries
from dedup.stores.shared.log import Entry
from dedup.stores.shared.replay import Replay


def entries(first, *events):
    numbered = enumerate(events, first)
    return ListedEntries.of(Entry(n, b"owner678", n, 1, 100.0, event) for n, event in numbered)


def claimed():
    return Claimed(PageRecord("key", "", 1, bytes(16)))


def replacing(number, *replaces):
    return Committed(number, None, replaces)


def test_what_is_replaced_is_told_with_the_next_pages_however_late_they_come():
    replay = Replay(0.0)
    replay.add(entries(1, claimed(), Committed(1)))
    columns = replay.take().records
    assert (columns.numbers.tolist(), columns.replaced) == ([1], [])
    replay.add(entries(3, claimed(), claimed(), replacing(4, 1)))
    assert replay.take() is None, "page 3 is open"
    columns = replay.take(is_end=True).records
    assert (columns.numbers.tolist(), columns.replaced) == ([4], [1])


def test_pages_that_were_read_together_are_given_on_together_when_none_of_them_is_open():
    replay = Replay(0.0)
    replay.add(entries(1, claimed(), Committed(1), claimed(), claimed(), Released(4)))
    assert replay.take() is None, "page 3 is open"
    replay.add(entries(6, Committed(3), claimed(), Committed(7), claimed()))
    assert replay.take().records.numbers.tolist() == [1, 3]
    assert replay.take() is None, "page 9 is open"
    assert replay.take(is_end=True).records.numbers.tolist() == [7]
    assert replay.take(is_end=True) is None
    assert list(replay.open) == [9]


def test_pages_that_are_known_are_not_given_on_but_what_replaces_them_is():
    replay = Replay(0.0, after=2)
    replay.add(entries(1, claimed(), Committed(1), claimed(), replacing(3, 1)))
    columns = replay.take(is_end=True).records
    assert (columns.numbers.tolist(), columns.replaced) == ([3], [1])
    assert replay.take(is_end=True) is None


def test_pages_behind_an_open_claim_are_forgotten_as_they_are_given_on():
    replay = Replay(0.0)
    replay.add(entries(1, claimed()))
    pieces = []
    for first in (2, 4, 6):
        piece = entries(first, claimed(), Committed(first))
        pieces.append(weakref.ref(piece.claims.numbers))
        replay.add(piece)
        del piece
    assert replay.take() is None, "page 1 is open"
    for number, piece in zip((2, 4, 6), pieces, strict=True):
        assert piece() is not None
        assert replay.take(is_end=True).records.numbers.tolist() == [number]
        assert piece() is None
    assert list(replay.open) == [1]


def test_of_entries_behind_an_open_claim_only_pages_that_count_are_kept():
    replay = Replay(0.0)
    replay.add(entries(1, claimed()))
    stored, gone = entries(2, claimed(), claimed()), entries(4, claimed(), claimed())
    data, numbers = weakref.ref(stored), weakref.ref(gone.claims.numbers)
    replay.add(stored)
    replay.add(gone)
    del stored, gone
    replay.add(entries(6, Committed(2), Released(4)))
    assert data() is not None, "page 3 is open"
    assert list(replay.open) == [1, 3, 5]
    replay.add(entries(8, Committed(3), Released(5)))
    assert (data(), numbers()) == (None, None)
    assert replay.take(is_end=True).records.numbers.tolist() == [2, 3]
    assert replay.take(is_end=True) is None
    assert list(replay.open) == [1]
