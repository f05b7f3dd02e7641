"""Records in the fields of items: what is written can be read by the same method alone."""

import json

import pytest
from cases import each
from ledgers import records_of
from texts import ENGLISH

from dedup.limits import LONGEST_URL
from dedup.methods import METHODS
from dedup.methods.keyed import KeyedHashing, with_keyed_hashing
from dedup.record import PageRecord
from dedup.record_field import FieldReader, MadeWith, to_field

OTHERS = {"extractor": "trafilatura", "item_field": None, "scope": "crawl"}
SECRET = "correct horse battery staple"


def record_of(method, key="http://a/", scope=""):
    return records_of([ENGLISH], method)[0].under(key, scope)


def written(method, record=None):
    """What a feed has of a record."""
    record = record or record_of(method)
    return json.loads(json.dumps(to_field(record, MadeWith.of(method, OTHERS))))


def read(method, *values):
    return FieldReader(method).read(values)


@pytest.fixture(scope="module")
def keyed():
    return KeyedHashing(SECRET)


@pytest.mark.parametrize("has_secret", [False, True])
@pytest.mark.parametrize("name", METHODS)
def test_what_is_written_is_read_again(name, has_secret, keyed):
    method = METHODS[name]()
    if has_secret:
        method = with_keyed_hashing(method, keyed)
    record = record_of(method)
    assert record.sketch is not None
    binary = PageRecord("http://a/pdf", "", 0, bytes(16), is_binary=True)
    for each_record in (record, binary, PageRecord("http://a/empty")):
        [found] = read(method, written(method, each_record))
        assert found == (each_record, MadeWith.of(method, OTHERS))


@each("name", METHODS)
def test_a_sketch_of_a_wrong_length_is_damage_and_others_of_the_batch_are_read(name):
    method = METHODS[name]()
    record = record_of(method)
    assert record.sketch is not None
    for sketch in (record.sketch[:-1], record.sketch + b"a", b""):
        damaged = written(method, record._replace(sketch=sketch))
        first, second, third = read(method, written(method), damaged, written(method))
        assert first.record == third.record == record
        assert str(second) == f"the record is damaged: it has no sketch of {name}"


def test_a_fingerprint_of_too_many_bits_is_damage():
    method = METHODS["simhash"](bits=60)
    record = record_of(method)
    [error] = read(method, written(method, record._replace(sketch=b"\xff" * 8)))
    assert "it has no sketch of simhash" in str(error)


@each(
    ("changes", "told"),
    [
        ({"made_with": None}, "is damaged"),
        ({"made_with": {"method": "simhash"}}, "is damaged"),
        ({"key": None}, "is damaged"),
        ({"tokens": 2**63}, "is damaged"),
        ({"sketch": "no base64!"}, "is damaged"),
        ({"parts": "07"}, "is damaged"),
        ({"scope": "a" * (LONGEST_URL + 1)}, "is damaged"),
    ],
)
def test_what_nobody_wrote_is_damage(changes, told):
    method = METHODS["simhash"]()
    [error] = read(method, {**written(method), **changes})
    assert isinstance(error, ValueError)
    assert told in str(error)


def test_what_another_method_other_arguments_or_another_secret_made_is_refused():
    method = METHODS["simhash"]()
    keyed = with_keyed_hashing(method, KeyedHashing(SECRET))
    for other in (METHODS["minhash"](), METHODS["simhash"](bits=32), keyed):
        [error] = read(method, written(other))
        assert "another method, version, arguments or secret" in str(error)
        [error] = read(other, written(method))
        assert "another method, version, arguments or secret" in str(error)


def test_an_item_that_says_nothing_may_be_null_as_in_a_table():
    method = METHODS["simhash"]()
    values = written(method)
    assert "says" not in values
    [found] = read(method, {**values, "says": None, "binary": None})
    assert found.record == record_of(method)


def test_keys_are_as_a_ledger_has_them():
    method = METHODS["simhash"]()
    long = record_of(method, "http://a/" + "x" * 10_000 + "\ud800")
    values = written(method, long)
    assert len(values["key"]) == LONGEST_URL
    assert values["key"].encode()
    [found] = read(method, values)
    assert found.record.key == values["key"]
