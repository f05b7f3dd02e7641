"""Labelled collections, and how methods are scored on them."""

import json
from functools import partial
from pathlib import Path

import pytest
from cases import each
from labelled import WORDS, write
from texts import ENGLISH

from dedup import evaluation
from dedup.evaluation import Collection, evaluate, score
from dedup.evidence import NORMAL, Evidence
from dedup.methods import METHODS, SimHash
from dedup.methods.containment import Containment
from dedup.methods.digests import Exact
from dedup.methods.verified import Verified
from dedup.plugins import MethodChoice
from dedup.records import RecordError
from dedup.text import Document

read_collection = partial(evaluation.read_collection, method=SimHash())


def of_texts(keys, texts, labels, evidence):
    """The collection of such pages."""
    documents = list(map(Document.from_main_text, texts))
    return Collection("x", keys, documents, labels, evidence)


def test_a_collection_is_read_without_its_short_pages(tmp_path):
    collection = read_collection(write(tmp_path / "news"))
    assert collection.name == "news"
    assert collection.keys == ["a", "again", "edited", "other"]
    assert collection.labels == {(0, 1): "dup", (0, 2): "dup", (1, 2): "dup"}
    assert len(read_collection(tmp_path / "news", min_tokens=0).documents) == 5


def test_pages_of_another_kind_are_left_out_with_their_labels(tmp_path):
    folder = write(tmp_path / "site", kind="listing")
    with (folder / "docs.jsonl").open("a") as docs:
        docs.write(json.dumps({"id": "page", "text": WORDS, "kind": "page"}))
    collection = read_collection(folder)
    assert (collection.keys, collection.labels) == (["page"], {})


def test_ids_may_have_quotes(tmp_path):
    pages, labels = (
        {'"a': WORDS, '"b"': WORDS, "c": WORDS},
        [('"a', "c", "dup"), ('"b"', "c", "dup")],
    )
    assert len(read_collection(write(tmp_path / "quotes", pages, labels)).labels) == 2


def test_a_collection_has_pages_of_so_many_words_as_a_crawl_counts_them(tmp_path):
    chinese = {"zh": "镇上有十九家米粉店没有一家做晚饭的生意早"}
    folder = write(tmp_path / "zh", chinese, [])
    assert len(read_collection(folder, min_tokens=12).documents) == 1
    with pytest.raises(RecordError, match=r"docs\.jsonl has no page of 13 tokens or more"):
        read_collection(folder, min_tokens=13)


def test_the_main_text_may_be_extracted_of_the_html(tmp_path):
    folder = write(tmp_path / "site", {"a": WORDS, "b": WORDS}, [], html="page.html")
    html = "<meta charset=gbk><p>北京"
    (folder / "page.html").write_text(html, "gbk")
    for extractor, text in (
        (None, WORDS), (lambda html: f"{html} text", f"{html} text"), (lambda html: None, ""),
    ):  # fmt: skip
        documents = read_collection(folder, extractor=extractor).documents
        assert [document.main_text for document in documents] == [text] * 2


PAIR = b"id1\tid2\tlabel\n"
BROKEN = [
    ("docs.jsonl", None, "No such file or directory"),
    ("pairs.tsv", None, "No such file or directory"),
    ("docs.jsonl", b'{"id": "a", "text": "b"}\n{"id": ', "docs.jsonl, record 2: not JSON"),
    ("docs.jsonl", b'{"id": 1, "text": ""}\n', '"id" and "text" must be strings'),
    ("docs.jsonl", b'{"id": "a", "text": ""}\n' * 2, "record 2: the id 'a' is a repetition"),
    ("pairs.tsv", b"id1\tid2\na\tagain\n", "pairs.tsv lacks the columns label"),
    ("pairs.tsv", PAIR + b"a\tagain\tyes\n", "grey, tmpl, got 'yes'"),
    ("pairs.tsv", PAIR + b"a\tz\tdup\n", "pairs.tsv, line 2: there is no page 'z'"),
    ("pairs.tsv", PAIR + b"a\ta\tdup\n", "line 2: a page cannot pair with itself"),
    ("pairs.tsv", PAIR + b"a\tagain\tdup\nagain\ta\ttmpl\n", "line 3: the pair already has"),
]


@each(("name", "content", "message"), BROKEN)
def test_what_cannot_be_read_is_named(tmp_path, name, content, message):
    folder = write(tmp_path / "broken")
    (folder / name).unlink() if content is None else (folder / name).write_bytes(content)
    with pytest.raises((RecordError, OSError)) as error:
        read_collection(folder)
    assert message in str(error.value)


@each("html", ["../secret", "/etc/hostname", 5, ["a"], "a\0b"])
def test_html_is_read_from_the_folder_only(tmp_path, html):
    (tmp_path / "secret").write_text("x")
    folder = write(tmp_path / "site", {"a": WORDS, "b": WORDS}, [], html=html)
    with pytest.raises(RecordError, match=r'docs\.jsonl, record 1: "html" must be'):
        read_collection(folder, extractor=lambda html: html)


