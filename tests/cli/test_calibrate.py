import csv
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time

import pytest
from cases import each
from texts import article, replaced

from dedup.cli import main

COPIES = 20


@pytest.fixture
def pages(tmp_path, monkeypatch):
    """40 pages, and copies of half of them with ever more words replaced."""
    monkeypatch.chdir(tmp_path)
    texts = {f"page/{number}": article(number, 300) for number in range(40)}
    texts |= {
        f"copy/{number}": replaced(article(number, 300), number + 1) for number in range(COPIES)
    }
    texts |= {"page/equal": article(0, 300), "short": "a few words", "none": None}
    lines = [json.dumps({"url": key, "text": text}) for key, text in texts.items()]
    (tmp_path / "pages.jsonl").write_text("\n".join(lines))
    return tmp_path


@pytest.fixture
def calibrate(pages, capsys):
    """The exit code, the output and what is said on stderr."""

    def run(*arguments):
        code = main(["calibrate", *map(str, arguments)])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def is_copy(one, other):
    return one.split("/")[1:] == other.split("/")[1:]


def read_table(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def fill_in(path):
    """Label all pairs of a table, as a person would elsewhere."""
    rows = read_table(path)
    for row in rows:
        row["label"] = "Yes" if is_copy(row["key1"], row["key2"]) else "no "
        row["key1"], row["key2"] = row["key2"], row["key1"]  # which is first does not matter
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, list(rows[0]), delimiter="\t")
        table.writeheader()
        table.writerows(rows)
    return rows


def test_pairs_are_judged_elsewhere_and_a_threshold_is_recommended(calibrate, pages):
    code, out, err = calibrate("pages.jsonl", "--pairs-out", "pairs.tsv", "--pairs", 1000)
    assert (code, err) == (0, "")
    assert out.startswith("60 pages with different texts")
    assert "pairs.tsv is written: fill in the column label" in out
    rows = fill_in(pages / "pairs.tsv")
    assert rows[0]["text1"].split()
    # Of pages with equal texts, the first.
    keys = {row[name] for row in rows for name in ("key1", "key2")}
    assert ("page/0" in keys, "page/equal" in keys) == (True, False)
    code, out, err = calibrate("pages.jsonl", "--answers", "pairs.tsv", "--json", "figures.json")
    assert (code, err) == (0, "")
    figures = json.loads((pages / "figures.json").read_text())
    [method] = figures["methods"]
    copies = sum(is_copy(row["key1"], row["key2"]) for row in rows)
    # All pairs were judged: what is expected is what is.
    last = method["thresholds"][-1]
    assert (figures["judged"], last["found"]) == (len(rows), copies)
    assert last["precision"]["mean"] == pytest.approx(copies / len(rows))
    precise = [
        step["threshold"] for step in method["thresholds"] if step["precision"]["mean"] >= 0.95
    ]
    assert method["recommended"] == precise[-1]
    [lost] = [
        step["lost_text"] for step in method["thresholds"] if step["threshold"] == precise[-1]
    ]
    assert 0 < lost["share"] < 0.2
    assert lost["error"] == 0
    percent = f"{100 * lost['share']:.{0 if lost['share'] >= 0.1 else 1}f} %"
    assert (
        f"At this threshold, {percent} of the extracted text of dropped pages is lost."
        in " ".join(out.split())
    )
    shares = [step["lost_text"]["share"] for step in method["thresholds"]]
    assert shares[-1] > shares[0]
    assert out.endswith(f"DEDUP_METHOD = {{'name': 'simhash', 'max_distance': {precise[-1]}}}\n")


