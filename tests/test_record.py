"""Records as they are written and sent."""

import json

import numpy as np
import pytest
from cases import each
from hypothesis import given
from hypothesis import strategies as st
from record_columns import columns_of, pages_of

from dedup.claim import Claim
from dedup.evidence import SIZE_OF_EVIDENCE, Evidence
from dedup.record import (
    SIZE_OF_VALUE,
    Claimed,
    Committed,
    PageRecord,
    RecordColumns,
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


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda values: st.lists(values) | st.dictionaries(st.text(), values),
    max_leaves=5,
)


@given(st.sampled_from([*WRITTEN, "binary", "says"]), JSON)
def test_a_record_with_any_value_is_refused_or_is_as_it_was_written(name, value):
    values = {**WRITTEN, name: value}
    try:
        record = PageRecord.of_json(values)
    except ValueError:
        return
    assert json.dumps(record.as_json()) == json.dumps(values)


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
    claim = Claim(Claimed(record, 7), [3, 4])
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


PAGE = st.builds(
    PageRecord,
    st.text(max_size=3),
    st.sampled_from(["", "a", "b", "\0"]),
    st.integers(0, 2**63 - 1) | st.integers(0, 9),
    st.binary(min_size=16, max_size=16),
    st.none() | st.binary(max_size=3) | st.just(b"ab"),
    st.none() | st.binary(min_size=SIZE_OF_EVIDENCE, max_size=SIZE_OF_EVIDENCE),
    st.just(False),
    ITEMS,
)
PAGES = st.dictionaries(st.integers(0, 2**63 - 1), PAGE, max_size=8).map(
    lambda pages: dict(sorted(pages.items()))
)


def with_keys_that_are_told(pages):
    return {
        number: page if page.evidence is not None else page.under("", page.scope)
        for number, page in pages.items()
    }


@given(PAGES, st.sets(st.integers(0, 7)))
def test_columns_have_what_the_records_have_and_so_has_a_part_of_them(pages, places):
    columns, expected = columns_of(pages), with_keys_that_are_told(pages)
    assert pages_of(columns) == expected
    which = np.array([place in places for place in range(len(pages))], np.bool_)
    part = columns.only(which)
    chosen = [number for place, number in enumerate(pages) if place in places]
    assert pages_of(part) == {number: expected[number] for number in chosen}
    assert part.keys.keys() <= set(chosen)
    assert pages_of(columns) == expected, "which is as it was"
    if chosen:
        assert part.last == chosen[-1]


@given(PAGES)
def test_keys_are_told_with_the_evidence_of_their_pages(pages):
    columns = columns_of(pages)
    named = [page for page in pages.values() if page.evidence and page.key]
    assert list(columns.keys_with_evidence()) == [
        (page.key, Evidence.from_bytes(page.evidence)) for page in named
    ]


@given(PAGES, st.sampled_from([0, 5, 2**63 - 1]))
def test_sketches_of_pages_that_are_long_are_told_apart_by_scope(pages, least):
    found = {}
    for scope, numbers, sketches in columns_of(pages).sketches_by_scope(least):
        assert scope not in found
        found[scope] = dict(zip(np.asarray(numbers).tolist(), sketches, strict=True))
    expected = {}
    for number, page in pages.items():
        if page.sketch is not None and page.tokens >= least:
            expected.setdefault(page.scope, {})[number] = page.sketch
    assert {scope: part for scope, part in found.items() if part} == expected


@pytest.mark.parametrize(
    ("place", "value", "error"),
    [
        (1, b"short", "a digest has not 16 bytes"),
        (1, None, "a digest has not 16 bytes"),
        (1, "sixteen letters!", "a digest has not 16 bytes"),
        (2, "text", "a sketch is no blob"),
        (2, 7, "a sketch is no blob"),
        (3, "7", "a column has values of a wrong type"),
        (3, 7.5, "a column has values of a wrong type"),
        (3, True, "a column has values of a wrong type"),
        (3, None, "a column has values of a wrong type"),
        (4, bytes(SIZE_OF_EVIDENCE - 1), "evidence of a page is of a wrong length"),
        (4, "x" * SIZE_OF_EVIDENCE, "evidence of a page is of a wrong length"),
        (5, b"scope", "a column has values of a wrong type"),
        (5, None, "a column has values of a wrong type"),
        (6, None, "what items say is no blob"),
        (6, "text", "what items say is no blob"),
        (6, 7, "what items say is no blob"),
    ],
)
def test_values_that_cannot_be_right_are_refused(place, value, error):
    right = [1, bytes(16), b"sketch", 7, bytes(SIZE_OF_EVIDENCE), "", b"\0\0"]
    wrong = [*right[:place], value, *right[place + 1 :]]
    for rows in ([wrong], [right, wrong], [wrong, right, right]):
        with pytest.raises(ValueError, match=error):
            RecordColumns.of(*zip(*rows, strict=True))
