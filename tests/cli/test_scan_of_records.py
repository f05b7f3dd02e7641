"""``dedup scan --record-field``: records of pages in place of their texts."""

import json

import commands
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cases import each
from collections_on_disk import write_lines
from ledgers import field_of
from texts import article, edited

from dedup.methods import METHODS

TEXTS = [article(3), article(2), edited(article(3)), article(2), None, "short", "short"]
KEPT = [0, 1, 4, 5]


def records_of(texts, method=None, scopes=None, items=None):
    """What a crawl would write of pages with *texts*; ``None`` where there is none."""
    scopes, items = scopes or [""] * len(texts), items or [b""] * len(texts)
    return [
        text and field_of(text, f"http://a/{number}", scope, method, item)
        for number, (text, scope, item) in enumerate(zip(texts, scopes, items, strict=True))
    ]


def write(path, records):
    items = [{"name": number, "dedup_record": record} for number, record in enumerate(records)]
    return write_lines(path, items)


def scanned(path, *arguments):
    return commands.scanned(path, "--record-field", "dedup_record", *arguments)


def kept(tmp_path, records, *arguments):
    code, places, _ = scanned(write(tmp_path / "pages.jsonl", records), *arguments)
    assert code == 0
    return places


def test_records_are_judged_as_their_texts_are(tmp_path):
    code, places, figures = scanned(write(tmp_path / "pages.jsonl", records_of(TEXTS)))
    # Nobody knows how much text is lost.
    assert (code, places, figures["lost_text"]) == (0, KEPT, None)
    for _ in range(2):
        again = scanned(tmp_path / "pages.jsonl", "--sketches", tmp_path / "sketches")
        assert again[:2] == (0, KEPT)
    assert again[2]["from_sketches"] == len(TEXTS)


def test_an_item_without_a_record_is_kept_unless_none_has_one(tmp_path):
    records = records_of(TEXTS)
    records[1] = records[3] = None
    records[5] = ""
    assert kept(tmp_path, records) == [0, 1, 3, 4, 5, 6]
    code, _, err = scanned(write(tmp_path / "pages.jsonl", [None] * 3))
    told = "has the field 'dedup_record'; --record-field names another"
    assert (code, told in err) == (2, True)


@each(
    ("bad", "told"),
    [
        (records_of([article(2)], METHODS["minhash"]())[0], "made with minhash ("),
        ({**records_of([article(2)])[0], "sketch": "AAAA"}, "it has no sketch of simhash"),
        ({"key": "http://a/"}, "the record is damaged"),
        (17, "must be an object, got int"),
        ("[" * 100_000, "must be an object in JSON"),
    ],
)
def test_a_bad_record_stops_the_scan_or_is_left_out_and_counted(tmp_path, bad, told):
    records = records_of(TEXTS)
    records[2] = bad
    path = write(tmp_path / "pages.jsonl", records)
    code, _, error = scanned(path)
    assert (code, error.count("\n"), "record 3: " in error, told in error) == (2, 1, True, True)
    code, places, figures = scanned(path, "--skip-bad")
    assert (code, places, figures["bad"]) == (0, KEPT, 1)


def test_items_are_compared_within_their_scope_and_with_those_that_say_the_same(tmp_path):
    texts = [article(3), edited(article(3)), article(3), article(3), article(3), article(3)]
    scopes = ["", "", "", "a.example", "b.example", "a.example"]
    items = [b"a value!", b"a value!", b"another!", b"", b"", b""]
    clusters = tmp_path / "clusters.jsonl"
    records = records_of(texts, scopes=scopes, items=items)
    assert kept(tmp_path, records, "--clusters", clusters) == [0, 2, 3, 4]
    lines = [json.loads(line) for line in clusters.read_text().splitlines()]
    assert [(line["key"], [copy["number"] for copy in line["duplicates"]]) for line in lines] == [
        ("http://a/0", [2]),
        ("http://a/3", [6]),
    ]


def test_the_longest_is_the_one_of_the_most_words_in_its_scope_too(tmp_path):
    longer = f"{article(3)} one more sentence"
    texts = [article(3), longer, article(3), longer]
    records = records_of(texts, scopes=["", "", "a.example", "a.example"])
    assert kept(tmp_path, records, "--keep", "longest") == [1, 3]


def test_records_have_keys_of_their_own_unless_a_field_is_named(tmp_path):
    path = write(tmp_path / "pages.jsonl", records_of([article(2), article(2)]))
    for arguments, key in (([], "http://a/0"), (["--key-field", "name"], "0")):
        clusters = tmp_path / f"{key[0]}.jsonl"
        assert scanned(path, "--clusters", clusters, *arguments)[0] == 0
        assert json.loads(clusters.read_text())["key"] == key


@pytest.mark.slow
def test_tables_of_parquet_may_have_records_as_structs_or_as_json(tmp_path):
    records, path = records_of(TEXTS), tmp_path / "pages.parquet"
    for column in records, [record and json.dumps(record) for record in records]:
        columns = {"name": list(range(len(TEXTS))), "dedup_record": column}
        pq.write_table(pa.table(columns), path)
        assert scanned(path)[:2] == (0, KEPT)


def test_another_scope_takes_the_place_of_that_of_the_crawl(tmp_path):
    records = records_of([article(3)] * 4, scopes=["a", "b", "a", "a"],
                         items=[b"", b"", b"a value!", b""])  # fmt: skip
    assert kept(tmp_path, records) == [0, 1, 2]
    assert kept(tmp_path, records, "--scope", "crawl") == [0, 2]
    assert kept(tmp_path, records, "--scope", "field:name") == [0, 1, 2, 3]
