"""``dedup scan --record-field``: records of pages in place of their texts."""

import json

import pytest
from texts import article, edited

from dedup.cli import main
from dedup.methods import METHODS
from dedup.page import PageReader
from dedup.record_field import MadeWith, to_field

OTHERS = {"extractor": "trafilatura", "item_field": None, "scope": "crawl"}
TEXTS = [article(3), article(2), edited(article(3)), article(2), None, "short", "short"]
KEPT = [0, 1, 4, 5]


def records_of(texts, method=None, scopes=None, items=None):
    """What a crawl would write of pages with *texts*; ``None`` where there is none."""
    method = method or METHODS["simhash"]()
    made_with = MadeWith.of(method, OTHERS)
    pages = iter(PageReader(lambda html: html, method).read_texts(list(filter(None, texts))))
    scopes, items = scopes or [""] * len(texts), items or [b""] * len(texts)

    def record(number, scope, item):
        return next(pages).record.under(f"http://a/{number}", scope)._replace(item=item)

    return [
        text and to_field(record(number, scope, item), made_with)
        for number, (text, scope, item) in enumerate(zip(texts, scopes, items, strict=True))
    ]


def write(path, records):
    items = [{"name": number, "dedup_record": record} for number, record in enumerate(records)]
    path.write_text("".join(f"{json.dumps(item)}\n" for item in items))
    return path


def scanned(path, *arguments):
    """The exit code of a scan, and the numbers of the records that it kept."""
    out = path.with_name("unique.jsonl")
    out.unlink(missing_ok=True)
    command = ["scan", path, "-o", out, "--record-field", "dedup_record", *arguments]
    code = main(list(map(str, command)))
    lines = out.read_text().splitlines() if code == 0 else []
    return code, [json.loads(line)["name"] for line in lines]


def test_records_are_judged_as_their_texts_are(tmp_path, capsys):
    assert scanned(write(tmp_path / "pages.jsonl", records_of(TEXTS)), "--json") == (0, KEPT)
    # Nobody knows how much text is lost.
    assert json.loads(capsys.readouterr().out)["lost_text"] is None


def test_an_item_without_a_record_is_kept_unless_none_has_one(tmp_path, capsys):
    records = records_of(TEXTS)
    records[1] = records[3] = None
    records[5] = ""
    assert scanned(write(tmp_path / "pages.jsonl", records)) == (0, [0, 1, 3, 4, 5, 6])
    assert scanned(write(tmp_path / "pages.jsonl", [None] * 3))[0] == 2
    assert "has the field 'dedup_record'; --record-field names another" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        (records_of([article(2)], METHODS["minhash"]())[0], "made with minhash ("),
        ({**records_of([article(2)])[0], "sketch": "AAAA"}, "3 bytes are no sketch of simhash"),
        ({"key": "http://a/"}, "the record is damaged"),
        ([1, 2], "must be an object, got list"),
        (17, "must be an object, got int"),
        ("{'key': 'as Python writes it'}", "must be an object in JSON"),
        ("[" * 100_000, "must be an object in JSON"),
    ],
)
def test_a_bad_record_stops_the_scan_or_is_left_out_and_counted(tmp_path, capsys, bad, told):
    records = records_of(TEXTS)
    records[2] = bad
    path = write(tmp_path / "pages.jsonl", records)
    assert scanned(path)[0] == 2
    error = capsys.readouterr().err
    assert "record 3: " in error
    assert told in error
    assert error.count("\n") == 1
    assert scanned(path, "--skip-bad") == (0, KEPT)
    assert "bad, left out" in capsys.readouterr().out


def test_items_are_compared_within_their_scope_and_with_those_that_say_the_same(tmp_path):
    texts = [article(3), edited(article(3)), article(3), article(3), article(3), article(3)]
    scopes = ["", "", "", "a.example", "b.example", "a.example"]
    items = [b"a value!", b"a value!", b"another!", b"", b"", b""]
    path = write(tmp_path / "pages.jsonl", records_of(texts, scopes=scopes, items=items))
    clusters = tmp_path / "clusters.jsonl"
    assert scanned(path, "--clusters", clusters) == (0, [0, 2, 3, 4])
    lines = [json.loads(line) for line in clusters.read_text().splitlines()]
    assert [(line["key"], [copy["number"] for copy in line["duplicates"]]) for line in lines] == [
        ("http://a/0", [2]),
        ("http://a/3", [6]),
    ]


def test_the_longest_is_the_one_of_the_most_words_in_its_scope_too(tmp_path):
    longer = f"{article(3)} one more sentence"
    texts = [article(3), longer, article(3), longer]
    records = records_of(texts, scopes=["", "", "a.example", "a.example"])
    path = write(tmp_path / "pages.jsonl", records)
    assert scanned(path, "--keep", "longest") == (0, [1, 3])


def test_records_have_keys_of_their_own_unless_a_field_is_named(tmp_path):
    path = write(tmp_path / "pages.jsonl", records_of([article(2), article(2)]))
    for arguments, key in (([], "http://a/0"), (["--key-field", "name"], "0")):
        clusters = tmp_path / f"{key[0]}.jsonl"
        assert scanned(path, "--clusters", clusters, *arguments)[0] == 0
        assert json.loads(clusters.read_text())["key"] == key


@pytest.mark.slow
def test_tables_of_parquet_may_have_records_as_structs_or_as_json(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    records = records_of(TEXTS)
    for name, column in (("structs", records), ("json", [r and json.dumps(r) for r in records])):
        path, out = tmp_path / f"{name}.parquet", tmp_path / f"{name}-unique.parquet"
        columns = {"name": list(range(len(TEXTS))), "dedup_record": column}
        parquet.write_table(pyarrow.table(columns), path)
        command = ["scan", path, "-o", out, "--record-field", "dedup_record"]
        assert main(list(map(str, command))) == 0
        assert parquet.read_table(out)["name"].to_pylist() == KEPT


def test_sketches_are_for_texts(tmp_path, capsys):
    path = write(tmp_path / "pages.jsonl", records_of(TEXTS))
    assert scanned(path, "--sketches", tmp_path / "sketches")[0] == 2
    assert "--sketches is for texts" in capsys.readouterr().err


def test_another_scope_takes_the_place_of_that_of_the_crawl(tmp_path):
    records = records_of([article(3)] * 4, scopes=["a", "b", "a", "a"],
                         items=[b"", b"", b"a value!", b""])  # fmt: skip
    path = write(tmp_path / "pages.jsonl", records)
    assert scanned(path)[1] == [0, 1, 2]
    assert scanned(path, "--scope", "crawl")[1] == [0, 2]
    assert scanned(path, "--scope", "field:name")[1] == [0, 1, 2, 3]
