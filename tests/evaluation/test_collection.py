import json

import pytest
from labelled import WORDS, write

from dedup.evaluation import read_collection
from dedup.records import RecordError


def test_a_collection_is_read_without_its_short_pages(tmp_path):
    collection = read_collection(write(tmp_path / "news"))
    assert collection.name == "news"
    assert collection.keys == ["a", "again", "edited", "other"]
    assert collection.labels == {(0, 1): "dup", (0, 2): "dup", (1, 2): "dup"}
    assert len(read_collection(tmp_path / "news", min_tokens=0)) == 5


def test_pages_of_another_kind_are_left_out_with_their_labels(tmp_path):
    folder = write(tmp_path / "site", kind="listing")
    with (folder / "docs.jsonl").open("a") as docs:
        docs.write(json.dumps({"id": "page", "text": WORDS, "kind": "page"}))
    collection = read_collection(folder)
    assert (collection.keys, collection.labels) == (["page"], {})


def test_the_size_of_a_page_may_be_given_and_counts_han_characters_one_by_one(tmp_path):
    with pytest.raises(RecordError, match=r"docs\.jsonl has no page of 20 tokens or more"):
        read_collection(write(tmp_path / "given", ntok=19))
    chinese = {"zh": "镇上有十九家米粉店没有一家做晚饭的生意早"}
    assert len(read_collection(write(tmp_path / "zh", chinese, []))) == 1


def test_the_main_text_may_be_extracted_of_the_html(tmp_path):
    folder = write(tmp_path / "site", {"a": WORDS, "b": WORDS}, [], html="page.html")
    (folder / "page.html").write_text("<html>")
    assert read_collection(folder).texts == [WORDS] * 2
    texts = read_collection(folder, extractor=lambda html: f"{html} text").texts
    assert texts == ["<html> text"] * 2
    assert read_collection(folder, extractor=lambda html: None).texts == ["", ""]


BROKEN = [
    ("docs.jsonl", None, "No such file or directory"),
    ("pairs.tsv", None, "No such file or directory"),
    ("docs.jsonl", b'{"id": "a", "text": "b"}\n{"id": ', "docs.jsonl, record 2: not JSON"),
    ("docs.jsonl", b"[1]\n", "docs.jsonl, record 1: must be a JSON object"),
    ("docs.jsonl", b'{"id": "a"}\n', 'docs.jsonl, record 1: "id" and "text" must be strings'),
    ("docs.jsonl", b'{"id": 1, "text": ""}\n', '"id" and "text" must be strings'),
    ("docs.jsonl", b'{"id": "a", "text": ""}\n' * 2, "record 2: the id 'a' is a repetition"),
    ("docs.jsonl", b"\xff", "docs.jsonl, record 1: not utf-8"),
    ("pairs.tsv", b"\xff", "pairs.tsv is not UTF-8"),
    ("pairs.tsv", b"", "pairs.tsv lacks the columns id1, id2, label"),
    ("pairs.tsv", b"id1\tid2\na\tagain\n", "pairs.tsv lacks the columns label"),
    (
        "pairs.tsv",
        b"id1\tid2\tlabel\na\tagain\tyes\n",
        "label must be one of dup, part, grey, tmpl",
    ),
    ("pairs.tsv", b"id1\tid2\tlabel\na\n", "pairs.tsv, line 2: label must be one of"),
    ("pairs.tsv", b"id1\tid2\tlabel\na\tz\tdup\n", "pairs.tsv, line 2: there is no page 'z'"),
    ("pairs.tsv", b"id1\tid2\tlabel\na\ta\tdup\n", "line 2: a page cannot pair with itself"),
    (
        "pairs.tsv",
        b"id1\tid2\tlabel\na\tagain\tdup\nagain\ta\ttmpl\n",
        "line 3: the pair already has another label",
    ),
    (
        "pairs.tsv",
        b"id1\tid2\tlabel\n" + b"a" * 200_000,
        "pairs.tsv is not a table (field",
    ),
    (
        "docs.jsonl",
        b'{"id": "a", "text": "", "ntok": "5"}\n',
        "\"ntok\" must be a whole number, got '5'",
    ),
    ("docs.jsonl", b'{"id": "a", "text": "", "ntok": NaN}\n', '"ntok" must be a whole number'),
    ("docs.jsonl", b"[" * 200_000, "docs.jsonl, record 1: not JSON"),
]


@pytest.mark.parametrize(("name", "content", "message"), BROKEN)
def test_what_cannot_be_read_is_named(tmp_path, name, content, message):
    folder = write(tmp_path / "broken")
    (folder / name).unlink() if content is None else (folder / name).write_bytes(content)
    with pytest.raises((RecordError, OSError)) as error:
        read_collection(folder)
    assert message in str(error.value)


@pytest.mark.parametrize("html", ["../secret", "/etc/hostname", 5, ["a"], "a\0b"])
def test_html_is_read_from_the_folder_only(tmp_path, html):
    (tmp_path / "secret").write_text("x")
    folder = write(tmp_path / "site", {"a": WORDS, "b": WORDS}, [], html=html)
    with pytest.raises(RecordError, match=r'docs\.jsonl, record 1: "html" must be'):
        read_collection(folder, extractor=lambda html: html)


def test_files_may_begin_with_a_byte_order_mark(tmp_path):
    folder = write(tmp_path / "marked")
    for path in folder.iterdir():
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert len(read_collection(folder).labels) == 3
