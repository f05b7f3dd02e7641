"""``dedup scan --ledger``: what was read once is not read again."""

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, suppress

import pytest
from cases import mixed
from collections_on_disk import NAMES, write
from commands import run
from texts import article, edited, page

from dedup.cli import main
from dedup.record import PageRecord
from dedup.records import JsonLines
from dedup.scan import ScanLedger
from dedup.scan.reader import ReadRecord
from dedup.stores import LedgerError, SqliteStore

TEXTS = [article(3), article(2), edited(article(3)), article(2), None, "short"]
# Commits, and tasks, as small as they can be; and an end as sudden as that by kill -9, some
# microseconds after the ledger was given record number NUMBER.
SCAN = """
import signal, sys
from dedup.cli import main
from dedup.scan import ScanLedger, ledger, record_stream
number, seconds = int(sys.argv[1]), float(sys.argv[2])
ledger._SECONDS_BETWEEN_COMMITS = 0
record_stream._RECORDS_OF_A_TASK = 8
record_stream._BYTES_OF_A_WORKER = 100_000
add = ScanLedger.add
def add_and_end(self, records):
    if self._count <= number < self._count + len(records):
        signal.setitimer(signal.ITIMER_REAL, seconds)
    add(self, records)
ScanLedger.add = add_and_end
sys.exit(main(sys.argv[3:]))
"""


def count(ledger):
    """How many records a ledger has, also while it is written."""
    with (
        suppress(sqlite3.OperationalError),  # it is not there yet
        closing(sqlite3.connect(f"file:{ledger}?mode=ro", uri=True)) as file,
    ):
        return file.execute("SELECT count(*) FROM records").fetchone()[0]
    return 0


def killed_at(number, seconds, arguments):
    """Scan in a process that ends so many seconds after the ledger gets a record."""
    command = [sys.executable, "-c", SCAN, str(number), str(seconds), *arguments]
    scan = subprocess.run(command, capture_output=True, timeout=60)
    assert (scan.returncode, scan.stderr) == (-signal.SIGALRM, b"")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "keep"), mixed(["pages.jsonl", "pages.csv.gz"], ["first", "longest"])
)
def test_a_scan_that_is_killed_again_and_again_ends_as_one_that_is_not(tmp_path, name, keep):
    chooser = random.Random(f"{name} {keep}")
    texts = [article(number, 400) for number in range(350)]
    texts += [edited(texts[number]) + " more" * (number % 3) for number in range(0, 350, 3)]
    texts += ["", *["short"] * 4, *texts[:20]]
    chooser.shuffle(texts)
    path, ledger = write(tmp_path / name, texts), tmp_path / "ledger"

    def arguments(to):
        outputs = ["-o", tmp_path / f"{to}-{name}", "--clusters", tmp_path / f"{to}-clusters"]
        options = ["--keep", keep, "--method", "verified", "--workers", "2"]
        return ["scan", *map(str, [path, *outputs, *options])]

    assert main(arguments("whole")) == 0
    resumed = [*arguments("resumed"), "--ledger", str(ledger)]
    for _ in range(3):
        before = count(ledger)
        number = chooser.randrange(before + 10, before + 120)
        killed_at(number, chooser.uniform(1e-6, 5e-3), resumed)
        assert not (tmp_path / f"resumed-{name}").exists()
        assert number - 8 <= count(ledger) < len(texts)
    assert main(resumed) == 0
    assert count(ledger) == len(texts)
    for end in (name, "clusters"):
        whole, other = (tmp_path / f"{to}-{end}" for to in ("whole", "resumed"))
        assert other.read_bytes() == whole.read_bytes()


@pytest.mark.slow
def test_ctrl_c_leaves_what_was_read(tmp_path):
    path = write(tmp_path / "a.jsonl", [article(n, 2_000) for n in range(300)] * 10)
    for seconds in (0.5, 2, 5, 10):  # on a busy machine, nothing may be read so soon
        folder = tmp_path / str(seconds)
        folder.mkdir()
        ledger, output = folder / "ledger", folder / "b.jsonl"
        arguments = ["scan", path, "-o", output, "--ledger", ledger, "--workers", "1"]
        with subprocess.Popen(
            [sys.executable, "-m", "dedup", *map(str, arguments)], stderr=subprocess.PIPE, text=True
        ) as scan:
            while not ledger.exists():
                time.sleep(0.05)
            time.sleep(seconds)
            scan.send_signal(signal.SIGINT)
            _, err = scan.communicate(timeout=60)
        told = f"{ledger} has what was read: the same command goes on\ninterrupted\n"
        assert (scan.returncode, err) == (130, told)
        assert not output.exists()
        if count(ledger):  # mostly less than two seconds have passed: they were written at the end
            return
    raise AssertionError("nothing was left of what was read")


