"""Entries by columns: what is read of each by itself, and nothing else is taken for an entry."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from record_columns import pages_of
from test_entries import ENTRIES

from dedup.evidence import SIZE_OF_EVIDENCE
from dedup.record import MOST_TOKENS, Claimed, Committed, PageRecord, Preferred, Released
from dedup.stores.shared.columns import ListedEntries
from dedup.stores.shared.entries import from_bytes, to_bytes
from dedup.stores.shared.log import Entry
from dedup.stores.shared.url_table import hash_of_url

LISTS = st.lists(ENTRIES, min_size=1, max_size=5).map(
    lambda entries: [
        entry._replace(
            position=position,
            event=entry.event._replace(number=position)
            if isinstance(entry.event, Claimed)
            else entry.event,
        )
        for position, entry in enumerate(entries, 1990)  # around where keys are left out
    ]
)


@given(LISTS)
def test_columns_have_what_the_entries_have(entries):
    columns = ListedEntries.of(entries)
    claims = [entry for entry in entries if isinstance(entry.event, Claimed)]
    records = [claim.event.record for claim in claims]
    assert list(columns) == entries
    assert columns.last == entries[-1]
    assert [columns.claim(claim.position) for claim in claims] == claims
    found = columns.claims.records
    assert pages_of(found) == {
        claim.position: record._replace(
            key="" if record.evidence is None else record.key, is_binary=False
        )
        for claim, record in zip(claims, records, strict=True)
    }
    assert columns.claims.numbers.tolist() == [claim.position for claim in claims]
    assert columns.claims.runs.tolist() == [claim.run for claim in claims]
    assert columns.claims.urls.tolist() == [
        hash_of_url(record.key.encode("utf-8", "surrogatepass")) for record in records
    ]
    events = [entry.event for entry in entries]
    assert columns.endings == {
        e.number: e
        for e in events
        if isinstance(e, Committed) and (e.items is not None or e.replaces)
    }
    assert columns.committed.tolist() == [e.number for e in events if isinstance(e, Committed)]
    assert columns.stored.tolist() == [e.at for e in entries if isinstance(e.event, Committed)]
    assert columns.released.tolist() == [e.number for e in events if isinstance(e, Released)]
    assert columns.preferred == {
        e.event.number: (e.event.key, e.run) for e in entries if isinstance(e.event, Preferred)
    }


@given(LISTS, st.data())
def test_what_is_no_entry_by_itself_is_none_in_columns(entries, data):
    written = list(map(to_bytes, entries))
    place = data.draw(st.integers(0, len(written) - 1))
    changed = data.draw(
        st.binary(max_size=200)
        | st.integers(0, len(written[place])).map(lambda end: written[place][:end])
        | st.tuples(st.integers(0, len(written[place]) - 1), st.binary(min_size=1, max_size=1)).map(
            lambda change: written[place][: change[0]] + change[1] + written[place][change[0] + 1 :]
        )
    )
    written[place] = changed
    try:
        expected = from_bytes(1990 + place, changed)
    except ValueError:
        with pytest.raises(ValueError):  # noqa: PT011  # as the entry has it, or UTF-8
            ListedEntries(range(1990, 1990 + len(written)), written)
    else:
        columns = ListedEntries(range(1990, 1990 + len(written)), written)
        assert repr(list(columns)[place]) == repr(expected)  # what is no number equals nothing


def test_of_many_pages_a_part_of_the_keys_is_read():
    def key(number):
        return f"http://a/{number}"

    shown = bytes(SIZE_OF_EVIDENCE)
    records = {
        number: PageRecord(key(number), "", 1, bytes(16), None, shown if number % 5 else None)
        for number in range(1, 4001)
    }
    keys = ListedEntries.of(
        Entry(number, bytes(8), number, 1, 0.0, Claimed(record))
        for number, record in records.items()
    ).claims.records.keys
    assert keys == {
        number: key(number)
        for number in range(1, 4001)
        if (number <= 2000 or number % 16 == 1) and number % 5
    }


def test_more_tokens_than_any_page_has_are_as_many_as_a_record_can_say():
    """What a hostile log says does not make a page a short one."""
    record = PageRecord("http://a/", "", 2**64 - 1, bytes(16))
    entries = ListedEntries.of([Entry(1, bytes(8), 1, 1, 0.0, Claimed(record))])
    assert entries.claims.records.tokens.tolist() == [MOST_TOKENS]
