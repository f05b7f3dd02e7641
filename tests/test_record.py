"""Records as they are written and sent."""

import json

import pytest
from cases import each
from hypothesis import given
from hypothesis import strategies as st

from dedup.record import PageRecord, RecordColumns, digest_of, digest_with
from dedup.text import Document

ANY_TEXT = st.text(st.characters(exclude_categories=[]))
RECORDS = st.builds(
    PageRecord,
    key=ANY_TEXT,
    scope=ANY_TEXT,
    tokens=st.integers(0, 2**40),
    digest=st.none() | st.binary(min_size=16, max_size=16),
    sketch=st.none() | st.binary(max_size=300),
    evidence=st.none() | st.binary(min_size=29, max_size=29),
    is_binary=st.booleans(),
)
WRITTEN = PageRecord("http://a/", "a", 2, bytes(16), b"ab", bytes(29)).as_json()


@given(RECORDS)
def test_a_record_comes_back_from_json_as_it_was(record):
    written = json.dumps(record.as_json())
    assert written.isascii()
    back = PageRecord.of_json(json.loads(written))
    assert back == record
    assert list(map(type, back)) == list(map(type, record))


@each("name", ["key", "scope", "tokens", "digest", "sketch", "evidence"])
def test_a_record_without_one_of_its_values_is_refused(name):
    with pytest.raises(ValueError, match="must be as it was written"):
        PageRecord.of_json({key: value for key, value in WRITTEN.items() if key != name})


@each(
    ("name", "value"),
    [
        ("key", None), ("key", 1), ("key", b"http://a/"), ("scope", None), ("scope", ["a"]),
        ("tokens", None), ("tokens", "2"), ("tokens", 2.0), ("tokens", True), ("tokens", -1),
        ("digest", ""), ("digest", "00"), ("digest", "00" * 17), ("digest", "0g" * 16),
        ("digest", "00 " * 16), ("digest", 0), ("digest", "é" * 32), ("digest", False),
        ("sketch", "a"), ("sketch", "YW I="), ("sketch", "é"), ("sketch", 0), ("sketch", []),
        ("evidence", ""), ("evidence", "00" * 28), ("evidence", "0g" * 29), ("evidence", 0),
        ("sketch", "YWJ="), ("binary", None), ("binary", 1), ("binary", "true"),
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


@each("written", [None, [], "", 5, ["key"], "key"])
def test_what_is_no_object_is_refused(written):
    with pytest.raises(ValueError, match="must be as it was written"):
        PageRecord.of_json(written)


@given(st.sampled_from([*WRITTEN, "binary"]), JSON)
def test_a_record_with_any_value_is_refused_or_is_as_it_was_written(name, value):
    values = {**WRITTEN, name: value}
    try:
        record = PageRecord.of_json(values)
    except ValueError:
        return
    assert json.dumps(record.as_json()) == json.dumps(values)


def test_a_record_is_put_under_another_key_and_scope():
    record = PageRecord.of_json(WRITTEN)
    assert record.under("b") == record._replace(key="b", scope="")
    assert record.under("b", "c") == record._replace(key="b", scope="c")


@given(st.lists(st.tuples(st.sampled_from(["", "a", "b"]), st.integers(0, 9)), max_size=10))
def test_columns_are_told_apart_by_scope(rows):
    columns = RecordColumns()
    for number, (scope, tokens) in enumerate(rows):
        columns.numbers.append(number)
        columns.digests.append(bytes([number]))
        columns.sketches.append(None if tokens < 5 else bytes([tokens]))
        columns.tokens.append(tokens)
        columns.evidence.append(bytes([number, tokens]))
        columns.scopes.append(scope)
    found = []
    for scope, part in columns.by_scope():
        assert set(part.scopes) == {scope}
        columns_of = part.numbers, part.digests, part.sketches, part.scopes, part.tokens
        assert part.evidence == [bytes(row) for row in zip(part.numbers, part.tokens, strict=True)]
        found += zip(*columns_of, strict=True)
    assert len(list(columns.by_scope())) == len({scope for scope, _ in rows})
    assert sorted(found) == [
        (number, bytes([number]), None if tokens < 5 else bytes([tokens]), scope, tokens)
        for number, (scope, tokens) in enumerate(rows)
    ]


def test_digests_are_of_the_text_and_of_what_else_belongs_to_it():
    digest = digest_of(Document("some text"))
    assert digest == digest_of(Document("some text")) != digest_of(Document("other text"))
    assert digest_of(Document("")) is None
    assert digest_with(digest, b"") == digest
    assert len({digest, digest_with(digest, b"a"), digest_with(digest, b"b")}) == 3
    assert len(digest) == len(digest_with(digest, b"a")) == 16