@pytest.mark.slow
@pytest.mark.parametrize(("name", "keep"), mixed(list(NAMES.values()), ["first", "longest"]))
def test_a_scan_that_has_ended_only_writes_again(tmp_path, capsys, monkeypatch, name, keep):
    path, ledger = write(tmp_path / name, TEXTS), tmp_path / "ledger"
    targets = [tmp_path / f"{number}-{name}" for number in range(2)]
    monkeypatch.setattr("dedup.scan.ledger._ROWS_AT_ONCE", 4)
    arguments = ("--ledger", ledger, "--workers", 1, "--keep", keep, "--json")
    figures = [json.loads(run(capsys, "scan", path, "-o", targets[0], *arguments)[1])]
    monkeypatch.setattr("dedup.scan.record_stream.read_raws", None)
    figures.append(json.loads(run(capsys, "scan", path, "-o", targets[1], *arguments)[1]))
    assert [of.pop("seconds") > 0 for of in figures] == [True, True]
    assert [of.pop("from_ledger") for of in figures] == [0, len(TEXTS)]
    assert figures[0] == figures[1]
    assert contents(targets[0]) == contents(targets[1])


def contents(path):
    files = sorted(path.rglob("*.*")) if path.is_dir() else [path]
    return [(str(file.relative_to(path)), file.read_bytes()) for file in files]


def test_pages_that_could_not_be_read_are_remembered(tmp_path, capsys, monkeypatch):
    path, ledger = tmp_path / "a.jsonl", tmp_path / "ledger"
    lines = [
        json.dumps({"text": text, "url": key}) for text, key in [("one", "\ud800"), ("two", 7)]
    ]
    path.write_text("\n".join([*lines, "{half"]))
    arguments = ["--skip-bad", "--ledger", ledger]
    shown = []
    for number in range(2):
        outputs = ["-o", tmp_path / f"{number}.jsonl", "--clusters", tmp_path / f"{number}"]
        _, out, err = run(capsys, "scan", path, *outputs, *arguments)
        assert err == ""
        lines = [" ".join(line.split()) for line in out.splitlines()]
        assert ("of these, from the ledger 3 (100.0%)" in lines) == (len(shown) == 1)
        changing = "second", "ledger", "written:"
        shown.append([line for line in lines if not any(word in line for word in changing)])
        monkeypatch.setattr(JsonLines, "parse", None)
    assert shown[0] == shown[1]
    assert any("first bad record" in line and "record 3: not JSON" in line for line in shown[0])
    # Without --skip-bad, it stops there, as it would have.
    code, _, err = run(capsys, "scan", path, "-o", tmp_path / "c.jsonl", "--ledger", ledger)
    assert code == 2
    assert "record 3: not JSON" in err


def test_bad_records_of_a_file_with_any_name_are_remembered(tmp_path, capsys):
    path = tmp_path / os.fsdecode(b"a\xff.jsonl")
    path.write_text('{"text": "one"}\n{half')
    arguments = ("--skip-bad", "--ledger", tmp_path / "ledger")
    for number in range(2):
        code, out, err = run(capsys, "scan", path, "-o", tmp_path / f"{number}.jsonl", *arguments)
        assert (code, err) == (0, "")
        assert ".jsonl, record 2: not JSON" in out


OTHER = {
    "method": (["--method", "minhash"], "method 'simhash' there, 'minhash' here"),
    "field": (["--text-field", "url"], "text field 'text' there, 'url' here"),
    "html": (
        ["--html-field", "text"],
        "extractor None there, 'trafilatura' here; html field missing there, 'text' here; "
        "text field 'text' there, missing here",
    ),
    "key": (["--key-field", "text"], "key field None there, 'text' here"),
    "date": (["--keep", "newest:on"], "date field None there, 'on' here"),
    "input": (["more.jsonl"], "the inputs are others, or in another order. Name"),
}


@pytest.fixture
def scanned(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a.jsonl", "more.jsonl"):
        write(tmp_path / name, TEXTS)
    assert run(capsys, "scan", "a.jsonl", "-o", "b.jsonl", "--ledger", "ledger")[0] == 0
    return tmp_path


@pytest.mark.parametrize(("arguments", "difference"), OTHER.values(), ids=OTHER)
def test_a_ledger_of_another_scan_is_refused(scanned, capsys, arguments, difference):
    before = (scanned / "ledger").read_bytes()
    code, out, err = run(
        capsys, "scan", "a.jsonl", *arguments, "-o", "c.jsonl", "--ledger", "ledger"
    )
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"dedup scan: {scanned / 'ledger'} is of another scan: ")
    assert difference in err
    assert err.endswith(". Name another file, or remove this one if it is of no use any more\n")
    assert (scanned / "ledger").read_bytes() == before


