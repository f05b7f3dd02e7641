"""``dedup scan --engine spark``: equal to the scan on one machine, in every format."""

import gzip
import json
import os
import random
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import collections_on_disk as collections
import pytest
from bad_extractors import __file__ as BAD_EXTRACTORS  # noqa: N812
from cases import needs_time, sampled
from commands import run
from texts import CHINESE, article, edited, page, replaced

from dedup.spark.files.scan import checkpoints
from dedup.spark.files.writing import part_name

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:PySpark does not yet")]


def some_texts(count=60):
    texts = [article(number % (count // 3)) for number in range(count)]
    texts += [edited(article(number)) for number in range(count // 3)]
    texts += [CHINESE, CHINESE + "再来一次。", "", *["a short text"] * 3]
    random.Random(0).shuffle(texts)
    return texts


def parts(folder):
    """All that is in the files of a folder, in the order of their names."""
    return b"".join(path.read_bytes() for path in sorted(Path(folder).iterdir()))


def rows_of(path):
    """All rows of a table, or of those in a folder, in the order of their names."""
    import pyarrow.parquet as pq

    paths = sorted(path.iterdir()) if path.is_dir() else [path]
    return [row for path in paths for row in pq.read_table(path).to_pylist()]


def scan_both(capsys, tmp_path, *arguments, output="unique.jsonl", code=0, partitions=3):
    """Scan on this machine and on Spark, and return what each has as figures, or says."""
    answers = []
    spark = ["--engine", "spark", "--partitions", partitions]
    for engine, out, own in (("local", output, []), ("spark", "unique", spark)):
        named = [*arguments, "-o", tmp_path / out, "--clusters", tmp_path / f"{engine}.clusters"]
        got, told, error = run(capsys, "scan", *named, "--json", "-", *own)
        assert got == code, error
        answers.append(json.loads(told) if code == 0 else error)
    return answers


def check_figures(local, on_spark):
    known = on_spark.keys() - {"seconds", "bytes_written"}
    assert local.keys() == on_spark.keys()
    assert {name: on_spark[name] for name in known} == {name: local[name] for name in known}


def check_clusters(tmp_path):
    assert parts(tmp_path / "spark.clusters") == (tmp_path / "local.clusters").read_bytes()


@pytest.mark.parametrize("kind", sampled(collections.NAMES, "csv.gz", "warc.gz"))
def test_every_format_is_scanned_as_on_one_machine(spark, capsys, tmp_path, kind):
    texts = some_texts()
    inputs = [
        collections.write(tmp_path / f"{number}-{name}", own, first=1000 * number)
        for number, own in enumerate((texts[:50], texts[50:70], texts[70:]))
        for name in [collections.NAMES[kind]]
    ]
    output = {"folder": "here"}.get(kind, f"unique-{collections.NAMES[kind]}")
    figures = scan_both(capsys, tmp_path, *inputs, partitions=7, output=output)
    check_figures(*figures)
    check_clusters(tmp_path)
    here, there = tmp_path / output, tmp_path / "unique"
    if kind == "folder":
        files = {
            folder: {
                path.relative_to(folder): (path.read_bytes(), path.stat().st_mtime)
                for path in folder.rglob("*.txt")
            }
            for folder in (here, there)
        }
        assert files[here] == files[there]
        assert len(files[here]) == figures[0]["kept"]
    elif kind == "parquet":
        assert len(list(there.iterdir())) > 1
        assert rows_of(there) == rows_of(here)
    elif "csv" in kind:
        files = [collections.decompressed(path) for path in sorted(there.iterdir())]
        header = b"url,text\r\n"
        assert all(file.startswith(header) for file in files)
        rows = b"".join(file.removeprefix(header) for file in files)
        assert header + rows == collections.decompressed(here)
    else:
        files = [collections.decompressed(path) for path in sorted(there.iterdir())]
        assert b"".join(files) == collections.decompressed(here)
    assert {path.name[0] for path in tmp_path.iterdir()}.isdisjoint({".", "_"})


BEST_OF_SHOPS = "shorter-url,longest", ["--scope", "field:shop", "--min-tokens", "3"]


@pytest.mark.parametrize(
    ("keep", "options"),
    sampled(
        [("longest", ["--method", "verified"]), ("newest", ["--date-field", "on"]), BEST_OF_SHOPS],
        BEST_OF_SHOPS,
    ),
)
def test_the_best_are_kept_as_on_one_machine(spark, capsys, tmp_path, keep, options):
    dates = [None, "2024-05-01", 3.5, "Wed, 01 May 2024 00:00:00 GMT", -1e9]
    lines = [
        {"url": f"http://a/{'x' * (number % 5)}", "text": text, "on": dates[number % 5]}
        | ({} if number % 7 == 0 else {"shop": "\ud800" if number % 2 else "é"})
        for number, text in enumerate(some_texts(120))
    ]
    path = tmp_path / "pages.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    figures = scan_both(capsys, tmp_path, path, "--keep", keep, *options, partitions=3)
    check_figures(*figures)
    check_clusters(tmp_path)
    assert parts(tmp_path / "unique") == (tmp_path / "unique.jsonl").read_bytes()


@needs_time  # all scans here compare what is lost
@pytest.mark.parametrize("keep", ["first", "longest"])
def test_of_many_words_as_much_is_lost_as_on_one_machine(spark, capsys, tmp_path, keep):
    """Each task has more sequences than are in a sample, and some are not judged."""
    chance = random.Random(keep)
    texts = [article(number, 1500) for number in range(120)]
    texts += [replaced(texts[n], chance.randrange(1, 12)) for n in range(120) for _ in range(3)]
    lines = [
        {"url": f"http://a/{number}", "text": text} | ({"shop": 1} if number % 9 else {})
        for number, text in enumerate(chance.sample(texts, len(texts)))
    ]
    path = tmp_path / "pages.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    options = ["--keep", keep, "--scope", "field:shop"]
    local, on_spark = scan_both(capsys, tmp_path, path, *options, partitions=3)
    check_figures(local, on_spark)
    assert on_spark["near_duplicates"] > 200
    assert on_spark["lost_text"]["error"] > 0
    assert len(on_spark["lost_text"]["lossiest"]) == 10


def pages_that_show_something_else():
    """Pages that match others, of which some have another title, or are longer."""
    made = []
    for number in range(12):
        text = article(number % 4, 100)
        more = article(100 + number, 30)
        made += [
            page(text, title=f"Title {number % 3}"),
            page(edited(text), title=f"Title {number % 3}"),
            page(f"{text} {more}", title=f"Title {number % 3}"),
            page(text, title=f"Title {number % 3}", footer=article(number, 90)),
        ]
    return random.Random(3).sample(made, len(made))


@pytest.mark.parametrize(
    ("evidence", "keep"),
    sampled([("normal", "first"), ("strict", "longest"), ("off", "first")], ("strict", "longest")),
)
def test_as_many_pages_are_kept_by_evidence_as_on_one_machine(
    spark, capsys, tmp_path, evidence, keep
):
    lines = [
        {"url": f"http://host{number % 2}/{number}", "html": html}
        for number, html in enumerate(pages_that_show_something_else())
    ]
    path = tmp_path / "pages.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    options = ["--html-field", "html", "--keep", keep, "--evidence", evidence]
    options += ["--args", '{"max_distance": 15}']
    local, on_spark = scan_both(capsys, tmp_path, path, *options)
    check_figures(local, on_spark)
    assert on_spark["near_duplicates"] > 0
    assert (len(on_spark["kept_by_evidence"]) > 1) == (evidence != "off")
    for name in ("unique", "unique.jsonl"):
        (tmp_path / name).rename(tmp_path / f"before-{name}")
    printed = [
        [line for line in told.splitlines() if not line.startswith(("records", "read", "written"))]
        for engine, out in (("local", "unique.jsonl"), ("spark", "unique"))
        for _, told, _ in [
            run(capsys, "scan", path, "-o", tmp_path / out, *options, "--engine", engine)
        ]
    ]
    assert printed[0] == printed[1]
    assert any("text of duplicates" in line for line in printed[0])


def test_where_nothing_is_left_out_no_text_is_lost(spark, capsys, tmp_path):
    path = collections.write(tmp_path / "pages.jsonl", [article(number) for number in range(9)])
    local, on_spark = scan_both(capsys, tmp_path, path)
    check_figures(local, on_spark)
    assert on_spark["lost_text"] == {"sequences": 0, "share": 0, "error": 0, "lossiest": []}


def test_what_other_files_keep_is_not_lost_though_they_are_written_in_another_job(
    spark, capsys, tmp_path, monkeypatch
):
    """Nothing is left out of the first group of files; the second one has copies of its texts."""
    monkeypatch.setattr("dedup.spark.files.second_pass._RECORDS_AT_ONCE", 9)
    texts = [article(number, 100) for number in range(9)]
    inputs = [
        collections.write(tmp_path / f"{name}.jsonl", own, first=100 * number)
        for number, (name, own) in enumerate({"a": texts, "b": map(edited, texts)}.items())
    ]
    local, on_spark = scan_both(capsys, tmp_path, *inputs)
    check_figures(local, on_spark)
    assert 0 < on_spark["lost_text"]["share"] < 0.2


def test_lines_are_kept_byte_for_byte_wherever_a_task_begins(spark, capsys, tmp_path):
    rng = random.Random(1)
    lines = []
    for text in some_texts(300):
        line = json.dumps({"url": "http://a/é", "text": text}, ensure_ascii=rng.random() < 0.5)
        lines.append(line.encode().replace(b": ", rng.choice([b": ", b":\r", b" :\t "]), 1))
        lines.append(rng.choice([b"", b"\r", b"  \t"]))
    folder = tmp_path / "a [odd] {name} %20é"
    folder.mkdir()
    ends = [rng.choice([b"\n", b"\r\n"]) for _ in lines]
    (folder / "1.jsonl").write_bytes(
        b"\xef\xbb\xbf" + b"".join(map(bytes.__add__, lines, ends)) + b'{"text": "the last"}'
    )
    (folder / "2*.jsonl").write_bytes(b"")
    (folder / "3.jsonl").write_bytes(b"\n".join(lines[:100]))
    inputs = [folder / "1.jsonl", folder / "2*.jsonl", folder / "3.jsonl"]
    figures = scan_both(capsys, tmp_path, *inputs, partitions=11)
    check_figures(*figures)
    assert parts(tmp_path / "unique") == (tmp_path / "unique.jsonl").read_bytes()
    assert len(list((tmp_path / "unique").iterdir())) > 5
    # So is what a glob matches: a folder of part files.
    out = tmp_path / "again"
    assert run(capsys, "scan", f"{tmp_path}/a *odd*", "-o", out, "--engine", "spark")[0] == 0
    assert parts(out) == (tmp_path / "unique.jsonl").read_bytes()


def bad_lines(folder):
    lines = [json.dumps({"text": text, "url": "u"}).encode() for text in some_texts()]
    lines[40:40] = [b"{torn", b'{"text": "\xff\xfe"}', b"[]"]
    path = folder / "bad.jsonl"
    path.write_bytes(b"\n\n" + b"\n".join(lines) + b"\n")
    return path


def test_the_first_bad_record_is_named_and_nothing_is_left(spark, capsys, tmp_path):
    good = collections.write(tmp_path / "good.jsonl", some_texts())
    path = bad_lines(tmp_path)
    before = sorted(tmp_path.iterdir())
    local, on_spark = scan_both(capsys, tmp_path, good, path, partitions=9, code=2)
    assert local == on_spark
    assert "bad.jsonl, record 41: not JSON" in local
    assert sorted(tmp_path.iterdir()) == before


def test_bad_records_are_left_out_and_counted(spark, capsys, tmp_path):
    good = collections.write(tmp_path / "good.jsonl", some_texts())
    path = bad_lines(tmp_path)
    figures = scan_both(capsys, tmp_path, good, path, "--skip-bad", partitions=9)
    check_figures(*figures)
    assert figures[1]["bad"] == 3
    check_clusters(tmp_path)
    assert parts(tmp_path / "unique") == (tmp_path / "unique.jsonl").read_bytes()


def test_a_file_that_is_cut_off_is_a_bad_record(spark, capsys, tmp_path):
    whole = collections.write(tmp_path / "whole.jsonl.gz", some_texts())
    torn = tmp_path / "torn.jsonl.gz"
    torn.write_bytes(whole.read_bytes()[:-500])
    names = {"output": "unique.jsonl.gz"}
    local, on_spark = scan_both(capsys, tmp_path, torn, code=2, **names)
    assert local == on_spark
    assert "damaged or cut off" in local
    figures = scan_both(capsys, tmp_path, torn, whole, "--skip-bad", **names)
    check_figures(*figures)
    texts = gzip.decompress(parts(tmp_path / "unique"))
    assert texts == gzip.decompress((tmp_path / "unique.jsonl.gz").read_bytes())


@pytest.mark.parametrize(
    "options",
    sampled(
        [
            ["--text-field", "body"],
            ["--key-field", "id"],
            ["--scope", "field:shop"],
            ["--keep", "newest", "--date-field", "on"],
        ],
        ["--scope", "field:shop"],
    ),
)
def test_fields_that_no_record_has_are_named(spark, capsys, tmp_path, options):
    path = collections.write(tmp_path / "pages.jsonl", some_texts())
    local, on_spark = scan_both(capsys, tmp_path, path, *options, code=2)
    assert local == on_spark
    assert "none of the first 86 records" in local


def test_columns_and_schemas_that_differ_are_refused(spark, capsys, tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    (tmp_path / "a.csv").write_text("url,text\n1,2\n")
    (tmp_path / "b.csv").write_text("url,text,more\n1,2,3\n")
    pq.write_table(pa.table({"text": ["a"]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"text": ["a"], "more": [1]}), tmp_path / "b.parquet")
    for kind in ("csv", "parquet"):
        inputs = [tmp_path / f"a.{kind}", tmp_path / f"b.{kind}"]
        local, on_spark = scan_both(capsys, tmp_path, *inputs, output=f"u.{kind}", code=2)
        assert local == on_spark
        assert "differ" in local
        named = [inputs[0], "--text-field", "body"]
        local, on_spark = scan_both(capsys, tmp_path, *named, output=f"u.{kind}", code=2)
        assert local == on_spark
        assert "no columns named 'body'" in local


def test_pages_that_kill_or_hang_their_process_cost_no_others(spark, capsys, tmp_path):
    """Records in lines, which tasks share among them, in an order that is not theirs."""
    spark.sparkContext.addPyFile(BAD_EXTRACTORS)
    texts = [
        article(number % 9) if number % 2 else edited(article(number % 9)) for number in range(40)
    ]
    pages = [page(text, title="Title") for text in texts]
    for place, does in ((30, "be-killed"), (25, "be-killed now"), (12, "hang"), (2, "hang-deaf")):
        pages.insert(place, does)
    lines = [
        {"url": f"http://a/{number}", "html": html, "on": float(-number % 7)}
        for number, html in enumerate(pages)
    ]
    path = tmp_path / "pages.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    options = ["--html-field", "html", "--page-timeout", "2", "--keep", "newest"]
    options += ["--date-field", "on", "--extractor", "bad_extractors.extracting_unless_told"]
    figures = scan_both(capsys, tmp_path, path, *options, partitions=4)
    check_figures(*figures)
    check_clusters(tmp_path)
    kept = parts(tmp_path / "unique")
    assert kept == (tmp_path / "unique.jsonl").read_bytes()
    assert figures[1]["kept_unread"] == 4
    assert "record 3: timeout: not read within 2 seconds" in figures[1]["first_unread"]
    assert kept.count(b"be-killed") == kept.count(b"hang") == 2
    assert figures[1]["exact_duplicates"] > 0
    assert figures[1]["near_duplicates"] > 0


def test_a_page_on_which_the_extractor_crashes_or_raises_is_kept(spark, capsys, tmp_path):
    spark.sparkContext.addPyFile(BAD_EXTRACTORS)
    folder = tmp_path / "site"
    folder.mkdir()
    pages = [f"<html><body><p>{article(number % 6)}</p>" for number in range(12)]
    pages[3:3] = ["crash in the extractor", "raise an error"]
    for number, html in enumerate(pages):
        (folder / f"{number:02d}.html").write_text(html)
    (folder / "link.html").symlink_to(folder / "00.html")
    figures = scan_both(
        capsys, tmp_path, folder, "--extractor", "bad_extractors.misbehaving", output="here"
    )
    check_figures(*figures)
    assert figures[1]["kept_unread"] == 2
    assert figures[1]["links_left_out"] == 1
    names = [
        sorted(path.name for path in (tmp_path / name).iterdir()) for name in ("here", "unique")
    ]
    assert names[0] == names[1]


def test_what_is_on_another_file_system_is_read_and_written_there(spark, capsys, tmp_path):
    configuration = spark.sparkContext._jsc.hadoopConfiguration()
    configuration.set("fs.viewfs.mounttable.there.link./data", f"file://{tmp_path}")
    texts = some_texts()
    for name in ("a.jsonl", "b.csv", "c.warc.gz", "site", "d.jsonl.gz"):
        collections.write(tmp_path / name, texts)
    there = "viewfs://there/data"
    kinds = [("a.jsonl", "a1.jsonl"), ("b.csv", "b1.csv"), ("d.jsonl.gz", "d1.jsonl.gz")]
    for name, output in sampled(kinds, kinds[1]):
        assert run(capsys, "scan", tmp_path / name, "-o", tmp_path / output)[0] == 0
        target = f"{there}/{name}-out"
        code, _, error = run(capsys, "scan", f"{there}/{name}", "-o", target, "--engine", "spark")
        assert (code, error) == (0, "")
        [part, success] = sorted(
            path for path in (tmp_path / f"{name}-out").iterdir() if path.name[0] != "."
        )[::-1][:2]
        assert success.name == "_SUCCESS" or part.name == "_SUCCESS"
        [data] = (tmp_path / f"{name}-out").glob("part-*")
        assert collections.decompressed(data) == collections.decompressed(tmp_path / output)
    for name in ("c.warc.gz", "site"):
        code, _, error = run(
            capsys, "scan", f"{there}/{name}", "-o", f"{there}/x", "--engine", "spark"
        )
        assert code == 2
        assert "must be a local or a mounted folder" in error
        out = tmp_path / f"{name}-out"
        assert run(capsys, "scan", f"{there}/{name}", "-o", out, "--engine", "spark")[0] == 0
    assert run(capsys, "scan", tmp_path / "c.warc.gz", "-o", tmp_path / "c1.warc.gz")[0] == 0
    assert parts(tmp_path / "c.warc.gz-out") == (tmp_path / "c1.warc.gz").read_bytes()
    assert run(capsys, "scan", tmp_path / "site", "-o", tmp_path / "site1")[0] == 0
    first, second = (
        {
            path.name: (path.read_bytes(), path.stat().st_mtime)
            for path in (tmp_path / name).rglob("*.txt")
        }
        for name in ("site-out", "site1")
    )
    assert first == second
    assert not [path for path in os.listdir(tmp_path) if path.startswith(".")]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["{there}"], "out exists; name a folder that does not"),
        (["--clusters", "{there}"], "exists; name a folder that does not"),
        (["--clusters", "new"], "is named for two outputs"),
        (["-o", "{there}/no/such"], "must be in a folder that exists"),
        (["--ledger", "x.sqlite"], "--ledger is for scans on one machine"),
        (["--follow-links"], "--follow-links is for scans on one machine"),
        (["--workers", "2"], "--workers is for scans on one machine"),
        (["--partitions", "-1"], "--partitions must be 1 or more, got -1"),
        (["--master", "local"], "there is a session of Spark already"),
        (["no.jsonl"], "no.jsonl does not exist"),
        (["{there}/_hidden.jsonl"], "Spark does not read files whose names begin with . or _"),
        (["{there}/table.csv"], "all inputs must have one format"),
    ],
)
def test_what_is_wrong_with_the_options_is_said_in_one_line(
    spark, capsys, tmp_path, monkeypatch, arguments, message
):
    monkeypatch.chdir(tmp_path)
    there = tmp_path / "out"
    there.mkdir()
    (there / "_hidden.jsonl").write_text('{"text": "a"}\n')
    (there / "table.csv").write_text("text\na\n")
    path = collections.write(tmp_path / "pages.jsonl", some_texts())
    given = [argument.format(there=there) for argument in arguments]
    output = [] if "-o" in given else ["-o", there if given == [str(there)] else "new"]
    inputs = [path] if given == [str(there)] else [path, *given]
    code, _, error = run(capsys, "scan", *inputs, *output, "--engine", "spark")
    assert (code, error.count("\n")) == (2, 1)
    assert message in error
    assert sorted(os.listdir(tmp_path)) == ["out", "pages.jsonl"]


@pytest.mark.parametrize("kind", sampled(["jsonl", "parquet"], "parquet"))
def test_a_limit_of_rows_per_file_loses_none(spark, capsys, tmp_path, kind):
    pages = collections.write(tmp_path / collections.NAMES[kind], some_texts())
    spark.conf.set("spark.sql.files.maxRecordsPerFile", "10")
    try:
        [local, on_spark] = scan_both(
            capsys, tmp_path, pages, partitions=2, output=f"unique{pages.suffix}"
        )
        assert spark.conf.get("spark.sql.files.maxRecordsPerFile") == "10"
    finally:
        spark.conf.unset("spark.sql.files.maxRecordsPerFile")
    check_figures(local, on_spark)
    check_clusters(tmp_path)
    if kind == "jsonl":
        assert parts(tmp_path / "unique") == (tmp_path / "unique.jsonl").read_bytes()
    else:
        assert rows_of(tmp_path / "unique") == rows_of(tmp_path / "unique.parquet")


def test_a_folder_of_records_with_a_readme_is_refused(spark, capsys, tmp_path):
    folder = tmp_path / "crawl"
    folder.mkdir()
    collections.write(folder / "part-0.jsonl", some_texts())
    (folder / "README.md").write_text("What this is.\n")
    out = tmp_path / "unique"
    code, _, error = run(capsys, "scan", folder, "-o", out, "--engine", "spark")
    assert code == 2
    assert "has both README.md and part-0.jsonl; name those that are meant" in error
    assert sorted(os.listdir(tmp_path)) == ["crawl"]
    # The scan that the message proposes reads the records only.
    arguments = [f"{folder}/*.jsonl", "-o", out, "--engine", "spark", "--json", "-"]
    code, told, error = run(capsys, "scan", *arguments)
    assert (code, json.loads(told)["records"]) == (0, len(some_texts()))


@pytest.mark.parametrize("name", ["pages.parquet", "pages.jsonl"])
def test_a_file_that_is_named_twice_is_refused(spark, capsys, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    collections.write(tmp_path / name, some_texts())
    inputs = [name, tmp_path / f"*{Path(name).suffix}"]
    code, _, error = run(capsys, "scan", *inputs, "-o", "unique", "--engine", "spark")
    assert (code, error.count("\n")) == (2, 1)
    assert f"{name} is named twice" in error
    assert os.listdir(tmp_path) == [name]


def test_clusters_that_cannot_be_written_are_refused_before_anything_is_read(
    spark, capsys, tmp_path
):
    path = bad_lines(tmp_path)
    out = ["-o", tmp_path / "unique", "--clusters", tmp_path / "no" / "such"]
    code, _, error = run(capsys, "scan", path, *out, "--engine", "spark")
    assert code == 2
    assert "no/such must be in a folder that exists" in error
    assert os.listdir(tmp_path) == ["bad.jsonl"]


def leave_something_of_a_killed_task(beside, stop):
    """Wait for the folder that tasks write to, and put a file in it that one has begun."""
    while not stop.is_set():
        for folder in beside.glob(".unique.*/new"):
            (folder / ".0123456789abcdef.part").write_text("half of a page")
            return True
        stop.wait(0.001)
    return False


def test_what_a_killed_task_has_begun_is_no_output(spark, capsys, tmp_path):
    pages = collections.write(tmp_path / "site", some_texts())
    stop = threading.Event()
    with ThreadPoolExecutor() as pool:
        left = pool.submit(leave_something_of_a_killed_task, tmp_path, stop)
        try:
            figures = scan_both(capsys, tmp_path, pages, output="here")
        finally:
            stop.set()
    assert left.result()
    check_figures(*figures)
    here, there = (
        {path.name: path.read_bytes() for path in (tmp_path / name).rglob("*") if path.is_file()}
        for name in ("here", "unique")
    )
    assert here == there


def test_names_of_parts_are_in_the_order_of_their_numbers_however_many_they_are():
    names = [part_name(number, 100_001, ".csv") for number in range(100_001)]
    assert names == sorted(names)
    assert names[-1] == "part-100000.csv"
    assert part_name(99_999, 99_999, ".jsonl.gz") == "part-99999.jsonl.gz"


def test_tables_of_two_writers_are_scanned_together(spark, capsys, tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    texts = some_texts()
    rows = [{"url": f"http://a/{number}", "text": text} for number, text in enumerate(texts)]
    pq.write_table(pa.Table.from_pylist(rows[:50]), tmp_path / "a.parquet")
    own = spark.createDataFrame(rows[50:], "url string, text string").coalesce(1)
    own.write.parquet(f"{tmp_path}/spark")
    [part] = (tmp_path / "spark").glob("part-*.parquet")
    part.rename(tmp_path / "b.parquet")
    inputs = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    check_figures(*scan_both(capsys, tmp_path, *inputs, output="unique.parquet"))
    check_clusters(tmp_path)


def test_columns_may_have_the_names_of_sparks_own(spark, capsys, tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    own = {"_path": "p", "_start": 1, "_row": 2.5, "_metadata": {"file_path": "x"}, "content": b"c"}
    rows = [{"url": "u", "text": text, **own} for text in some_texts()]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "pages.parquet")
    pages = tmp_path / "pages.parquet"
    check_figures(*scan_both(capsys, tmp_path, pages, output="unique.parquet"))
    assert rows_of(tmp_path / "unique") == rows_of(tmp_path / "unique.parquet")


@pytest.mark.parametrize("option", ["-o", "--clusters", "--json"])
def test_an_output_may_not_be_in_an_input(spark, capsys, tmp_path, option):
    folder = tmp_path / "crawl"
    folder.mkdir()
    pages = collections.write(folder / "pages.jsonl", some_texts())
    before = pages.read_bytes()
    (tmp_path / "link").symlink_to(folder)
    target = pages if option == "--json" else tmp_path / "link" / "unique"
    named = [] if option == "-o" else ["-o", tmp_path / "unique"]
    arguments = [folder, *named, option, target, "--overwrite", "--engine", "spark"]
    code, _, error = run(capsys, "scan", *arguments)
    assert (code, error.count("\n")) == (2, 1)
    assert "is an input, or in one" in error
    assert os.listdir(folder) == ["pages.jsonl"]
    assert pages.read_bytes() == before
    assert sorted(os.listdir(tmp_path)) == ["crawl", "link"]


def test_the_folder_of_checkpoints_is_that_of_the_scan_only(spark, tmp_path):
    context = spark.sparkContext
    assert context.getCheckpointDir() is None
    with checkpoints(spark, f"{tmp_path}/rounds"):
        first = context.getCheckpointDir()
        assert f"{tmp_path}/rounds/" in first
        with checkpoints(spark, f"{tmp_path}/others"):
            assert context.getCheckpointDir() == first
    assert context.getCheckpointDir() is None


def test_links_to_records_are_followed_and_links_to_pages_are_left_out(spark, capsys, tmp_path):
    other, folder, site = tmp_path / "other", tmp_path / "crawl", tmp_path / "site"
    for made in (other, folder, site):
        made.mkdir()
    collections.write(other / "c.jsonl", [article(2)])
    collections.write(folder / "a.jsonl", [article(0)])
    (tmp_path / "b.jsonl").write_text('{"text": "b"}\n')
    (folder / "b.jsonl").symlink_to(tmp_path / "b.jsonl")
    (folder / "z").symlink_to(other)
    out = tmp_path / "unique"
    arguments = [folder, "-o", out, "--engine", "spark", "--json", "-"]
    code, told, error = run(capsys, "scan", *arguments)
    assert (code, error) == (0, "")
    assert json.loads(told)["records"] == 3
    (site / "page.html").symlink_to(tmp_path / "b.jsonl")
    code, _, error = run(capsys, "scan", site, "-o", tmp_path / "new", "--engine", "spark")
    assert code == 2
    assert f"there is no record in file:{site}, but 1 link" in error
