import gzip
import json
import os
import subprocess
import sys
from itertools import combinations

import pytest
from cases import each
from commands import json_of, refused, run, run_into, shown
from labelled import write
from scrapy.settings import Settings
from texts import ENGLISH, article, edited, page

from dedup.cli import COMMANDS, main
from dedup.lexicon import load_lexicon
from dedup.methods import METHODS
from dedup.rule import SHORT
from dedup.scrapy_plugin.settings import DedupSettings


@pytest.fixture
def collection(tmp_path):
    return write(tmp_path / "news")


def test_a_collection_is_scored_by_the_default_method(collection, capsys):
    header, row = shown(capsys, "evaluate", collection).splitlines()
    columns = ["collection", "method", "found", "/", "to", "find", "precision", "recall", "F1"]
    assert header.split()[:9] == columns
    assert row.split()[:8] == ["news", "simhash", "1", "/", "3", "1.000", "0.333", "0.500"]


def test_pages_are_short_to_every_command_as_they_are_in_a_crawl():
    assert DedupSettings.from_settings(Settings()).min_tokens == SHORT


def test_all_methods_are_compared_and_the_figures_are_written(collection, capsys):
    figures = json_of(capsys, "evaluate", collection, "--method", "all")
    assert [row["method"] for row in figures] == list(METHODS)
    by_method = {row["method"]: row for row in figures}
    assert by_method["exact"]["recall"] == 1 / 3
    assert by_method["verified"]["f1_edited"] == 1.0


def test_thresholds_are_swept_and_shown_by_the_parameter_that_is(collection, capsys):
    methods = "simhash", "shingling", "keywords"
    out = shown(capsys, "evaluate", collection, "--method", *methods, "--sweep")
    rows = [line.split()[1:3] for line in out.splitlines()[1:]]
    assert rows[:17] == [["simhash", str(distance)] for distance in range(17)]
    assert rows[17][0] == "shingling"
    assert [value for name, value in rows if name == "keywords"][:2] == ["2", "4"]


def test_errors_are_shown_with_the_words_that_differ(collection, capsys):
    out = shown(capsys, "evaluate", collection, "--method", "exact", "--errors", 1)
    assert "missed pair of exact in news: a | edited" in out
    assert "pair" not in shown(capsys, "evaluate", collection, "--method", "exact")
    assert "word29 [-word30-] {+changed+} word31" in out.replace("\n", " ")
    assert "again | edited" not in out


LEXICON = ["evaluate", "--lexicon", "-o", "new"]
WRONG = [
    (["evaluate", "nowhere"], "nowhere/docs.jsonl cannot be used (No such file or directory)"),
    (["evaluate", "news", "--method", "simhsh"], "'simhsh'; did you mean simhash?"),
    (["evaluate", "news", "--method", "a.b"], "got 'a.b': No module named 'a'"),
    (["evaluate", "news", "--method", "{" * 10**5], "--method must be a dict or one in JSON, got"),
    (
        ["evaluate", "news", "--method", '{"name": "simhash", "bits": 1}'],
        "--method simhash: bits must be from 32 to 384",
    ),
    (
        ["evaluate", "news", "--method", "exact", '{"name": "simhash", "simplify_chinese": true}'],
        "--method must have one simplify_chinese for all",
    ),
    (["evaluate", "news", "--extractor", "x"], "--extractor must be an import path or one"),
    (["evaluate", "news", "--errors", "-1"], "--errors must be 0 or more, got -1"),
    ([*LEXICON, "nowhere"], "nowhere cannot be used (No such file or directory)"),
    ([*LEXICON, "empty.jsonl"], "a lexicon needs at least 2 documents, got 0"),
    ([*LEXICON, "bad.jsonl"], "bad.jsonl, record 2: must be a JSON object"),
    ([*LEXICON, "number.jsonl"], "record 1: the field 'text' must be a string"),
    ([*LEXICON, "bytes.txt"], "bytes.txt is not UTF-8"),
    ([*LEXICON, "bad.jsonl", "-o", "a/b"], "a/b must be in a folder that exists"),
    *(
        ([*LEXICON, "bad.jsonl", "-o", name], f"{name} exists: remove it, or choose another name")
        for name in ("there", "news", "gone", "lost", "pipe")
    ),
]