def test_inputs_in_another_order_need_another_ledger(scanned, capsys):
    arguments = ("--ledger", "both", "-o")
    assert run(capsys, "scan", "a.jsonl", "more.jsonl", *arguments, "c.jsonl")[0] == 0
    code, _, err = run(capsys, "scan", "more.jsonl", "a.jsonl", *arguments, "d.jsonl")
    assert code == 2
    assert "is of another scan: the inputs are others, or in another order. Name" in err
    assert run(capsys, "scan", "a.jsonl", "more.jsonl", *arguments, "d.jsonl")[0] == 0


def test_what_does_not_change_what_is_read_may_be_other(scanned, capsys):
    options = ["--min-tokens", "5", "--keep", "longest"]
    options += ["--method", '{"name": "simhash", "max_distance": 0}']
    options += ["--clusters", "clusters", "--workers", "2", "--extractor", "resiliparse"]
    arguments = ["scan", "a.jsonl", "-o", "c.jsonl", *options]
    assert run(capsys, *arguments, "--ledger", "ledger")[0] == 0
    assert len((scanned / "c.jsonl").read_bytes().splitlines()) == 5


def test_an_input_that_has_changed_needs_another_ledger(scanned, capsys):
    with (scanned / "a.jsonl").open("a") as file:
        file.write('\n{"text": "one more"}\n')
    arguments = ["scan", "a.jsonl", "-o", "c.jsonl", "--ledger", "ledger"]
    code, _, err = run(capsys, *arguments)
    assert code == 2
    assert f"is of another scan: {scanned / 'a.jsonl'} changed since. " in err
    (scanned / "ledger").unlink()
    assert run(capsys, *arguments)[0] == 0
    assert count("ledger") == 7


@pytest.mark.slow
def test_what_a_kill_left_beside_a_removed_ledger_is_no_harm(scanned, capsys):
    (scanned / "ledger").unlink()
    write(scanned / "large.jsonl", [article(number) for number in range(200)])
    killed_at(10, 1e-6, ["scan", "large.jsonl", "-o", "c.jsonl", "--ledger", "ledger"])
    assert (scanned / "ledger-wal").exists()
    (scanned / "ledger").unlink()
    for output in "c.jsonl", "d.jsonl":
        assert run(capsys, "scan", "more.jsonl", "-o", output, "--ledger", "ledger")[0] == 0
        assert count("ledger") == 6


def test_a_folder_with_another_file_is_another_input(tmp_path, capsys):
    folder, ledger = write(tmp_path / "a", TEXTS), tmp_path / "ledger"
    arguments = ["scan", folder, "--ledger", ledger, "--workers", 1, "-o"]
    assert run(capsys, *arguments, tmp_path / "b")[0] == 0
    (folder / "more.txt").write_text("more")
    code, _, err = run(capsys, *arguments, tmp_path / "c")
    assert (code, f"{folder} changed since" in err) == (2, True)


def test_a_file_that_is_no_ledger_of_a_scan_is_left_alone(tmp_path, capsys):
    path, crawl = write(tmp_path / "a.jsonl", TEXTS), tmp_path / "crawl"
    SqliteStore(crawl, {}).close()
    (tmp_path / "text").write_text("no ledger at all, but a text" * 10)
    (tmp_path / "empty").touch()
    (tmp_path / "folder").mkdir()
    for name, message in [
        ("crawl", "is not a ledger of a scan; name another file"),
        ("empty", "is damaged (it is empty). Put a copy of it back, or move it away and scan anew"),
        (
            "text",
            "is not a ledger of a scan: it is not a SQLite file, or its beginning is damaged; name",
        ),
        ("folder", "folder cannot be used as a ledger: unable to open"),
        ("no/ledger", "must be in a folder that exists"),
        ("a.jsonl", "a.jsonl is not a ledger of a scan"),
        ("b.jsonl", "is given for two outputs"),
        ("folder/../b.jsonl", "is given for two outputs"),
    ]:
        before = {file: file.read_bytes() for file in (crawl, path, tmp_path / "text")}
        code, _, err = run(
            capsys, "scan", path, "-o", tmp_path / "b.jsonl", "--ledger", tmp_path / name
        )
        assert (code, err.count("\n")) == (2, 1)
        assert message in err
        assert {file: file.read_bytes() for file in before} == before
    assert not (tmp_path / "b.jsonl").exists()


