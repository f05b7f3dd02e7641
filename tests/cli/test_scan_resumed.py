"""``dedup scan --sketches``: what was read once is not read again."""

import json
import os
import random
from functools import partial

import pytest
from cases import mixed
from collections_on_disk import NAMES, write
from commands import contents, json_of, refused, run, shown
from processes import children
from texts import article, edited

from dedup.records import JsonLines
from dedup.scan import SketchesFile

TEXTS = [article(3), article(2), edited(article(3)), article(2), None, "short"]


def count(sketches):
    """How many records a file has, also while it is written."""
    if not sketches.exists():
        return 0
    return sum(line.endswith(b"}\n") for line in sketches.read_bytes().splitlines(True)[1:])


def interrupting(monkeypatch, number):
    """Have a scan end, as by Ctrl-C, once record *number* is in its file of sketches."""
    add = SketchesFile.add

    def add_and_interrupt(self, first, records):
        add(self, first, records)
        if first <= number < first + len(records):
            assert children()  # its workers
            raise KeyboardInterrupt

    monkeypatch.setattr(SketchesFile, "add", add_and_interrupt)


@pytest.mark.parametrize(
    ("name", "keep"), mixed(["pages.jsonl", "pages.csv.gz"], ["first", "longest"])
)
def test_a_scan_that_is_interrupted_again_and_again_ends_as_one_that_is_not(
    tmp_path, capsys, monkeypatch, name, keep
):
    monkeypatch.setattr("dedup.scan.record_stream._RECORDS_OF_A_TASK", 8)
    monkeypatch.setattr("dedup.scan.record_stream._BYTES_OF_A_WORKER", 10_000)
    chooser = random.Random(f"{name} {keep}")
    texts = [article(number, 100) for number in range(150)]
    texts += [edited(texts[number]) + " more" * (number % 3) for number in range(0, 150, 3)]
    texts += ["", *["short"] * 4, *texts[:20]]
    chooser.shuffle(texts)
    path, sketches = write(tmp_path / name, texts), tmp_path / "sketches"

    def scan(to, *more):
        outputs = ["-o", tmp_path / f"{to}-{name}", "--clusters", tmp_path / f"{to}-clusters"]
        options = ["--keep", keep, "--method", "verified", "--workers", 2, "--json"]
        return run(capsys, "scan", path, *outputs, *options, *more)

    code, whole, _ = scan("whole")
    assert code == 0
    before = children()
    for _ in range(3):
        number = chooser.randrange(count(sketches) + 10, count(sketches) + 60)
        with monkeypatch.context() as patch:
            interrupting(patch, number)
            assert scan("resumed", "--sketches", sketches) == (130, "", "interrupted\n")
        assert children() == before
        assert not (tmp_path / f"resumed-{name}").exists()
        assert number - 8 <= count(sketches) < len(texts)
    code, resumed, _ = scan("resumed", "--sketches", sketches)
    assert code == 0
    assert json.loads(resumed)["lost_text"] == json.loads(whole)["lost_text"]
    assert count(sketches) == len(texts) + 1
    for end in (name, "clusters"):
        one, other = (tmp_path / f"{to}-{end}" for to in ("whole", "resumed"))
        assert other.read_bytes() == one.read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize(("name", "keep"), mixed(list(NAMES.values()), ["first", "longest"]))
def test_a_scan_that_has_ended_only_writes_again(tmp_path, capsys, monkeypatch, name, keep):
    path, sketches = write(tmp_path / name, TEXTS), tmp_path / "sketches"
    targets = [tmp_path / f"{number}-{name}" for number in range(2)]
    monkeypatch.setattr("dedup.scan.sketches_file._RECORDS_AT_ONCE", 4)
    arguments = ("--sketches", sketches, "--workers", 1, "--keep", keep)
    figures = [json_of(capsys, "scan", path, "-o", targets[0], *arguments)]
    monkeypatch.setattr("dedup.scan.record_stream.read_raws", None)
    figures.append(json_of(capsys, "scan", path, "-o", targets[1], *arguments))
    assert [of.pop("seconds") > 0 for of in figures] == [True, True]
    assert [of.pop("from_sketches") for of in figures] == [0, len(TEXTS)]
    assert figures[0] == figures[1]
    assert contents(targets[0]) == contents(targets[1])


