"""``dedup scan``, as it is used."""

import os
from io import StringIO

import pytest
from cases import each
from collections_on_disk import NAMES, warc_page, write, write_lines, write_warc
from commands import Terminal, contents, json_of, refused, run_into, scanned, shown
from texts import article, edited, page

from dedup.cli.scan import show_figures
from dedup.evidence import Weakness
from dedup.records import Fields, RecordError, format_of

# The edited copy is at distance 2.
TEXTS = [article(3), article(2), edited(article(3)), article(2), None, "short"]
KEPT = [0, 1, 4, 5]


def size_of(path):
    """How many bytes a file has, or all files of a folder."""
    return sum(file.stat().st_size for file in (path, *path.rglob("*")) if file.is_file())


@pytest.fixture
def pages(tmp_path):
    return write(tmp_path / "pages.jsonl", TEXTS)


def test_unique_records_are_written_and_the_figures_shown(pages, tmp_path, capsys):
    out = shown(capsys, "scan", pages, "-o", tmp_path / "unique.jsonl")
    lines = pages.read_bytes().splitlines()
    assert (tmp_path / "unique.jsonl").read_bytes().splitlines() == [lines[n] for n in KEPT]
    told = [" ".join(line.split()) for line in out.splitlines()]
    assert told[0].startswith("records 6 (")
    assert told[1:8] == [
        "kept 4 (66.7%)",
        "without text 1 (16.7%)",
        "too short for near-duplicates 1 (16.7%)",
        "exact duplicates 1 (16.7%)",
        "near-duplicates 1 (16.7%)",
        "evidence (--evidence) none: no page of HTML; only texts count, no other fields",
        "kept records that others repeat 2",
    ]
    assert told[8].startswith("read and written ")
    assert told[9:11] == [
        "text of duplicates: 396 three-word sequences, 2.3 % of them nowhere stored",
        "9 of 198 of record 3, left out for record 1",
    ]
    assert told[11] == f"written: {tmp_path / 'unique.jsonl'}"


def test_pages_of_which_little_was_extracted_are_counted(pages, tmp_path, capsys):
    figures = json_of(capsys, "scan", pages, "-o", tmp_path / "unique.jsonl")
    show_figures({**figures, "weak": dict.fromkeys(map(str, Weakness), 3)}, "unique.jsonl")
    out = " ".join(capsys.readouterr().out.split())
    assert "less than half extracted: links or a menu 3 (50.0%)" in out
    assert "less than half extracted: a part of the text 3 (50.0%)" in out


def test_equal_texts_lose_nothing_so_that_nothing_is_said_of_it(pages, tmp_path, capsys):
    out = shown(capsys, "scan", pages, "-o", tmp_path / "unique.jsonl", "--method", "exact")
    assert "exact duplicates" in out
    assert "text of duplicates" not in out


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_every_form_gives_the_same_records(tmp_path, capsys, name):
    path, target = write(tmp_path / name, TEXTS), tmp_path / f"unique-{name}"
    counted = json_of(capsys, "scan", path, "-o", target, "--workers", 1)
    fields = Fields()
    before, after = (format_of([path])([path], fields) for path in (path, target))
    records = [before.parse(raw.data) for raw in before.raw_records()]
    assert [after.parse(raw.data) for raw in after.raw_records()] == [records[n] for n in KEPT]
    assert counted.pop("seconds") > 0
    assert {path.name for path in tmp_path.iterdir()} == {name, target.name}
    assert counted.pop("bytes_written") == size_of(target)
    assert counted.pop("lost_text")["sequences"] == 396
    assert counted == {
        "records": 6, "kept": 4, "exact_duplicates": 1, "near_duplicates": 1, "clusters": 2,
        "kept_empty": 1, "kept_short": 1, "kept_unread": 0, "kept_without_scope": 0,
        "kept_by_evidence": {}, "weak": {}, "bad": 0, "first_bad": None,
        "first_unread": None, "method": "simhash", "keep": "first",
        "evidence": "on", "with_evidence": 0,
        "from_sketches": 0,
        "bytes_read": size_of(path),
    }  # fmt: skip