def test_pairs_are_counted_by_their_labels(tmp_path):
    labels = [("a", "again", "dup"), ("a", "edited", "grey"), ("again", "edited", "part"),
              ("a", "other", "tmpl"), ("edited", "other", "dup")]  # fmt: skip
    collection = read_collection(write(tmp_path / "all", labels=labels))
    found = {(0, 1), (0, 2), (1, 2), (0, 3), (1, 3)}
    scores, errors = score(found, collection)
    # Right: (0, 1). False: (0, 3), which is labelled tmpl, and (1, 3), which is not labelled.
    assert errors == {"false": [(0, 3), (1, 3)], "missed": [(2, 3)]}
    assert scores == {
        "pairs_found": 3,
        "pairs_to_find": 2,
        "precision": 1 / 3,
        "recall": 1 / 2,
        "f1": 2 * 1 / (3 + 2),
        "f1_edited": 0.0,  # of the edited pairs, two were found and another one was to be found
    }


def test_of_nothing_there_is_no_precision_and_nothing_to_find_is_found(tmp_path):
    without = read_collection(write(tmp_path / "without", labels=[]))
    scores = score(set(), without)[0]
    assert [scores[name] for name in ("precision", "recall", "f1", "f1_edited")] == [1, 1, 1, 1]
    collection = read_collection(write(tmp_path / "with"))
    scores = score(set(), collection)[0]
    assert [scores[name] for name in ("precision", "recall", "f1", "f1_edited")] == [1, 0, 0, 0]


@pytest.mark.parametrize("name", METHODS)
def test_every_method_is_evaluated_with_its_own_index(name):
    texts = [ENGLISH, ENGLISH + "\n", WORDS]
    collection = of_texts(["a", "b", "c"], texts, {(0, 1): "dup"}, {})
    figures, _ = evaluate(collection, METHODS[name]())
    scores = "precision", "recall", "f1", "method", "collection", "pages"
    assert [figures[score] for score in scores] == [1, 1, 1, name, "x", 3]
    assert min(figures["cpu_ms_per_page"], figures["bytes_per_page"]) > 0


def test_the_figures_can_be_written_as_json(tmp_path):
    result = evaluate(read_collection(write(tmp_path / "x")), SimHash(5))
    figures = json.loads(json.dumps(result[0]))
    assert list(figures) == [
        "collection", "method", "parameters", "pages", "pairs_found", "pairs_to_find", "precision",
        "recall", "f1", "f1_edited", "cpu_ms_per_page", "bytes_per_page",
        "lost_text", "pages_with_evidence", "false_pairs", "missed_pairs",
    ]  # fmt: skip
    documentation = Path(__file__).parents[1] / "docs" / "methods.md"
    start = documentation.read_text("utf-8").partition("`--json` prints an object")[2]
    told = start.partition("\n\n")[0]
    assert {name for name in figures if f"`{name}`" not in told} == set()
    assert figures["parameters"]["max_distance"] == 5


def test_a_sweep_leaves_out_what_is_out_of_range():
    assert len(MethodChoice.of({"name": "random-projection", "bits": 40}).sweep()) == 12
    assert [type(method) for method in MethodChoice.of("exact").sweep()] == [Exact]
    with pytest.raises(ValueError, match="bits must be from 32 to 384"):
        MethodChoice.of({"name": "simhash", "bits": 1}).sweep()


@pytest.mark.parametrize("demands", [None, NORMAL])
@pytest.mark.parametrize("is_part_first", [True, False])
def test_a_part_is_the_copy_of_what_contains_it_wherever_it_stands(is_part_first, demands):
    words = [f"longer{number}" for number in range(600)]
    part, whole = " ".join(words[:120]), " ".join(words)
    shown = {
        part: Evidence(1, b"p" * 16, 1000, b"name"), whole: Evidence(1, b"w" * 16, 5000, b"name"),
    }  # fmt: skip
    texts = [part, whole] if is_part_first else [whole, part]
    evidence = {number: shown[text] for number, text in enumerate(texts)}
    collection = of_texts(["a", "b"], texts, {(0, 1): "dup"}, evidence)
    figures = evaluate(collection, Containment(), demands=demands)[0]
    assert (figures["recall"], figures["lost_text"]["sequences"]) == (1, 118)
    assert figures["lost_text"]["share"] == 0
    # Other methods have no reason to take the whole for a copy of the part.
    figures = evaluate(collection, Verified(max_distance=1), demands=NORMAL)[0]
    assert figures["pairs_found"] == 0


@pytest.mark.parametrize("demands", [None, NORMAL])
@pytest.mark.parametrize("site", ["http://a.example/", "page "])
def test_names_that_the_pages_of_a_host_share_say_nothing(site, demands):
    count = 10
    texts = [WORDS.replace("word30", f"changed{number}") for number in range(count)]
    evidence = {
        number: Evidence(1, bytes([number] * 16), 1000, b"%4dsite" % number, b"site")
        for number in range(count)
    }
    keys = [f"{site}{number}" for number in range(count)]
    collection = of_texts(keys, texts, {}, evidence)
    figures = evaluate(collection, Verified(max_distance=0.5), demands=demands)[0]
    assert figures["pairs_found"] == (0 if demands and "example" in site else 45)


def test_tables_of_figures_are_no_near_duplicates_as_in_a_crawl():
    rows = [f"{number * 7 % 60:02} {number * 11 % 60:02}" for number in range(90)]
    collection = of_texts(["a", "b"], [" ".join(rows), " ".join(rows[::-1])], {}, {})
    assert evaluate(collection, METHODS["simhash"]())[0]["pairs_found"] == 0


def test_equal_texts_are_found_though_the_method_has_no_sketch_of_them():
    text = "水 电 气 " * 8
    collection = of_texts(["a", "b"], [text, text], {(0, 1): "dup"}, {})
    figures, errors = evaluate(collection, METHODS["spotsigs"]())
    assert (figures["pairs_found"], errors["missed"]) == (1, [])
