"""Which records of a collection are kept."""

import json
import random
import threading
from io import BytesIO

import pytest
from bad_extractors import misbehaving
from cases import mixed
from collections_on_disk import write_lines
from texts import CHINESE, article, edited, replaced

from dedup.detector import Detector
from dedup.methods import METHODS, SimHash
from dedup.page import PageReader
from dedup.plugins import load_preference
from dedup.preference import CRITERIA
from dedup.records import Fields, RecordError, format_of
from dedup.scan import Fate, RecordReader, deciding, record_stream, scan, write_clusters

# The edited copies are at distances up to 3 of the first one; the last ones differ.
COPIES = [article(1), edited(article(1)), article(1) + " and more at the end", article(2)]


EXTRACTED_HERE = []


def noting(html):
    EXTRACTED_HERE.append(html)
    return misbehaving(html)


def reader_of(path, method, extractor=misbehaving, page_timeout=30.0, **fields):
    format_ = format_of([path])([path], Fields(**fields))
    return RecordReader(format_, method, extractor, page_timeout=page_timeout)


def scanned(path, method=None, fields=None, extractor=misbehaving, **options):
    method = method or SimHash(8)
    options.setdefault("workers", 1)
    options["keep"] = load_preference(CRITERIA, options.get("keep", "first"))
    return scan(reader_of(path, method, extractor, **fields or {}), **options)


def fates(outcome):
    return [Fate(number).name.lower() for number in outcome.fates]


def of_texts(tmp_path, *texts, **options):
    path = write_lines(tmp_path / "pages.jsonl", [{"text": text} for text in texts])
    return scanned(path, **options)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "workers"), [("minhash", 1), ("simhash", 2), ("verified", 3)])
def test_a_scan_finds_what_the_detector_finds_however_many_workers_read(
    tmp_path, name, workers, monkeypatch
):
    monkeypatch.setattr(record_stream, "_BYTES_OF_A_WORKER", 100)
    monkeypatch.setattr(record_stream, "_RECORDS_OF_A_TASK", 7)
    texts = [article(number % 20) for number in range(40)]
    texts += [edited(article(number)) for number in range(20)]
    texts += [CHINESE, CHINESE + "再来一次。", "", *["a short text"] * 3]
    random.Random(0).shuffle(texts)
    method = METHODS[name]()
    detector, pages = Detector(method), PageReader(misbehaving, method)
    verdicts = [
        detector.judge(pages.read_html(text).record.under(str(number)))
        for number, text in enumerate(texts)
    ]
    outcome = of_texts(tmp_path, *texts, method=METHODS[name](), workers=workers)
    assert [bool(kept) for kept in outcome.keep] == [not v.is_duplicate for v in verdicts]
    assert list(outcome.originals) == [int(v.original) for v in verdicts if v.is_duplicate]
    assert list(outcome.distances) == [v.distance for v in verdicts if v.is_duplicate]


def test_long_texts_of_which_a_method_makes_nothing_are_kept_in_any_order(tmp_path):
    texts = [" ".join(f"{letter}{number}" for number in range(40)) for letter in "ab"]
    for keep in ("first", "longest"):
        outcome = of_texts(tmp_path, *texts, method=METHODS["spotsigs"](), keep=keep)
        assert (fates(outcome), outcome.short) == (["new", "new"], 2)


@pytest.mark.parametrize(("name", "keep"), mixed(list(METHODS), ["longest", "newest"]))
def test_the_order_alone_decides_with_every_method(tmp_path, name, keep):
    """Also of chains of near records."""
    kind, chain = METHODS[name], [replaced(article(3), 6 * count) for count in range(8)]
    texts = [*COPIES, "", *chain, "short", "short"]
    # Of two that are as new, the first one counts, and without a date it is the oldest.
    objects = [{"text": text, "on": n // 2 or None} for n, text in enumerate(texts)]
    number = range(len(texts))
    order = sorted(number, key=lambda n: -len(texts[n]) if keep == "longest" else -(n // 2))
    path = write_lines(tmp_path / "a.jsonl", objects)
    outcome = scanned(path, kind(), fields={"date": "on"}, keep=keep)
    ordered = write_lines(tmp_path / "b.jsonl", [objects[n] for n in order])
    by_order = scanned(ordered, kind(), fields={"date": "on"})
    assert [outcome.keep[n] for n in order] == list(by_order.keep)
    assert [order[number] for number in by_order.duplicates] == list(outcome.duplicates)
    assert [order[number] for number in by_order.originals] == list(outcome.originals)


def clusters_of(outcome):
    file = BytesIO()
    write_clusters(file, outcome)
    return [json.loads(line) for line in file.getvalue().decode().splitlines()]


def test_clusters_are_in_the_order_of_the_records_and_so_are_their_duplicates(tmp_path):
    longer = [f"{article(1)} and{more}" for more in ("", " more", " more at the end")]
    for texts, keep, numbers in (
        ([COPIES[0], COPIES[3], COPIES[3], COPIES[0]], "first", [[1, 4], [2, 3]]),
        (longer, "longest", [[3, 1, 2]]),
    ):
        clusters = clusters_of(of_texts(tmp_path, *texts, keep=keep, with_keys=True))
        found = [[c["number"], *(d["number"] for d in c["duplicates"])] for c in clusters]
        assert found == numbers


def test_clusters_name_the_kept_record_and_what_repeats_it(tmp_path):
    texts = [COPIES[0], COPIES[3], COPIES[1], COPIES[0]]
    objects = [{"text": text, "url": f"http://a/é{n}"} for n, text in enumerate(texts)]
    del objects[0]["url"]
    objects[2]["url"] = "\ud800"
    outcome = scanned(write_lines(tmp_path / "a.jsonl", objects), with_keys=True)
    [line] = clusters_of(outcome)
    near, exact = line.pop("duplicates")
    assert line == {"number": 1, "key": None}
    assert near == {"number": 3, "key": "\ud800", "distance": near["distance"], "exact": False}
    assert exact == {"number": 4, "key": "http://a/é3", "distance": 0, "exact": True}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"content": "body"}, "the field 'body'; --text-field names another"),
        ({"content": "body", "is_html": True}, "the field 'body'; --html-field names another"),
        ({"key": "id"}, "the field 'id'; --key-field names another"),
        ({"date": "on"}, "the field 'on'; --keep newest:FIELD names another"),
    ],
)
def test_fields_that_no_record_has_are_told_soon(tmp_path, monkeypatch, fields, message):
    monkeypatch.setattr(deciding, "_RECORDS_WITHOUT_FIELD", 2)
    monkeypatch.setattr(record_stream, "_RECORDS_OF_A_TASK", 2)
    path = write_lines(tmp_path / "a.jsonl", [{"text": "one"}, {"text": "two"}, ["bad"]])
    with pytest.raises(RecordError, match=f"none of the first 2 records has {message}"):
        scanned(path, fields=fields)
    write_lines(path, [{"text": "one"}])
    with pytest.raises(RecordError, match=f"none of the first 1 record has {message}"):
        scanned(path, fields=fields)