def test_links_in_a_folder_are_left_out(tmp_path, capsys):
    """Links to a secret, to a folder, to itself and to nothing."""
    linked = folder = write(tmp_path / "site", [article(1)])
    (tmp_path / "secret").write_text("root:x:0:0")
    more = write(tmp_path / "elsewhere", [article(2)])
    for name, target in (
        ("p.txt", tmp_path / "secret"), ("more", more), ("up", folder), ("texts/up", folder),
        ("again", folder / "texts"), ("loop.txt", "loop.txt"), ("loop", "loop"), ("no.txt", "no"),
        (".hidden", more), ("p.png", tmp_path / "secret"), ("copy.txt", "texts/page0.txt"),
    ):  # fmt: skip
        (folder / name).symlink_to(target)
    shown(capsys, "scan", linked, "-o", tmp_path / "unique", "--workers", 1)
    assert contents(tmp_path / "unique") == {"texts/page0.txt": article(1).encode()}
    # That which is named may be one.
    (tmp_path / "current").symlink_to(linked)
    shown(capsys, "scan", tmp_path / "current", "-o", tmp_path / "same")
    assert contents(tmp_path / "same") == contents(tmp_path / "unique")


def test_a_file_that_becomes_a_link_while_it_is_read_is_not_copied(tmp_path):
    folder = write(tmp_path / "site", [article(1), article(2)])
    format_ = format_of([folder])([folder], Fields())
    page, secret = folder / "texts" / "page1.txt", tmp_path / "secret"
    state = page.stat()
    secret.write_text("x" * state.st_size)
    os.utime(secret, ns=(state.st_atime_ns, state.st_mtime_ns))
    page.unlink()
    page.symlink_to(secret)
    with pytest.raises(RecordError, match=r"page1.txt has changed while it was read"):
        format_.check_unchanged()


def test_an_archive_of_html_is_compared_by_main_texts_and_its_newest_by_its_own_date(
    tmp_path, capsys
):
    old, new = (
        warc_page(
            f"http://a/{year}", page(article(1), f"/{year}"), media_type="text/html",
            date=f"{year}-01-01T00:00:00Z",
        )
        for year in ("2001", "2002")
    )  # fmt: skip
    archive = write_warc(tmp_path / "a.warc", [*old, *new])
    for keep, kept in (("first", old), ("newest", new)):
        output = tmp_path / f"{keep}.warc"
        shown(capsys, "scan", archive, "-o", output, "--keep", keep, "--workers", 1)
        assert output.read_bytes() == b"".join(kept)
    folder = write(tmp_path / "a", [article(1), edited(article(1))])
    os.utime(folder / "texts" / "page1.txt", (2_000_000_000, 2_000_000_000))
    arguments = ("--keep", "newest", "--method", "verified")
    shown(capsys, "scan", folder, "-o", tmp_path / "b", *arguments)
    assert list(contents(tmp_path / "b")) == ["texts/page1.txt"]


TEXT = ("--text-field", "body")
HTML = ("--html-field", "html", "--workers", 1, "--extractor", "resiliparse")


@pytest.mark.slow
@each(
    ("method", "options", "kept"),
    [
        ("exact", TEXT, [0, 1, 2]),
        ("verified", HTML, [0, 2]),
        ('{"name": "verified", "max_distance": 0}', TEXT, [0, 1, 2]),
        ("verified", [*TEXT, "--keep", "longest"], [1, 2]),
        ("verified", [*TEXT, "--keep", "newest:on"], [0, 2]),
        ("verified", [*TEXT, "--min-tokens", 1000], [0, 1, 2]),
    ],
)
def test_other_fields_methods_and_orders_are_chosen(tmp_path, method, options, kept):
    texts = [article(1), edited(article(1)) + " and more", article(2)]
    lines = [
        {"html": page(text), "body": text, "id": n, "on": 9 - n} for n, text in enumerate(texts)
    ]
    path = write_lines(tmp_path / "a.jsonl", lines)
    code, places, _ = scanned(path, "--key-field", "id", "--method", method, *options)
    assert (code, places) == (0, kept)