CONTENTS = {
    "there": b"as it was",
    "empty.jsonl": b"\n",
    "bad.jsonl": b'{"text": "a"}\n["b"]\n',
    "number.jsonl": b'{"text": 1}\n',
    "bytes.txt": b"\xff",
}
LINKS = {"gone": "no-file", "lost": "no-folder/file"}


@pytest.fixture
def inputs(collection, tmp_path, monkeypatch):
    """The current folder, with files of all kinds."""
    monkeypatch.chdir(tmp_path)
    for name, content in CONTENTS.items():
        (tmp_path / name).write_bytes(content)
    os.mkfifo(tmp_path / "pipe")
    for name, target in LINKS.items():
        (tmp_path / name).symlink_to(target)
    return tmp_path


@each(("arguments", "message"), WRONG)
def test_wrong_input_gets_one_line_and_writes_nothing(inputs, capsys, arguments, message):
    told = refused(capsys, *arguments)
    assert (message in told, len(told) < 1000) == (True, True)
    assert {path.name for path in inputs.iterdir()} == {*CONTENTS, *LINKS, "news", "pipe"}
    assert (inputs / "there").read_bytes() == b"as it was"


def test_an_extractor_is_an_import_path_or_one_that_is_installed(
    collection, tmp_path, capsys, monkeypatch
):
    (tmp_path / "own_extractor.py").write_text("def extract(html): return 'its own text'\n")
    (tmp_path / "page.html").write_text("<!doctype html><html><body><p>One page</body></html>")
    monkeypatch.chdir(tmp_path)
    arguments = ("--extractor", "own_extractor.extract")
    assert "its own text" in shown(capsys, "explain", "page.html", "page.html", *arguments)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    message = "--extractor 'resiliparse' needs: pip install 'scrapy-dedup[resiliparse]'"
    assert refused(capsys, "evaluate", collection, "--extractor", "resiliparse") == message


def test_a_folder_that_cannot_be_written_is_told_before_the_work(collection, capsys, monkeypatch):
    monkeypatch.setattr("os.access", lambda path, mode: path != collection)  # root may write all
    new = collection / "new"
    message = f"{new} must be in a folder that exists and is writable"
    assert refused(capsys, "evaluate", collection / "a", "--lexicon", "-o", new) == message


def test_a_lexicon_is_made_and_used(collection, tmp_path, capsys):
    (tmp_path / "more.txt").write_text(ENGLISH)
    path = tmp_path / "my.lexicon"
    texts = collection / "docs.jsonl", tmp_path / "more.txt"
    out = shown(capsys, "evaluate", "--lexicon", *texts, "-o", path)
    lexicon = load_lexicon(str(path))
    # The 60 words of three of the five pages; no other word is in two documents.
    assert out == f"{path}: 60 words of 6 documents, digest {lexicon.digest}\n"
    assert (lexicon.frequencies["word1"], lexicon.frequencies.get("ferry")) == (3, None)
    method = json.dumps({"name": "i-match", "lexicon": str(path)})
    assert shown(capsys, "evaluate", collection, "--method", method).split()[-12] == "i-match"


@pytest.mark.parametrize(("name", "pack"), [("i.NDJSON", bytes), ("i.json.gz", gzip.compress)])
def test_of_lines_and_texts_the_words_are_counted_and_those_without_a_text(
    tmp_path, capsys, name, pack
):
    texts = "Three words here", "three", None, ""
    lines = (json.dumps({"body": text, "text": "no"}) for text in texts)
    (tmp_path / name).write_bytes(pack("\n".join(lines).encode("utf-8-sig")))
    (tmp_path / "page.txt").write_text("three here", "utf-8-sig")
    inputs, path = [tmp_path / name, tmp_path / "page.txt"], tmp_path / "lexicon"
    arguments = ("evaluate", "--lexicon", *inputs, "-o", path, "--text-field", "body")
    out = shown(capsys, *arguments)
    assert out.partition(": ")[2][:25] == "2 words of 3 documents, d"
    assert "2 documents were skipped, without text (JSON lines: in the field 'body')" in out
    assert load_lexicon(str(path)).frequencies == {"three": 3, "here": 2}


