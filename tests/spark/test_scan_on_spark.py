"""``dedup scan --spark``: what a scan on one machine says, keeps and writes."""

import json
import os
import random
from functools import partial
from pathlib import Path

import collections_on_disk as collections
import pytest
from bad_extractors import __file__ as BAD_EXTRACTORS  # noqa: N812
from commands import refused, run
from texts import CHINESE, article, edited, page

from dedup.scan import RecordReader

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:PySpark does not yet")]


def some_texts(count=60):
    texts = [article(number % (count // 3)) for number in range(count)]
    texts += [edited(article(number)) for number in range(count // 3)]
    texts += [CHINESE, CHINESE + "再来一次。", "", *["a short text"] * 3]
    random.Random(0).shuffle(texts)
    return texts


def parts(folder):
    """All that is in the parts of a folder, in the order of their names."""
    paths = sorted(Path(folder).glob("part-*.jsonl*"))
    return b"".join(collections.decompressed(path) for path in paths)


def clusters(data):
    return [json.loads(line) for line in data.splitlines()]


def scan_both(capsys, tmp_path, *arguments, output="unique.jsonl", code=0):
    """Scan on this machine and on Spark, and return what each has as figures, or says."""
    answers = []
    for engine, out, own in (("local", output, []), ("spark", "unique", ["--spark"])):
        named = [*arguments, "-o", tmp_path / out, "--clusters", tmp_path / f"{engine}.clusters"]
        got, told, error = run(capsys, "scan", *named, "--json", *own)
        assert got == code, error
        answers.append(json.loads(told) if code == 0 else error)
    return answers


def check_same(tmp_path, local, on_spark):
    known = local.keys() - {"seconds", "bytes_written", "lost_text"}
    assert {name: on_spark[name] for name in known} == {name: local[name] for name in known}
    here = clusters((tmp_path / "local.clusters").read_bytes())
    assert clusters(parts(tmp_path / "spark.clusters")) == here


@pytest.mark.parametrize(
    ("keep", "options"),
    [
        ("newest:on", ["--method", "verified"]),
        ("shorter-url,longest", ["--scope", "field:shop", "--min-tokens", "3"]),
    ],
)
def test_the_best_lines_are_kept_as_on_one_machine(spark, capsys, tmp_path, keep, options):
    dates = [None, "2024-05-01", 3.5, "Wed, 01 May 2024 00:00:00 GMT", -1e9]
    lines = [
        {"url": f"http://a/{'x' * (number % 5)}", "text": text, "on": dates[number % 5]}
        | ({} if number % 7 == 0 else {"shop": "\ud800" if number % 2 else "é"})
        for number, text in enumerate(some_texts(120))
    ]
    path = collections.write_lines(tmp_path / "pages.jsonl", lines)
    check_same(tmp_path, *scan_both(capsys, tmp_path, path, "--keep", keep, *options))
    assert parts(tmp_path / "unique") == (tmp_path / "unique.jsonl").read_bytes()


def test_pages_are_kept_by_evidence_as_on_one_machine_though_some_end_their_process(
    spark, capsys, tmp_path, monkeypatch
):
    spark.sparkContext.addPyFile(BAD_EXTRACTORS)
    pages = []
    for number in range(12):
        text, title = article(number % 4, 100), f"Title {number % 3}"
        pages += [page(text, title=title), page(edited(text), title=title)]
        pages.append(page(text, title=title, footer=article(number, 90)))
    random.Random(3).shuffle(pages)
    pages[3:3] = ["be-killed", "hang-deaf"]
    lines = [{"url": f"http://host{n % 2}/{n}", "html": html} for n, html in enumerate(pages)]
    path = collections.write_lines(tmp_path / "pages.jsonl", lines)
    options = ["--html-field", "html", "--keep", "longest"]
    options += ["--method", '{"name": "simhash", "max_distance": 15}']
    options += ["--extractor", "bad_extractors.extracting_unless_told"]
    monkeypatch.setattr("dedup.cli.scan.RecordReader", partial(RecordReader, page_timeout=2))
    local, on_spark = scan_both(capsys, tmp_path, path, *options)
    check_same(tmp_path, local, on_spark)
    assert on_spark["kept_unread"] == 2
    assert on_spark["kept_by_evidence"]
    assert on_spark["near_duplicates"] > 0


def test_tables_are_scanned_as_on_one_machine(spark, capsys, tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    texts = some_texts()
    more = {"_path": "p", "_metadata": {"file_path": "x"}, "value": b"c", "row": 1}
    rows = [{"url": f"http://a/{n}", "text": text, **more} for n, text in enumerate(texts)]
    pq.write_table(pa.Table.from_pylist(rows[:50]), tmp_path / "a.parquet", row_group_size=9)
    pq.write_table(pa.Table.from_pylist(rows[50:]), tmp_path / "b.parquet")
    inputs = [tmp_path / "b.parquet", tmp_path / "a.parquet"]
    check_same(tmp_path, *scan_both(capsys, tmp_path, *inputs, output="unique.parquet"))
    paths = sorted((tmp_path / "unique").glob("part-*"))
    there = [row for path in paths for row in pq.read_table(path).to_pylist()]
    assert there == pq.read_table(tmp_path / "unique.parquet").to_pylist()


def test_lines_are_kept_byte_for_byte_wherever_a_task_begins(spark, capsys, tmp_path):
    rng = random.Random(1)
    lines = []
    for text in some_texts(150):
        line = json.dumps({"url": "http://a/é", "text": text}, ensure_ascii=rng.random() < 0.5)
        lines.append(line.encode().replace(b": ", rng.choice([b": ", b":\r", b" :\t "]), 1))
        lines.append(rng.choice([b"", b"\r", b"  \t"]))
    lines.append(b'{"text": "\xff\xfe"}')
    folder = tmp_path / "a {name} %20é"
    folder.mkdir()
    ends = [rng.choice([b"\n", b"\r\n"]) for _ in lines]
    (folder / "1.jsonl").write_bytes(
        b"\xef\xbb\xbf" + b"".join(map(bytes.__add__, lines, ends)) + b'{"text": "the last"}'
    )
    (folder / "2.jsonl").write_bytes(b"")
    collections.write(folder / "3.jsonl.gz", some_texts())
    inputs = [folder / name for name in ("3.jsonl.gz", "1.jsonl", "2.jsonl")]
    named = [str(name).replace("{", "\\{").replace("}", "\\}") for name in inputs]
    local = run(capsys, "scan", *inputs, "-o", tmp_path / "unique.jsonl", "--skip-bad")
    spark.conf.set("spark.sql.files.maxPartitionBytes", "9000")
    try:
        options = ["-o", tmp_path / "unique", "--skip-bad", "--spark"]
        on_spark = run(capsys, "scan", *named, *options)
    finally:
        spark.conf.unset("spark.sql.files.maxPartitionBytes")
    assert (local[0], on_spark[0]) == (0, 0), on_spark[2]
    assert parts(tmp_path / "unique") == (tmp_path / "unique.jsonl").read_bytes()


def test_the_first_bad_record_is_named_and_left_out_only_if_asked(spark, capsys, tmp_path):
    good = collections.write(tmp_path / "good.jsonl", some_texts())
    lines = [json.dumps({"text": text, "url": "u"}).encode() for text in some_texts()]
    lines[40:40] = [b"{torn", b'{"text": "\xff\xfe"}', b"[]"]
    (tmp_path / "bad.jsonl").write_bytes(b"\n\n" + b"\n".join(lines) + b"\n")
    inputs = [good, tmp_path / "bad.jsonl"]
    before = sorted(tmp_path.iterdir())
    local, on_spark = scan_both(capsys, tmp_path, *inputs, code=2)
    assert local == on_spark
    assert "bad.jsonl, record 41: not JSON" in local
    assert sorted(tmp_path.iterdir()) == before
    local, on_spark = scan_both(capsys, tmp_path, *inputs, "--skip-bad")
    check_same(tmp_path, local, on_spark)
    assert on_spark["bad"] == 3


def test_a_file_that_is_cut_off_ends_the_scan(spark, capsys, tmp_path):
    whole = collections.write(tmp_path / "whole.jsonl.gz", some_texts())
    (tmp_path / "torn.jsonl.gz").write_bytes(whole.read_bytes()[:-500])
    out = ["-o", tmp_path / "unique", "--skip-bad", "--spark"]
    refused(capsys, "scan", tmp_path / "torn.jsonl.gz", *out)
    assert not (tmp_path / "unique").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-o", "{there}"], "out exists: remove it, or choose another name"),
        (["--clusters", "{there}"], "out exists: remove it, or choose another name"),
        (["--workers", "2"], "--sketches and --workers are for one machine, not for --spark"),
        (["--spark", "local[2]"], "there is a session of Spark already"),
        (["--scope", "field:shop"], "none of the first 86 records"),
        (["{there}/no.jsonl"], "no.jsonl"),
        (["{there}/_hidden.jsonl"], "Spark reads no files whose names begin with . or _"),
        (["{there}/table.csv"], "all inputs must have one format"),
        (["{there}"], "is in a folder within a folder"),
        (["{there}/inner"], "all inputs must have one format"),
    ],
)
def test_what_is_wrong_with_the_options_is_said_in_one_line(
    spark, capsys, tmp_path, arguments, message
):
    there = tmp_path / "out"
    (there / "inner").mkdir(parents=True)
    (there / "_hidden.jsonl").write_text('{"text": "a"}\n')
    (there / "table.csv").write_text("text\na\n")
    collections.write(there / "inner" / "a.parquet", ["a"])
    pages = collections.write(tmp_path / "pages.jsonl", some_texts())
    before = pages.read_bytes()
    given = [argument.format(there=there) for argument in arguments]
    output = [] if "-o" in given else ["-o", tmp_path / "new"]
    spark_too = [] if "--spark" in given else ["--spark"]
    assert message in refused(capsys, "scan", pages, *given, *output, *spark_too)
    assert sorted(os.listdir(tmp_path)) == ["out", "pages.jsonl"]
    assert pages.read_bytes() == before