def test_bad_records_are_left_out_if_that_is_asked_for(tmp_path, capsys):
    path, target = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    path.write_bytes(b'{"text": "one"}\n{"text": "\xff"}\n{"text": "three"}\n{"text": "ha')
    message = f"{path}, record 2: not utf-8 (invalid start byte at 10)"
    assert refused(capsys, "scan", path, "-o", target) == message
    assert not target.exists()
    out = shown(capsys, "scan", path, "-o", target, "--skip-bad")
    assert target.read_bytes() == b'{"text": "one"}\n{"text": "three"}\n'
    assert "exact duplicates 0 (0.0%) near-duplicates 0 (0.0%) bad, left out 2 (50.0%)" in " ".join(
        out.split()
    )
    assert f"first bad record: {path}, record 2: not utf-8" in out


WRONG = [
    (["nowhere.jsonl", "-o", "new.jsonl"], "nowhere.jsonl does not exist"),
    (["a.jsonl", "-o", "new.csv"], "new.csv must end in one of .jsonl, .jl, .ndjson, .json, "),
    (["a.jsonl", "-o", "there.jsonl"], "there.jsonl exists: remove it, or choose another"),
    (["a.jsonl", "-o", "no/new.jsonl"], "no/new.jsonl must be in a folder that exists"),
    (["a.jsonl", "-o", "n.jsonl", "--clusters", "n.jsonl"], "n.jsonl is given for two outputs"),
    (["a.jsonl", "-o", "n.jsonl", "--clusters", "there.txt"], "there.txt exists: remove"),
    (["nowhere", "-o", "new"], "nowhere does not exist"),
    (["site", "-o", "site/new"], "site/new is in an input"),
    (["site", "-o", "new", "--clusters", "site/c"], "site/c is in an input"),
    (["site", "-o", "full"], "full exists: remove it, or choose another name"),
    (["links", "-o", "new"], "there is no record in links: no file .html .htm"),
    (["site", "-o", "new", "--text-field", "a"], "a folder has no fields to be named"),
    (["pipe.jsonl", "-o", "new.jsonl"], "regular file, which can be read twice"),
    (["a.warc", "-o", "new.warc.gz"], "new.warc.gz must be compressed like a.warc"),
    (["empty.jsonl", "-o", "new.jsonl"], "there is no record in empty.jsonl"),
    (["a.jsonl", "-o", "n.jsonl", "--text-field", "b"], "none of the first 1 record has the fie"),
    (["b.csv", "-o", "new.csv", "--text-field", "b"], "b.csv has no columns named 'b'; it has url"),
    (["bad.jsonl", "-o", "new.jsonl"], "bad.jsonl, record 1: not JSON (Expecting value"),
    (["bad.jsonl", "-o", "n.jsonl", "--skip-bad"], "all records are bad; the first one: bad.jsonl"),
    (["a.jsonl", "-o", "n.jsonl", "--keep", "newest"], "--keep newest needs the name of the fie"),
    (["a.jsonl", "-o", "n.jsonl", "--keep", "first:d"], "https, clean-url, newest-versi"),
    (["a.jsonl", "-o", "n.jsonl", "--keep", "newest:a,newest:b"], "--keep newest is there twice"),
    (["a.jsonl", "-o", "n.jsonl", "--keep", ","], "--keep must name a criterion, one of first, "),
    (["a.jsonl", "-o", "n.jsonl", "--keep", "first,longest"], "--keep: after first, nothing is"),
    (["a.jsonl", "-o", "n.jsonl", "--keep", "own.newest:f"], "got 'own.newest:f': No module named"),
    (["a.jsonl", "-o", "n.jsonl", "--sketches", "n.jsonl"], "n.jsonl is given for two outputs"),
    (["a.warc", "-o", "n.warc", "--keep", "newest:d"], "a warc has no fields to be named"),
    (["a.jsonl", "-o", "n.jsonl", "--workers", "0"], "--workers must be 1 or more, got 0"),
    (["a.jsonl", "-o", "n.jsonl", "--min-tokens", "-1"], "--min-tokens must be 0 or more, got -1"),
]  # fmt: skip