def test_pages_that_could_not_be_read_are_remembered(tmp_path, capsys, monkeypatch):
    path, sketches = tmp_path / os.fsdecode(b"a\xff.jsonl"), tmp_path / "sketches"
    lines = [
        json.dumps({"text": text, "url": key}) for text, key in [("one", "\ud800"), ("two", 7)]
    ]
    path.write_text("\n".join([*lines, "{half"]))
    arguments = ["--skip-bad", "--sketches", sketches]
    told_twice = []
    for number in range(2):
        outputs = ["-o", tmp_path / f"{number}.jsonl", "--clusters", tmp_path / f"{number}"]
        out = shown(capsys, "scan", path, *outputs, *arguments)
        lines = [" ".join(line.split()) for line in out.splitlines()]
        assert ("of these, from --sketches 3 (100.0%)" in lines) == (number == 1)
        changing = "second", "sketches", "written:"
        told_twice.append([line for line in lines if not any(word in line for word in changing)])
        monkeypatch.setattr(JsonLines, "parse", None)
    assert told_twice[0] == told_twice[1]
    assert any("first bad record" in one and "record 3: not JSON" in one for one in told_twice[0])
    # Without --skip-bad, it stops there, as it would have.
    told = refused(capsys, "scan", path, "-o", tmp_path / "c.jsonl", "--sketches", sketches)
    assert "record 3: not JSON" in told


SKETCHES = ("--sketches", "sketches")
OTHER = {
    "method": (["--method", "minhash"], "method 'simhash' there, 'minhash' here"),
    "field": (["--text-field", "url"], "text field 'text' there, 'url' here"),
    "html": (
        ["--html-field", "text"],
        "extractor None there, 'trafilatura' here; html field missing there, 'text' here; "
        "text field 'text' there, missing here",
    ),
    "record": (
        ["--record-field", "text"],
        "record field missing there, 'text' here; text field 'text'",
    ),
    "key": (["--key-field", "text"], "key field None there, 'text' here"),
    "date": (["--keep", "newest:on"], "date field None there, 'on' here"),
    "input": (["more.jsonl"], "the inputs changed since, are others, or in another order. Name"),
}


