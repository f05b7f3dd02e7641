import csv
import json
from functools import partial

import pytest
from cases import each
from commands import refused, shown
from texts import article, replaced

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
def evaluate(pages, capsys):
    """What the command prints."""
    return partial(shown, capsys, "evaluate")


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


def test_pairs_are_judged_elsewhere_and_a_threshold_is_recommended(evaluate, pages):
    out = evaluate("pages.jsonl", "--sample", 1000, "-o", "pairs.tsv")
    rows = fill_in(pages / "pairs.tsv")
    assert out.startswith(f"pairs.tsv: {len(rows)} pairs; fill in the column label")
    assert rows[0]["text1"].split()
    assert "{+" in rows[-1]["differences"]
    # Of pages with equal texts, the first.
    keys = {row[name] for row in rows for name in ("key1", "key2")}
    assert ("page/0" in keys, "page/equal" in keys) == (True, False)
    figures = json.loads(evaluate("pages.jsonl", "--answers", "pairs.tsv", "--json"))
    out = evaluate("pages.jsonl", "--answers", "pairs.tsv")
    assert out.startswith("60 pages with different texts")
    assert "judged, right: those of the row alone." in out
    copies = sum(is_copy(row["key1"], row["key2"]) for row in rows)
    # All pairs were judged: what is expected is what is.
    last = figures["thresholds"][-1]
    assert (figures["judged"], last["found"]) == (len(rows), pytest.approx(copies))
    assert last["precision"]["mean"] == pytest.approx(copies / len(rows))
    *_, best = (step for step in figures["thresholds"] if step["precision"]["mean"] >= 0.95)
    assert figures["recommended"] == best["threshold"]
    lost = best["lost_text"]
    assert 0 < lost["share"] < 0.2
    percent = f"{100 * lost['share']:.{0 if lost['share'] >= 0.1 else 1}f} %"
    assert (
        f"At this threshold, {percent} of the extracted text of dropped pages is lost."
        in " ".join(out.split())
    )
    assert out.endswith(
        f"DEDUP_METHOD = {{'name': 'simhash', 'max_distance': {best['threshold']}}}\n"
    )


def test_answers_stay_in_a_larger_table_and_those_of_other_pairs_are_counted(evaluate, pages):
    given = {"name": "dedup.methods.SimHash", "weights": "tf", "max_distance": 12}
    arguments = ("--method", json.dumps(given))
    evaluate("pages.jsonl", *arguments, "--sample", 60, "-o", "pairs.tsv")
    fill_in(pages / "pairs.tsv")
    with (pages / "pairs.tsv").open("a") as file:
        file.write("page/1\tnowhere\tyes\t\t\n")
    answered = (*arguments, "--answers", "pairs.tsv")
    out = evaluate("pages.jsonl", *answered)
    assert "{'name': 'dedup.methods.SimHash', 'weights': 'tf', 'max_distance': " in out
    assert "1 answer is about pairs that are not among these." in out
    evaluate("pages.jsonl", *answered, "--sample", 65, "-o", "more.tsv")
    labels = [row["label"] for row in read_table(pages / "more.tsv")]
    assert all(labels[:60])
    assert not any(labels[60:])


def test_pairs_of_any_text_are_written_in_cells_that_a_spreadsheet_can_hold(evaluate, pages):
    lines = [{"url": f"{name}\ud800", "text": f"{article(1, 9000)} {name} \ud800"} for name in "ab"]
    (pages / "long.jsonl").write_text("\n".join(map(json.dumps, lines)))
    evaluate("long.jsonl", "--sample", 60, "-o", "pairs.tsv")
    [row] = read_table(pages / "pairs.tsv")
    assert {row["key1"], row["key2"]} == {"a\ufffd", "b\ufffd"}
    assert len(row["text1"]) == len(row["text2"]) == 32_000


SAMPLE = ["--sample", "9", "-o"]
WRONG = [
    (["--answers", "nowhere"], "nowhere cannot be used (No such file or directory)"),
    (["--answers", "unlabelled.tsv"], "about a pair of these pages: its column label is empty"),
    (["--answers", "columns.tsv"], "columns.tsv lacks the columns key2"),
    (["--answers", "label.tsv"], "label.tsv, line 2: label must be one of yes, no, skip, or emp"),
    (["--sample", "9"], "-o is for --sample and --lexicon, which need it"),
    (["--sample", "0", "-o", "new"], "--sample must be 1 or more, got 0"),
    ([*SAMPLE, "new", "--method", "exact"], "no two of 60 pages are near: nothing to judge"),
    ([*SAMPLE, "new", "--method", "all"], "--method must name one method, got 'all'"),
    ([*SAMPLE, "new", "--lexicon"], "--lexicon goes with neither"),
    (
        [*SAMPLE, "new", "--method", "simhash", "minhash"],
        "--answers take one --method",
    ),
    (
        [*SAMPLE, "new", "--key-field", "name"],
        "none of 63 items of pages.jsonl has strings in 'name' and 'text'; --key-field",
    ),
    ([*SAMPLE, "new", "--text-field", "url"], "0 different texts of 20 tokens or more in the"),
]


@each(("arguments", "message"), WRONG)
def test_wrong_input_gets_one_line_and_writes_nothing(capsys, pages, arguments, message):
    contents = {
        "unlabelled.tsv": b"key1\tkey2\tlabel\npage/1\tcopy/1\t\n",
        "columns.tsv": b"key1\tlabel\n",
        "label.tsv": b"key1\tkey2\tlabel\na\tb\tmaybe\n",
    }
    for name, content in contents.items():
        (pages / name).write_bytes(content)
    assert message in refused(capsys, "evaluate", "pages.jsonl", *arguments)
    assert {path.name for path in pages.iterdir()} == {*contents, "pages.jsonl"}


def test_of_a_feed_with_two_versions_of_a_page_the_last_one_counts(evaluate, pages):
    lines = (pages / "pages.jsonl").read_text().splitlines(keepends=True)
    old = json.dumps({"url": json.loads(lines[0])["url"], "text": article(999)}) + "\n"
    (pages / "grown.jsonl").write_text("".join([old, *lines]))
    tables = []
    for name in ("pages", "grown"):
        evaluate(f"{name}.jsonl", "--sample", 1000, "-o", f"{name}.tsv")
        tables.append((pages / f"{name}.tsv").read_text())
    assert article(999)[:40] not in tables[1]
    assert sorted(map(len, tables[0].split())) == sorted(map(len, tables[1].split()))


def test_of_what_nobody_judged_nothing_is_told(evaluate, pages):
    evaluate("pages.jsonl", "--sample", 1000, "-o", "pairs.tsv")
    rows = read_table(pages / "pairs.tsv")
    (pages / "answers.tsv").write_text(
        f"key1\tkey2\tlabel\n{rows[0]['key1']}\t{rows[0]['key2']}\tskip\n"
    )
    out = evaluate("pages.jsonl", "--answers", "answers.tsv")
    assert "No threshold has an expected precision of 0.95 by these answers" in out
    assert "DEDUP_METHOD" not in out
    shown = [line.split() for line in out.splitlines() if line.startswith("up to ")]
    assert shown
    assert all(figures.count("–") == 3 for figures in shown)