@pytest.fixture
def inputs(tmp_path, monkeypatch):
    """The current folder, with files of all kinds."""
    monkeypatch.chdir(tmp_path)
    for name in ("a.jsonl", "b.csv", "a.warc", "site"):
        write(tmp_path / name, ["text"])
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "other.png").touch()
    for name in ("there.jsonl", "there.txt", "bad.jsonl"):
        (tmp_path / name).write_text("as it was")
    (tmp_path / "empty.jsonl").touch()
    os.mkfifo(tmp_path / "pipe.jsonl")
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "site").symlink_to(tmp_path / "site")
    (tmp_path / "links" / "there.txt").symlink_to(tmp_path / "there.txt")
    return tmp_path


@each(("arguments", "message"), WRONG)
def test_wrong_input_gets_one_line_and_writes_nothing(inputs, capsys, arguments, message):
    before = contents(inputs)
    assert message in refused(capsys, "scan", *arguments)
    assert contents(inputs) == before
    assert not (inputs / "new").exists()


def test_a_full_disk_leaves_nothing_behind(pages, tmp_path, capsys, monkeypatch):
    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    before = contents(tmp_path)
    arguments = ("-o", tmp_path / "b.jsonl", "--clusters", tmp_path / "c")
    assert refused(capsys, "scan", pages, *arguments) == "[Errno 28] No space left on device"
    assert contents(tmp_path) == before


LINE = b'\n{"text": "one more"}\n'


def growing(path, monkeypatch, name):
    """Have another process write a line to a file before a function of the command is called."""
    from dedup.cli import scan

    function = getattr(scan, name)

    def grow_and_call(*arguments):
        with path.open("ab") as file:
            file.write(LINE)
        return function(*arguments)

    monkeypatch.setattr(scan, name, grow_and_call)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ("pages.jsonl", "has changed while it was read; scan it again"),
        ("b.jsonl", "was created by another process meanwhile"),
    ],
)
def test_what_another_process_writes_meanwhile_stays_alone(
    pages, tmp_path, capsys, monkeypatch, changed, message
):
    growing(tmp_path / changed, monkeypatch, "write_clusters")
    before = contents(tmp_path)
    arguments = ("-o", tmp_path / "b.jsonl", "--clusters", tmp_path / "clusters")
    assert refused(capsys, "scan", pages, *arguments) == f"{tmp_path / changed} {message}"
    assert contents(tmp_path) == before | {changed: before.get(changed, b"") + LINE}


@pytest.mark.parametrize("name", ["pages.jsonl", "pages.warc"])
def test_a_file_that_grows_before_it_is_copied_is_named(tmp_path, capsys, monkeypatch, name):
    path = write(tmp_path / name, TEXTS)
    growing(path, monkeypatch, "progress")
    message = refused(capsys, "scan", path, "-o", tmp_path / f"new-{name}")
    assert message == f"{path} has changed while it was read; scan it again"
    assert contents(tmp_path) == {name: path.read_bytes()}


@each("name", ["pages.jsonl.gz", "site"])
def test_progress_is_shown_on_a_terminal_in_percent_and_taken_away(tmp_path, monkeypatch, name):
    monkeypatch.setenv("TERM", "xterm")
    path, out = write(tmp_path / name, TEXTS), StringIO()
    asked = "scan", path, "-o", tmp_path / f"new-{name}", "--workers", 1
    code, shown = run_into(out, *asked, errors=Terminal())
    assert (code, "\x1b" in out.getvalue()) == (0, False)
    counted, _, rest = shown.rpartition("100%")
    assert "reading" in counted
    assert "writing" in counted
    assert "0:00:00" in rest
    assert "\x1b[2K" in rest  # as the line is erased