@pytest.mark.slow
def test_methods_are_compared_by_recall_on_the_same_answers(calibrate, pages):
    methods = ("--method", "simhash", "verified", "exact")
    calibrate("pages.jsonl", *methods, "--pairs-out", "pairs.tsv", "--pairs", 1000)
    fill_in(pages / "pairs.tsv")
    _, out, _ = calibrate("pages.jsonl", *methods, "--answers", "pairs.tsv", "--json", "figures")
    figures = json.loads((pages / "figures").read_text())
    assert [method["method"] for method in figures["methods"]] == ["simhash", "verified", "exact"]
    recalls = {
        method["method"]: step["recall"]["mean"]
        for method in figures["methods"]
        for step in method["thresholds"]
        if step["threshold"] == method["recommended"]
    }
    assert figures["recommended"] == max(recalls, key=recalls.get)
    assert f"DEDUP_METHOD = {{'name': '{figures['recommended']}'" in out
    assert figures["methods"][2]["recommended"] is None
    assert "exact: no threshold has an expected precision of 0.95 by these answers." in out
    arguments = (*methods, "exact", "--answers", "pairs.tsv", "--json", "figures", "--overwrite")
    _, out, _ = calibrate("pages.jsonl", *arguments, "--precision", 0)
    figures = json.loads((pages / "figures").read_text())
    assert [method["method"] for method in figures["methods"]] == ["simhash", "verified", "exact"]
    assert (
        figures["methods"][0]["recommended"] == figures["methods"][0]["thresholds"][-1]["threshold"]
    )
    assert "exact: no threshold has an expected precision of 0 by these answers." in out
    # By simhash, not by exact, which has no other distance.
    told = " ".join(out.split())
    assert told.count("It is the largest distance tried (--args sets max_distance).") == 1
    _, out, _ = calibrate("pages.jsonl", "--answers", "pairs.tsv", "--precision", 1)
    assert "It is the largest distance" not in out


def test_answers_of_other_pairs_are_counted_and_arguments_kept(calibrate, pages):
    arguments = ("--args", '{"weights": "tf", "max_distance": 12}')
    calibrate("pages.jsonl", *arguments, "--pairs-out", "pairs.tsv")
    fill_in(pages / "pairs.tsv")
    with (pages / "pairs.tsv").open("a") as file:
        file.write("page/1\tnowhere\tyes\t\t\n")
    code, out, _ = calibrate("pages.jsonl", *arguments, "--answers", "pairs.tsv")
    assert code == 0
    assert "{'name': 'simhash', 'weights': 'tf', 'max_distance': " in out
    assert "1 answer is about pairs that are not among these." in out


def test_other_seeds_draw_other_pairs_of_pages_that_are_just_long_enough(calibrate, pages):
    for seed in (0, 1):
        arguments = ("--pairs", 5, "--seed", seed, "--min-tokens", 300)
        _, out, _ = calibrate("pages.jsonl", "--pairs-out", f"{seed}.tsv", *arguments)
        assert out.startswith("60 pages with different texts")
    assert read_table(pages / "0.tsv") != read_table(pages / "1.tsv")


def test_pairs_of_any_text_are_written_in_cells_that_a_spreadsheet_can_hold(calibrate, pages):
    lines = [{"url": f"{name}\ud800", "text": f"{article(1, 9000)} {name} \ud800"} for name in "ab"]
    (pages / "long.jsonl").write_text("\n".join(map(json.dumps, lines)))
    assert calibrate("long.jsonl", "--pairs-out", "pairs.tsv")[0] == 0
    [row] = read_table(pages / "pairs.tsv")
    assert {row["key1"], row["key2"]} == {"a\ufffd", "b\ufffd"}
    assert len(row["text1"]) == len(row["text2"]) == 32_000


def test_without_near_pages_there_is_nothing_to_judge(calibrate, pages):
    code, out, _ = calibrate("pages.jsonl", "--method", "exact", "--pairs-out", "pairs.tsv")
    assert code == 0
    assert out.endswith("No two of them are near, so there is nothing to judge.\n")
    assert not (pages / "pairs.tsv").exists()


def test_pairs_that_were_judged_come_with_their_answers(calibrate, pages):
    calibrate("pages.jsonl", "--pairs-out", "pairs.tsv", "--pairs", 5)
    fill_in(pages / "pairs.tsv")
    calibrate("pages.jsonl", "--answers", "pairs.tsv", "--pairs-out", "more.tsv", "--pairs", 9)
    labels = [row["label"] for row in read_table(pages / "more.tsv")]
    assert all(labels[:5])
    assert not any(labels[5:])