@pytest.mark.slow
def test_no_worker_outlives_a_scan_or_one_that_breaks_off(tmp_path, monkeypatch):
    monkeypatch.setattr(record_stream, "_BYTES_OF_A_WORKER", 10)
    before = set(threading.enumerate())
    of_texts(tmp_path, *COPIES, workers=2)
    path = write_lines(tmp_path / "bad.jsonl", [{"text": text} for text in COPIES] + [[]])
    with pytest.raises(RecordError):
        scanned(path, workers=2)
    for thread in set(threading.enumerate()) - before:
        thread.join(10)
        assert not thread.is_alive()


class TestHtml:
    @pytest.mark.slow
    def test_pages_that_cannot_be_read_are_kept_and_counted(self, tmp_path):
        pages = ["same", "crash", "same", "raise", "hang", "same", None]
        path = write_lines(tmp_path / "a.jsonl", [{"html": page} for page in pages])
        fields = {"content": "html", "is_html": True, "page_timeout": 1}
        outcome = scanned(path, fields=fields, workers=2)
        assert fates(outcome) == ["new", "unread", "exact", "unread", "unread", "exact", "empty"]
        assert "a.jsonl, record 2: crash: worker died (exit status -11)" in outcome.first_unread

    @pytest.mark.slow
    def test_html_is_never_extracted_in_this_process(self, tmp_path):
        for name in ("a.html", "b.txt"):
            (tmp_path / name).write_text("raise")
        outcome = scanned(tmp_path, extractor=noting, workers=1)
        assert fates(outcome) == ["unread", "new"]
        assert not EXTRACTED_HERE


@pytest.mark.slow
def test_a_task_that_fails_is_done_again_record_by_record(tmp_path, monkeypatch):
    monkeypatch.setattr(record_stream, "_BYTES_OF_A_WORKER", 10)
    outcome = of_texts(tmp_path, *COPIES, method=DiesOf("and more"), workers=2)
    assert fates(outcome) == ["new", "near", "unread", "new"]
    rows = ["text,url", f"{COPIES[0]},a", "a row,of three,columns", f"{COPIES[2]},c", "short,d"]
    (tmp_path / "c.csv").write_text("\n".join(rows))
    assert fates(scanned(tmp_path / "c.csv", DiesOf("and more"), skip_bad=True, workers=2)) == [
        "new", "bad", "unread", "new",
    ]  # fmt: skip


class DiesOf(SimHash):
    """A method that ends its process when it sees a text."""

    def __init__(self, text, max_distance=8):
        super().__init__(max_distance)
        self.text = text

    def sketch(self, document):
        if self.text in document.text:
            misbehaving("exit")
        return super().sketch(document)


def test_workers_that_cannot_start_are_told(tmp_path, monkeypatch):
    monkeypatch.setattr(record_stream, "_BYTES_OF_A_WORKER", 10)
    monkeypatch.setattr("sys.executable", "/nowhere/python")
    with pytest.raises(RecordError, match="the worker process did not start"):
        of_texts(tmp_path, *COPIES, workers=2)


@pytest.mark.slow
def test_records_are_read_while_few_are_under_way(tmp_path, monkeypatch):
    """However large the file, no more than a few tasks are in memory."""
    monkeypatch.setattr(record_stream, "_BYTES_OF_A_WORKER", 10)
    monkeypatch.setattr(record_stream, "_RECORDS_OF_A_TASK", 5)
    path = write_lines(tmp_path / "a.jsonl", [{"text": f"text {n}"} for n in range(300)])
    reader = reader_of(path, SimHash())
    read, most_ahead, done = 0, 0, 0
    raw_records = reader.format.raw_records

    def counted():
        nonlocal read
        for raw in raw_records():
            read += 1
            yield raw

    monkeypatch.setattr(reader.format, "raw_records", counted)
    monkeypatch.setattr(type(reader), "__reduce__", lambda self: (reader_of, (path, SimHash())))
    for records in record_stream.all_records(reader, 2, None):
        done += len(records)
        most_ahead = max(most_ahead, read - done)
    assert done == 300
    assert 5 <= most_ahead <= 2 * 3 * 5