@pytest.fixture
def scanned(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a.jsonl", "more.jsonl"):
        write(tmp_path / name, TEXTS)
    shown(capsys, "scan", "a.jsonl", "-o", "b.jsonl", *SKETCHES)
    return tmp_path


@pytest.mark.parametrize(("arguments", "difference"), OTHER.values(), ids=OTHER)
def test_sketches_of_another_scan_are_refused(scanned, capsys, arguments, difference):
    before = (scanned / "sketches").read_bytes()
    told = refused(capsys, "scan", "a.jsonl", *arguments, "-o", "c.jsonl", *SKETCHES)
    assert told.startswith(f"{scanned / 'sketches'} is of another scan: ")
    assert difference in told
    assert told.endswith(". Name another file, or remove this one if it is of no use any more")
    assert (scanned / "sketches").read_bytes() == before


def test_what_does_not_change_what_is_read_may_be_other(scanned, capsys):
    options = ["--min-tokens", "5", "--keep", "longest"]
    options += ["--method", '{"name": "simhash", "max_distance": 0}']
    options += ["--clusters", "clusters", "--workers", "2", "--extractor", "resiliparse"]
    arguments = ["scan", "a.jsonl", "-o", "c.jsonl", *options]
    shown(capsys, *arguments, *SKETCHES)
    assert len((scanned / "c.jsonl").read_bytes().splitlines()) == 5


def test_inputs_that_changed_or_are_in_another_order_need_another_file(scanned, capsys):
    failed = partial(refused, capsys, "scan")
    both, asked = ("--sketches", "both", "-o"), ("-o", "e.jsonl", *SKETCHES)
    shown(capsys, "scan", "a.jsonl", "more.jsonl", *both, "c.jsonl")
    told = "is of another scan: the inputs changed since, are others, or in another order. Name"
    assert told in failed("more.jsonl", "a.jsonl", *both, "d.jsonl")
    shown(capsys, "scan", "a.jsonl", "more.jsonl", *both, "d.jsonl")
    with (scanned / "a.jsonl").open("a") as file:
        file.write('\n{"text": "one more"}\n')
    assert told in failed("a.jsonl", *asked)
    (scanned / "sketches").unlink()
    shown(capsys, "scan", "a.jsonl", *asked)
    assert count(scanned / "sketches") == 8
    folder, asked = write(scanned / "site", TEXTS), ("--sketches", "of-site", "-o")
    shown(capsys, "scan", folder, *asked, "unique")
    (folder / "more.txt").write_text("more")
    assert told in failed(folder, *asked, "again")


def test_a_file_without_sketches_is_left_alone(tmp_path, capsys):
    path = write(tmp_path / "a.jsonl", TEXTS)
    (tmp_path / "text").write_text("no sketches at all, but a text" * 10)
    (tmp_path / "bytes").write_bytes(bytes(range(256)))
    (tmp_path / "folder").mkdir()
    (tmp_path / "other").write_text('{"sketches": 9, "identity": {}}\n')
    for name, message in [
        ("text", "text is not a file of sketches; name another file"),
        ("bytes", "bytes is not a file of sketches; name another file"),
        ("other", "other is not a file of sketches; name another file"),
        ("folder", "folder cannot be used (Is a directory)"),
        ("no/sketches", "must be in a folder that exists"),
        ("a.jsonl", "a.jsonl is not a file of sketches; name another file"),
        ("b.jsonl", "is given for two outputs"),
        ("folder/../b.jsonl", "is given for two outputs"),
    ]:
        before = {file: file.read_bytes() for file in tmp_path.iterdir() if file.is_file()}
        arguments = ("-o", tmp_path / "b.jsonl", "--sketches", tmp_path / name)
        assert message in refused(capsys, "scan", path, *arguments)
        assert {file: file.read_bytes() for file in before} == before
    assert not (tmp_path / "b.jsonl").exists()


def test_one_scan_at_a_time(scanned, capsys):
    with SketchesFile.open(scanned / "other", {"inputs": ""}):
        told = refused(capsys, "scan", "a.jsonl", "-o", "c.jsonl", "--sketches", "other")
    in_use = "is in use: one scan at a time; wait for it, or name another file"
    assert told == f"{scanned / 'other'} {in_use}"


def without_line(number):
    return lambda lines: lines[:number] + lines[number + 1 :]


def with_value(number, name, change):
    def damage(lines):
        values = json.loads(lines[number])
        place = values if name in values else values["page"]
        place[name] = change(place[name])
        return [*lines[:number], json.dumps(values).encode() + b"\n", *lines[number + 1 :]]

    return damage


@pytest.mark.parametrize(
    ("line", "damage"),
    [
        (2, without_line(1)),
        (7, without_line(6)),  # the last record
        (5, with_value(4, "digest", lambda digest: "text")),
        (2, with_value(1, "tokens", lambda tokens: "many")),
        (5, with_value(4, "sequences", lambda sequences: sequences[4:])),
        (3, lambda lines: [*lines[:2], b"\0" * 40 + b"\n", *lines[3:]]),
    ],
)
def test_a_damaged_file_is_told(scanned, capsys, line, damage):
    sketches = scanned / "sketches"
    sketches.write_bytes(b"".join(damage(sketches.read_bytes().splitlines(keepends=True))))
    told = refused(capsys, "scan", "a.jsonl", "-o", "c.jsonl", *SKETCHES)
    assert told == f"{sketches}, line {line}: it is damaged; name another file"
    assert not os.path.exists("c.jsonl")


@pytest.mark.parametrize("left", [0, -1, -9, -700])
def test_what_a_kill_tore_is_read_again(scanned, capsys, left):
    sketches = scanned / "sketches"
    whole = sketches.read_bytes()
    sketches.write_bytes(whole[:left])
    shown(capsys, "scan", "a.jsonl", "-o", "c.jsonl", *SKETCHES)
    assert sketches.read_bytes() == whole
    assert (scanned / "c.jsonl").read_bytes() == (scanned / "b.jsonl").read_bytes()