WRONG = [
    ([], "there is no terminal to ask in: give --answers with a table"),
    (["--answers", "nowhere"], "nowhere cannot be read (No such file or directory)"),
    (["--answers", "unlabelled.tsv"], "unlabelled.tsv has no answer to any of"),
    (["--answers", "columns.tsv"], "columns.tsv lacks the columns key2"),
    (["--answers", "label.tsv"], "label.tsv, line 2: label must be one of yes, no, skip, or emp"),
    (["--answers", "bytes"], "bytes is not a table in UTF-8"),
    (["--answers", "."], ". cannot be read (Is a directory)"),
    (
        ["--answers", "label.tsv", "--json", "label.tsv", "--overwrite"],
        "label.tsv is also an input",
    ),
    (["--pairs-out", "pages.jsonl"], "pages.jsonl exists; --overwrite replaces it"),
    (["--pairs-out", "pages.jsonl", "--overwrite"], "pages.jsonl is also an input"),
    (["--pairs-out", "new", "--pairs", "0"], "--pairs must be 1 or more, got 0"),
    (["--pairs-out", "new", "--seed", "-1"], "--seed must be 0 or more, got -1"),
    (["--pairs-out", "new", "--seed", str(2**64)], "--seed must be below 2**64, got"),
    (["--pairs-out", "new", "--precision", "nan"], "--precision must be from 0 to 1, got nan"),
    (["--pairs-out", "new", "--method", "x"], "--method must be"),
    (["--pairs-out", "new", "--args", '{"bits": 1}'], "--args: simhash: bits must be"),
    (
        ["--pairs-out", "new", "--key-field", "name"],
        "pages.jsonl, line 1: the key 'name' must be a str",
    ),
    (
        ["--pairs-out", "new", "--text-field", "body"],
        "0 different texts of 20 tokens or more in the",
    ),
    (["--pairs-out", "new", "--min-tokens", "301"], "0 different texts of 301 tokens or more"),
]


@each(("arguments", "message"), WRONG)
def test_wrong_input_gets_one_line_and_writes_nothing(calibrate, pages, arguments, message):
    contents = {
        "unlabelled.tsv": b"key1\tkey2\tlabel\npage/1\tcopy/1\t\n",
        "columns.tsv": b"key1\tlabel\n",
        "label.tsv": b"key1\tkey2\tlabel\na\tb\tmaybe\n",
        "bytes": b"\xff",
    }
    for name, content in contents.items():
        (pages / name).write_bytes(content)
    code, out, err = calibrate("pages.jsonl", *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("dedup calibrate: ")
    assert message in err
    assert err.count("\n") == 1
    assert {path.name for path in pages.iterdir()} == {*contents, "pages.jsonl"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"[]\n", "line 1: not a JSON object"),
        (b"{\n", "line 1: not a JSON object"),
        (b'{"url": "a", "text": 1}', "line 1: the field 'text' must be a string"),
        (b'{"url": 1, "text": "a"}', "line 1: the key 'url' must be a string"),
        (b"\xff", "is not UTF-8"),
        (b"", "has 0 different texts"),
    ],
)
def test_wrong_pages_are_told_with_their_line(calibrate, pages, content, message):
    (pages / "bad.jsonl").write_bytes(content)
    code, _, err = calibrate("bad.jsonl", "--pairs-out", "new.tsv")
    assert (code, err.count("\n")) == (2, 1)
    assert message in err


class Terminal:
    """The command in a terminal, and the person in front of it."""

    def __init__(self, *arguments):
        self._control, terminal = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "dedup", "calibrate", *arguments],
            stdin=terminal, stdout=terminal, stderr=terminal, start_new_session=True,
            env={**os.environ, "TERM": "xterm", "COLUMNS": "100"},
        )  # fmt: skip
        os.close(terminal)
        self.seen = ""

    def read_until(self, text):
        """What is shown until *text* or the end."""
        end = time.monotonic() + 30
        shown = ""
        while text not in shown:
            assert time.monotonic() < end, shown
            if select.select([self._control], [], [], 0.1)[0]:
                try:
                    shown += os.read(self._control, 65536).decode()
                except OSError:  # that is how a terminal ends
                    break
        self.seen += shown
        return re.sub(r"\x1b\[[\d;?]*[a-zA-Z]", "", shown)

    def answer(self, text):
        os.write(self._control, text.encode() + b"\n")

    def end(self):
        """The rest of what is shown, and the exit code."""
        shown = self.read_until("\0")
        os.close(self._control)
        return shown, self.process.wait(30)


