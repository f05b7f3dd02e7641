"""Records as they are written and sent."""

import json

import pytest
from cases import each
from hypothesis import given
from hypothesis import strategies as st

from dedup.claim import Claim
from dedup.evidence import SIZE_OF_EVIDENCE
from dedup.record import (
    SIZE_OF_VALUE,
    Claimed,
    Committed,
    PageRecord,
    Stored,
    pack_items,
    unpack_items,
)

ANY_TEXT = st.text(st.characters(exclude_categories=[]))
ITEMS = st.binary(max_size=40).map(lambda data: data[: len(data) // SIZE_OF_VALUE * SIZE_OF_VALUE])
RECORDS = st.builds(
    PageRecord,
    key=ANY_TEXT,
    scope=ANY_TEXT,
    tokens=st.integers(0, 2**40),
    digest=st.none() | st.binary(min_size=16, max_size=16),
    sketch=st.none() | st.binary(max_size=300),
    evidence=st.none() | st.binary(min_size=37, max_size=37),
    is_binary=st.booleans(),
    item=ITEMS,
)
WRITTEN = PageRecord("http://a/", "a", 2, bytes(16), b"ab", bytes(37)).as_json()


@given(RECORDS)
def test_a_record_comes_back_from_json_as_it_was(record):
    written = json.dumps(record.as_json())
    assert written.isascii()
    back = PageRecord.of_json(json.loads(written))
    assert back == record
    assert list(map(type, back)) == list(map(type, record))


@each(
    ("name", "value"),
    [
        ("key", None), ("key", 1), ("key", b"http://a/"), ("scope", None), ("scope", ["a"]),
        ("tokens", None), ("tokens", "2"), ("tokens", 2.0), ("tokens", True), ("tokens", -1),
        ("digest", ""), ("digest", "00"), ("digest", "00" * 17), ("digest", "0g" * 16),
        ("digest", "00 " * 16), ("digest", 0), ("digest", "é" * 32), ("digest", False),
        ("sketch", "a"), ("sketch", "YW I="), ("sketch", "é"), ("sketch", 0), ("sketch", []),
        ("evidence", ""), ("evidence", "00" * 36), ("evidence", "0g" * 37), ("evidence", 0),
        ("sketch", "YWJ="), ("binary", None), ("binary", 1), ("binary", "true"),
        ("says", None), ("says", ""), ("says", 1), ("says", "é"), ("says", ["YWJj"]),
        ("says", "YSB2YWx1ZQ=="), ("says", "YSB2YWx1ZSE"), ("says", "YSB2YWx1ZSEh"),
    ],
)  # fmt: skip
def test_a_record_with_another_value_is_refused(name, value):
    with pytest.raises(ValueError, match="a record must be as it was written, got ") as error:
        PageRecord.of_json({**WRITTEN, name: value})
    assert len(str(error.value)) < 300


def test_what_an_item_says_is_written_only_if_it_says_something():
    record = PageRecord.of_json(WRITTEN)
    assert (record.item, "says" in record.as_json()) == (b"", False)
    written = record._replace(item=b"a value!another!").as_json()
    assert written == {**WRITTEN, "says": "YSB2YWx1ZSFhbm90aGVyIQ=="}


@given(st.lists(ITEMS | st.just(bytes(SIZE_OF_VALUE * 300)), max_size=4))
def test_what_several_items_say_comes_back_as_it_was(items):
    assert unpack_items(pack_items(items)) == items


def test_what_several_items_say_is_refused_if_it_ends_too_early():
    packed = pack_items([b"a value!", b"another!"])
    for part in (packed[:-1], packed[:11], b"\0"):
        with pytest.raises(ValueError, match="what items say ends too early"):
            unpack_items(part)


def test_a_claim_tells_other_items_and_replaced_pages_with_its_commit():
    record = PageRecord.of_json(WRITTEN)._replace(item=b"a value!")
    claim = Claim(Claimed(record, 7))
    claim.replaces = (3, 4)
    assert claim.committed == Committed(7, None, (3, 4))
    assert unpack_items(claim.committed.packed_items(record)) == [b"a value!"]
    claim.items.append(b"another!")
    assert claim.committed == Committed(7, (b"a value!", b"another!"), (3, 4))
    claim.items.remove(b"a value!")
    assert claim.committed == Committed(7, (b"another!",), (3, 4))
    assert unpack_items(claim.committed.packed_items(record)) == [b"another!"]
    other = Claim(Claimed(record, 7))
    other.end_with(claim.committed)
    assert (other.items, other.replaces) == ([b"another!"], (3, 4))


@each(
    ("name", "value"),
    [
        ("key", None), ("key", b"http://a/"), ("scope", None), ("scope", b"scope"),
        ("tokens", None), ("tokens", "7"), ("tokens", 7.5), ("tokens", True), ("tokens", -1),
        ("digest", None), ("digest", b"short"), ("digest", "sixteen letters!"),
        ("sketch", "text"), ("sketch", 7),
        ("evidence", bytes(SIZE_OF_EVIDENCE - 1)), ("evidence", "x" * SIZE_OF_EVIDENCE),
    ],
)  # fmt: skip
def test_a_stored_page_with_a_value_that_cannot_be_right_is_refused(name, value):
    right = PageRecord("http://a/", "", 7, bytes(16), b"sketch", bytes(SIZE_OF_EVIDENCE))
    Stored(1, right, b"\0\0").check()
    with pytest.raises(ValueError, match="page 1 has a value of a wrong type or length"):
        Stored(1, right._replace(**{name: value}), b"\0\0").check()


@pytest.mark.parametrize("items", [None, "text", 7])
def test_a_stored_page_whose_items_are_no_blob_is_refused(items):
    with pytest.raises(ValueError, match="page 1 has a value of a wrong type or length"):
        Stored(1, PageRecord(digest=bytes(16)), items).check()