@each("arguments", [(), ("--print-completion", "bash"), ("methods",), ("scan", "--help")])
def test_whatever_is_shown_may_not_be_written(arguments):
    """And Python complains of nothing when the output is closed."""
    with open("/dev/full", "w") as full:
        code, err = run_into(full, *arguments)
    assert (code, err.count("\n"), "No space left on device" in err) == (2, 1, True)
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "w") as broken:
        assert run_into(broken, *arguments) == (0, "")


def test_an_output_may_be_closed_by_who_called(monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    assert main(["methods"]) == 0
    sys.stdout.close()


@each("name", ["", *COMMANDS])
def test_help_is_there_with_examples(name, capsys):
    with pytest.raises(SystemExit) as ended:
        main([*[name] * bool(name), "--help"])
    captured = capsys.readouterr()
    assert (ended.value.code, captured.err) == (0, "")
    assert not name or f"examples:\n  dedup {name}" in captured.out


def test_too_little_memory_is_an_error_without_a_traceback(tmp_path, capsys, monkeypatch):
    def too_large(*_):
        raise MemoryError

    monkeypatch.setattr("dedup.cli.evaluate._texts", too_large)
    asked = ("evaluate", "--lexicon", tmp_path / "in.txt", "-o", tmp_path / "lexicon.gz")
    assert refused(capsys, *asked) == "out of memory"
    assert list(tmp_path.iterdir()) == []


@each(
    ("arguments", "code", "told"),
    [
        (["--version"], 0, ["scrapy-dedup "]),
        (["scna", "scan"], 2, ["'scna'", "report", "; see dedup --help\n"]),
        (["why", "a"], 2, ["'why'", "; dedup why is now: dedup explain URL --ledger LEDGER; see"]),
        (
            ["scan", "a.jsonl", "-o", "b.jsonl", "--max-distance", "5"],
            2,
            ["unrecognized arguments: --max-distance 5; see dedup scan --help\n"],
        ),
        *(
            (["scan", "a", "-o", "b", one, "x", other, "x"], 2, ["not allowed with argument"])
            for one, other in combinations(("--text-field", "--html-field", "--record-field"), 2)
        ),
    ],
)
def test_command_lines_that_no_command_gets_are_answered(capsys, arguments, code, told):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    out, err = capsys.readouterr()
    assert ended.value.code == code
    assert [part for part in told if part not in (err if code else out)] == []
    assert "restore" in run(capsys)[1]


def test_methods_are_listed_with_their_arguments(capsys):
    out = shown(capsys, "methods")
    assert [line.split()[0] for line in out.splitlines() if line[0] != " "][1:] == list(METHODS)
    assert json_of(capsys, "methods")["simhash"]["max_distance"] == 3


def test_html_is_evaluated_by_its_main_text_and_by_evidence_if_that_is_asked_for(tmp_path, capsys):
    folder = write(tmp_path / "titled", {}, [("one", "other", "dup")])
    lines = []
    for name, text in (("one", article(1)), ("other", edited(article(1)))):
        (folder / f"{name}.html").write_text(page(text, title=f"All about {name}"))
        lines.append({"id": name, "text": article(len(name)), "html": f"{name}.html"})
    (folder / "docs.jsonl").write_text("\n".join(map(json.dumps, lines)))
    extracted = ("--extractor", "trafilatura")
    for options, found in (((), 0), (extracted, 1), ((*extracted, "--evidence", "on"), 0)):
        assert json_of(capsys, "evaluate", folder, *options)[0]["pairs_found"] == found


def completed(script, *lines):
    """What bash offers for the last word of each of *lines*."""
    calls = []
    for line in lines:
        words = line.split()
        call = f"COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _shtab_dedup dedup"
        calls.append(f'{call} "{words[-1]}" "{words[-2]}"; echo "${{COMPREPLY[@]}}"')
    command = "\n".join([script, *calls])
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_a_shell_completes_commands_options_and_choices(capsys):
    pytest.importorskip("shtab")
    script = shown(capsys, "--print-completion", "bash")
    lines = ["dedup res", "dedup scan --evi", "dedup scan --evidence of"]
    assert completed(script, *lines) == ["restore", "--evidence", "off"]


def test_without_the_library_for_completion_it_is_said_how_to_install_it(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "shtab", None)
    code, out, err = run(capsys, "--print-completion", "zsh")
    assert (code, out) == (2, "")
    assert err == "dedup: --print-completion needs: pip install 'scrapy-dedup[completion]'\n"
