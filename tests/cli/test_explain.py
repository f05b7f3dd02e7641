import re
from pathlib import Path

import pytest
from commands import refused, shown
from texts import CHINESE, article, edited, page

from dedup.methods import METHODS

ARTICLE = article(1)
# They are not extracted.
COMMENTS = f'</footer><div class="comments"><p>{article(2)}</p></div><footer>'


@pytest.fixture
def pages(tmp_path, monkeypatch):
    """Files in the current folder."""
    monkeypatch.chdir(tmp_path)
    contents = {
        "one.html": page(ARTICLE, "/", title="One"),
        "other.html": page(edited(ARTICLE), "/", title="Other"),
        "commented.html": page(ARTICLE, "/", title="One", footer=COMMENTS),
        "one.txt": ARTICLE.upper(),
        "zh.txt": CHINESE,
        "short.txt": "some words",
        "empty": "",
    }
    for name, content in contents.items():
        (tmp_path / name).write_text(content, "utf-8")


@pytest.fixture
def explain(pages, capsys):
    """The lines that the command prints."""

    return lambda *arguments: shown(capsys, "explain", *arguments).splitlines()


def section(lines, title):
    """The lines below a title, up to the next blank line."""
    [start] = [number for number, line in enumerate(lines) if line.startswith(title)]
    end = lines.index("", start) if "" in lines[start:] else len(lines)
    return lines[start + 1 : end]


def table(lines):
    """The cells of each row."""
    return [re.split(r"\s{2,}", line.strip()) for line in lines]


def test_two_pages_are_explained_from_their_texts_to_their_words(explain):
    lines = explain("one.html", "other.html")
    assert lines[0] == "simhash: kept (other title), distance 2 of up to 3."
    assert table(lines[3:8]) == [
        ["source", "one.html", "other.html"],
        ["title", "One", "Other"],
        ["language", "en", "en"],
        ["characters", "1,712", "1,719"],
        ["tokens", "201", "202"],
    ]
    assert section(lines, "Main text of A")[0].startswith("One")
    features = section(lines, "Features of simhash")
    assert features[0].startswith("in both ")
    assert re.search(r"\nFingerprints 0x\w+ and 0x\w+: 2 bits differ\n", "\n".join(lines))
    assert ["otherwise", "–", "1.693"] in table(section(lines, "what differs most"))
    judged = table(section(lines, "All methods"))
    assert [row[0] for row in judged[: 1 + len(METHODS)]] == ["method", *METHODS]
    assert judged[1] == ["simhash", "2", "3", "kept (other title)"]
    assert judged[15][3] == "different"
    assert "{+otherwise+}" in " ".join(section(lines, "What differs, word by word"))


def test_equal_texts_are_said_to_be_equal_first(explain):
    for pair in (("one.html", "one.html"), ("zh.txt", "zh.txt")):
        lines = explain(*pair)
        assert lines[0] == "Exact duplicates: their normalised main texts are equal."
        judged = table(section(lines, "All methods"))
        assert {row[-1] for row in judged[1:]} == {"duplicate"}
        assert judged[1] == ["simhash", "0", "3", "duplicate"]


def test_equal_texts_of_pages_that_are_kept_are_not_said_to_be_duplicates(explain):
    first, *_ = explain("one.html", "commented.html")
    assert first == (
        "simhash: kept (weak evidence), distance 0 of up to 3, though their normalised main texts "
        "are equal."
    )


def test_sets_are_shown_by_what_only_one_page_has(explain):
    lines = explain("one.html", "other.html", "--method", "minhash")
    counts, *_ = section(lines, "Features of minhash")
    assert re.fullmatch(r"in both \d+, only in A \d+, only in B \d+", counts)
    differing = table(section(lines, "what differs most"))[1:]
    assert all(sorted(weights) == ["1", "–"] for _, *weights in differing)
    assert not any(line.startswith("Fingerprints") for line in lines)


def test_short_and_empty_pages_are_explained_too(explain):
    short = explain("short.txt", "one.html")
    assert short[0] == "simhash: too short (a page has too few tokens)."
    empty = explain("empty", "zh.txt")
    assert empty[0] == "simhash: empty (a page has no main text)."
    assert section(empty, "Main text of A") == ["(none)"]
    assert section(empty, "Main text of B")[:3] == CHINESE.splitlines()[:3]
    assert "… 1 more line (--json has it)" in empty


def test_a_method_without_features_is_said_to_have_none(explain):
    shown_features = section(explain("one.html", "other.html", "--method", "exact"), "Features of")
    assert shown_features == ["(none: it looks at the text as a whole, or at nothing in it)"]


def test_of_long_texts_and_many_features_the_first_are_shown(explain):
    Path("longer.txt").write_text("\n \n".join([ARTICLE, edited(ARTICLE), "end end end end"]))
    lines = explain("longer.txt", "one.txt", "--method", '{"name": "simhash", "max_distance": 5}')
    assert lines[0] == "simhash: different, distance 7, farther than 5."
    text = " ".join(section(lines, "Main text of A"))
    first, second = (whole[:240] for whole in (ARTICLE, edited(ARTICLE)))
    assert text.split() == f"{first} … {second} … end end end end".split()
    counts, *_ = section(lines, "Features of simhash")
    assert counts == "in both 55, only in A 2, only in B 0"
    differing = table(section(lines, "what differs most"))
    assert (len(differing), differing[0]) == (10, ["end", "2.386", "–"])
    judged = table(section(lines, "All methods"))
    assert ["combined", "–", "29", "different"] in judged
    assert ["spotsigs", "–", "0.4", "no sketch"] in judged


def test_wrong_input_gets_one_line(pages, capsys):
    for source, message in (("nowhere", "nowhere cannot"), ("\x1b[2J", "\ufffd[2J cannot")):
        told = refused(capsys, "explain", source, "one.txt")
        assert told == f"{message} be read (No such file or directory)"
    told = refused(capsys, "explain", "one.txt", "zh.txt", "--items", "one.txt")
    assert told == "--items is for one page: it tells what became of that"