@pytest.fixture
def terminal(pages):
    terminals = []

    def start(*arguments):
        terminals.append(Terminal(*arguments))
        return terminals[-1]

    yield start
    for started in terminals:
        started.process.kill()
        started.process.wait()


QUESTION = "[q]uit: "


@pytest.mark.slow
def test_a_person_answers_in_the_terminal_and_goes_on_later(terminal, pages):
    person = terminal("pages.jsonl", "--answers", "answers.tsv", "--pairs", "8")
    asked = []
    for answer in ("y", "what?", "NO", "full", "skip"):
        asked.append(person.read_until(QUESTION))
        person.answer(answer)
    person.read_until(QUESTION)
    person.answer("quit")
    shown, code = person.end()
    assert code == 0
    assert "pair 1 of 8" in asked[0]
    assert "pair 2 of 8" in asked[1]
    assert "of 8" not in asked[2]  # asked again
    assert "pair 3 of 8" in asked[3]
    assert re.search(r"up to +\d+ ", shown)
    rows = read_table(pages / "answers.tsv")
    assert [row["label"] for row in rows] == ["yes", "no", "skip"]
    for row, page in zip(rows, (asked[0], asked[1], asked[3]), strict=True):
        assert row["key1"] in page
        assert row["key2"] in page
    assert "\x1b[31m[-" in person.seen
    # Whole texts are shown on demand.
    number = rows[2]["key1"].split("/")[1]
    assert article(int(number), 300).split()[150] in asked[4]

    person = terminal("pages.jsonl", "--answers", "answers.tsv", "--pairs", "8")
    assert "pair 4 of 8" in person.read_until(QUESTION)
    for left in (4, 3, 2, 1, 0):
        person.answer("n")
        person.read_until(QUESTION if left else "recall")
    assert person.end()[1] == 0
    assert len(read_table(pages / "answers.tsv")) == 8


@pytest.mark.slow
def test_an_unknown_key_shows_what_the_keys_mean(terminal, pages):
    command = terminal("pages.jsonl")
    command.read_until(QUESTION)
    command.answer("x")
    assert "s, skip  hard to say; the pair does not count" in command.read_until(QUESTION)
    command.answer("q")
    assert command.end()[1] == 0


@pytest.mark.slow
def test_long_differences_are_cut_until_the_texts_are_asked_for(terminal, pages):
    texts = [article(1, 6000), replaced(article(1, 6000), 120)]
    lines = [json.dumps({"url": str(n), "text": text}) for n, text in enumerate(texts)]
    (pages / "long.jsonl").write_text("\n".join(lines))
    person = terminal("long.jsonl")
    shown = person.read_until(QUESTION)
    assert "… (f shows both texts in full)" in shown
    assert len(shown) < 5000
    person.answer("y")
    bold = r"\x1b\[1mup to|\x1b\[1m *\S+up to"
    assert person.end()[1] == 0
    assert re.search(bold, person.seen)  # the threshold that is recommended


@pytest.mark.slow
def test_ctrl_c_and_ctrl_d_keep_the_answers(terminal, pages):
    person = terminal("pages.jsonl", "--answers", "answers.tsv")
    person.read_until(QUESTION)
    person.answer("y")
    person.read_until(QUESTION)
    time.sleep(0.3)  # that readline has begun to wait: an earlier signal would not wake it up
    person.process.send_signal(signal.SIGINT)
    shown, code = person.end()
    assert code == 130
    assert "judged" in shown
    assert shown.endswith("interrupted\r\n")
    assert [row["label"] for row in read_table(pages / "answers.tsv")] == ["yes"]

    person = terminal("pages.jsonl", "--answers", "answers.tsv")
    person.read_until(QUESTION)
    os.write(person._control, b"\x04")
    shown, code = person.end()
    assert code == 0
    assert "judged" in shown


