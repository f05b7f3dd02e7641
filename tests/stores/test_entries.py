"""Entries as bytes: what is written is read back, and nothing else is taken for an entry."""

from hypothesis import given
from hypothesis import strategies as st

from dedup.evidence import SIZE_OF_EVIDENCE
from dedup.record import SIZE_OF_VALUE, Claimed, Committed, PageRecord, Released
from dedup.stores.entries import Entry, from_bytes, to_bytes

NUMBERS = st.integers(0, 2**63 - 1)
TEXTS = st.text(st.characters(codec=None))
ITEMS = st.binary().map(lambda data: data[: len(data) // SIZE_OF_VALUE * SIZE_OF_VALUE])
RECORDS = st.builds(
    PageRecord,
    TEXTS,
    TEXTS,
    NUMBERS,
    st.binary(min_size=16, max_size=16),
    st.none() | st.binary(),
    st.none() | st.binary(min_size=SIZE_OF_EVIDENCE, max_size=SIZE_OF_EVIDENCE),
    st.booleans(),
    ITEMS,
)
EVENTS = (
    st.builds(Claimed, RECORDS, st.just(7))
    | st.builds(
        Committed,
        NUMBERS,
        st.none() | st.lists(ITEMS, max_size=3).map(tuple),
        st.lists(NUMBERS, max_size=3).map(tuple),
    )
    | st.builds(Released, NUMBERS)
)
ENTRIES = st.builds(
    Entry,
    st.just(7),
    st.binary(min_size=8, max_size=8),
    st.integers(0, 2**32 - 1),
    st.integers(0, 2**32 - 1),
    st.floats(allow_nan=False),
    EVENTS,
)


@given(ENTRIES)
def test_what_is_written_is_read_back(entry):
    assert from_bytes(7, to_bytes(entry)) == entry


@given(ENTRIES, st.data())
def test_a_part_of_a_claim_is_no_entry(entry, data):
    whole = to_bytes(entry)
    part = whole[: data.draw(st.integers(0, len(whole) - 1))]
    try:
        found = from_bytes(7, part)
    except ValueError:
        return
    assert not isinstance(entry.event, Claimed)
    assert found.event != entry.event


def test_the_better_url_of_a_page_in_a_log_of_before_ends_no_claim():
    released = to_bytes(Entry(7, b"somebody", 3, 4, 5.0, Released(6)))
    before = b"P" + released[1:] + b"http://better/"
    assert from_bytes(7, before) == from_bytes(7, released)