def test_a_crawl_refuses_the_ledger_of_a_scan(scanned):
    with pytest.raises(LedgerError, match="is not a ledger of scrapy-dedup"):
        SqliteStore(scanned / "ledger", {})


def test_one_scan_at_a_time(scanned, capsys):
    with closing(ScanLedger(scanned / "other", {"inputs": []})):
        code, _, err = run(capsys, "scan", "a.jsonl", "-o", "c.jsonl", "--ledger", "other")
    told = "is in use: one scan at a time; wait for it, or name another file"
    assert (code, err) == (2, f"dedup scan: {scanned / 'other'} {told}\n")


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM records WHERE number = 0",
        "DELETE FROM records WHERE number = 2",
        "UPDATE records SET digest = 'text' WHERE number = 3",
        "UPDATE records SET tokens = 'many' WHERE number = 0",
        "UPDATE records SET digest = substr(digest, 2) WHERE number = 3",
        "UPDATE records SET sequences = substr(sequences, 2) WHERE number = 3",
        "UPDATE records SET sequences = 3 WHERE number = 3",
        "DELETE FROM about",
        "UPDATE about SET value = '{'",
        "DROP TABLE records",
    ],
)
def test_a_damaged_ledger_is_told(scanned, capsys, damage):
    with closing(sqlite3.connect("ledger")) as file, file:
        file.execute(damage)
    code, _, err = run(capsys, "scan", "a.jsonl", "-o", "c.jsonl", "--ledger", "ledger")
    assert (code, err.count("\n")) == (2, 1)
    assert "ledger" in err
    assert not os.path.exists("c.jsonl")


@pytest.mark.parametrize("version", [0, 1, 3, 5, 6, 8])
def test_a_ledger_of_another_version_is_refused(scanned, capsys, version):
    with closing(sqlite3.connect("ledger")) as file:
        file.execute(f"PRAGMA user_version = {version}")
    code, _, err = run(capsys, "scan", "a.jsonl", "-o", "c.jsonl", "--ledger", "ledger")
    assert code == 2
    assert (
        f"ledger is a ledger of version {version}, this scrapy-dedup needs version 7; name" in err
    )


def test_a_ledger_that_was_only_begun_is_begun_again(scanned, capsys):
    (scanned / ".new.part").write_bytes((scanned / "ledger").read_bytes())
    arguments = ("scan", "a.jsonl", "-o", "c.jsonl", "--ledger", "new")
    assert run(capsys, *arguments)[0] == 0
    assert count("new") == 6
    assert not (scanned / ".new.part").exists()


def test_what_was_added_is_there_when_the_ledger_is_opened_again(tmp_path, monkeypatch):
    records = [
        ReadRecord(PageRecord(f"page{number}", digest=bytes(16)), True) for number in range(6)
    ]
    path, identity = tmp_path / "ledger", {"inputs": []}
    closed = ScanLedger(path, identity)  # it has not run out of two seconds
    closed.add(records[:2])
    closed.close()
    with pytest.raises(LedgerError, match="is of another scan") as refused:
        ScanLedger(path, {**identity, "method": "another"})
    assert refused
    with closing(ScanLedger(path, identity)) as opened:  # which neither of the others holds
        assert (opened.count_before, opened.is_whole) == (2, False)
        monkeypatch.setattr("dedup.scan.ledger._SECONDS_BETWEEN_COMMITS", 0)
        for record in records[2:]:
            opened.add([record])
            assert count(path) == int(record.page.key[-1:]) + 1  # a kill would leave it there
        opened.end()
    with closing(ScanLedger(path, identity)) as whole:
        assert (list(whole.read_records()), whole.is_whole) == ([records], True)


@pytest.mark.slow
def test_html_is_not_extracted_again(tmp_path, capsys, monkeypatch):
    path, ledger = tmp_path / "a.jsonl", tmp_path / "ledger"
    pages = [page(article(1)), page(article(1), "/b"), page(article(2))]
    path.write_text("".join(f"{json.dumps({'html': html})}\n" for html in pages))
    arguments = ["scan", path, "--html-field", "html", "--ledger", ledger, "-o"]
    assert run(capsys, *arguments, tmp_path / "b.jsonl")[0] == 0
    monkeypatch.setattr("dedup.scan.record_stream.WorkerPool", None)
    assert run(capsys, *arguments, tmp_path / "c.jsonl")[0] == 0
    assert (tmp_path / "c.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()