def test_of_a_feed_with_two_versions_of_a_page_the_last_one_counts(calibrate, pages):
    lines = (pages / "pages.jsonl").read_text().splitlines(keepends=True)
    url = json.loads(lines[0])["url"]
    old = json.dumps({"url": url, "text": article(999)}) + "\n"
    (pages / "grown.jsonl").write_text("".join([old, *lines]))
    for name in ("pages", "grown"):
        code, _, err = calibrate(f"{name}.jsonl", "--pairs-out", f"{name}.tsv", "--pairs", 1000)
        assert (code, err) == (0, "")
    first, second = (
        {(row["key1"], row["key2"], row["text1"]) for row in read_table(pages / f"{name}.tsv")}
        for name in ("pages", "grown")
    )
    assert {frozenset(row[:2]) for row in first} == {frozenset(row[:2]) for row in second}
    assert not any(article(999)[:40] in row[2] for row in second)


def test_of_what_nobody_judged_nothing_is_told(calibrate, pages):
    calibrate("pages.jsonl", "--pairs-out", "pairs.tsv", "--pairs", 1000)
    rows = read_table(pages / "pairs.tsv")
    (pages / "answers.tsv").write_text(
        f"key1\tkey2\tlabel\n{rows[0]['key1']}\t{rows[0]['key2']}\tskip\n"
    )
    code, out, _ = calibrate("pages.jsonl", "--answers", "answers.tsv")
    assert code == 0
    assert "no threshold has an expected precision of 0.95 by these answers" in out
    assert "DEDUP_METHOD" not in out
    [figures] = [line.split() for line in out.splitlines() if line.startswith("up to 0 ")]
    assert figures[figures.index("–") :][:3] == ["–", "–", "–"]
    assert out.count("–") > 3


@pytest.mark.slow
def test_nothing_answered_is_nothing_said(terminal):
    person = terminal("pages.jsonl")
    person.read_until(QUESTION)
    person.answer("q")
    assert person.end() == ("q\r\nNo pair was judged yet.\r\n", 0)


@pytest.mark.slow
def test_answers_that_cannot_be_kept_are_not_asked_for(terminal, pages):
    person = terminal("pages.jsonl", "--answers", "nowhere/answers.tsv")
    shown, code = person.end()
    assert code == 2
    assert "nowhere/answers.tsv cannot be written (No such file or directory)" in shown


@pytest.mark.slow
def test_answers_are_added_to_a_table_in_its_own_columns(terminal, pages):
    (pages / "mine.tsv").write_text("who\tlabel\tkey2\tkey1\nme\tno\tx\ty")
    person = terminal("pages.jsonl", "--answers", "mine.tsv", "--pairs", "1")
    person.read_until(QUESTION)
    person.answer("y")
    assert person.end()[1] == 0
    first, second = read_table(pages / "mine.tsv")
    assert (first["who"], first["key1"], second["who"], second["label"]) == ("me", "y", "", "yes")
    assert second["key1"].startswith(("page/", "copy/"))


@pytest.mark.slow
def test_nothing_in_a_page_steers_the_terminal(terminal, pages):
    hostile = "\x1b]0;owned\x07 [red]\u202e "
    pages_of = [
        {"url": f"{hostile}{name}\n", "text": f"{article(1, 200)} {hostile} {name}"}
        for name in ("one", "other")
    ]
    (pages / "hostile.jsonl").write_text("\n".join(map(json.dumps, pages_of)))
    person = terminal("hostile.jsonl", "--answers", "answers.tsv")
    for answer in ("f", "y"):
        person.read_until(QUESTION)
        person.answer(answer)
    assert person.end()[1] == 0
    assert "[red]" in person.seen
    assert "(f shows both texts" not in person.seen  # they are short
    assert not re.search("\x1b[^\\[]|[\x07\u202e]", person.seen)
    [row] = read_table(pages / "answers.tsv")
    assert {row["key1"], row["key2"]} == {page["url"] for page in pages_of}
    again = terminal("hostile.jsonl", "--answers", "answers.tsv")
    assert "judged" in again.end()[0]
