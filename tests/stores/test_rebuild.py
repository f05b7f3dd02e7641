"""Ledgers that are made of records in feeds; crawls with them are in test_sketch_field."""

import gzip
import json
import os

import pytest
from cases import each
from collections_on_disk import write_lines
from commands import refused, shown
from ledgers import field_of
from texts import article, edited

from dedup.methods import METHODS
from dedup.record import unpack_items
from dedup.stores.reader import LedgerReader


def write(path, *records):
    return write_lines(path, [{"dedup_record": record} for record in records])


@pytest.fixture
def rebuild(target, capsys):
    """Makes the ledger *target* of feeds, and returns what is told."""
    return lambda *feeds: shown(capsys, "ledger", *feeds, "-o", target)


def stored(path):
    with LedgerReader(path) as reader:
        return [
            (page.record.key, page.record.scope, page.record.digest.hex(), page.crawl)
            for page in reader.pages()
        ]


@pytest.fixture
def target(tmp_path):
    return tmp_path / "pages.sqlite"


def test_the_last_record_of_a_key_counts_over_all_feeds_and_the_others_have_ended(
    tmp_path, target, rebuild
):
    old, new, other = (
        field_of(article(number), key)
        for number, key in ((1, "http://a/"), (2, "http://a/"), (3, "http://b/"))
    )
    feeds = [write(tmp_path / "1.jsonl", old, other), write(tmp_path / "2.jsonl", new, other)]
    assert rebuild(*feeds) == f"{target}: 2 pages\n"
    assert stored(target) == [
        ("http://b/", "", other["digest"], 1),
        ("http://a/", "", new["digest"], 2),
    ]
    with LedgerReader(target) as reader:
        assert [page.ended is not None for page in reader.pages(ended=True)] == [True, False, False]
        assert [crawl.spider for crawl in reader.crawls()] == ["1.jsonl", "2.jsonl"]


def items(path):
    """What the items of each page say that counts, by its URL."""
    with LedgerReader(path) as reader:
        return {page.record.key: unpack_items(page.items) for page in reader.pages()}


def test_the_items_of_one_page_are_all_there_and_those_of_another_text_take_their_place(
    tmp_path, target, rebuild
):
    told = [b"a value!", b"another!", b"", b"a value!"]
    first = [field_of(article(1), item=item) for item in told]
    other = field_of(article(3), "http://b/", item=b"a value!another!")
    feed = write(tmp_path / "1.jsonl", *first[:2], other, *first[2:])
    rebuild(feed)
    assert [key for key, *_ in stored(target)] == ["http://a/", "http://b/"]
    assert items(target) == {
        "http://a/": [b"a value!", b"another!", b""], "http://b/": [b"a value!another!"]
    }  # fmt: skip
    changed = [field_of(article(2), item=item) for item in (b"changed!", b"a value!")]
    later = write(tmp_path / "2.jsonl", *changed)
    target.unlink()
    rebuild(feed, later)
    assert items(target) == {
        "http://b/": [b"a value!another!"], "http://a/": [b"changed!", b"a value!"]
    }  # fmt: skip


def test_with_an_item_field_each_content_counts_until_a_near_one_follows(tmp_path, target, rebuild):
    texts = [article(3), article(2), edited(article(3))]
    records = [field_of(text, item_field="body") for text in texts]
    rebuild(write(tmp_path / "a.jsonl", *records))
    assert [digest for _, _, digest, _ in stored(target)] == [
        records[1]["digest"],
        records[2]["digest"],
    ]
    with LedgerReader(target) as reader:
        assert reader.identity["item_field"] == "body"


def test_an_item_takes_the_place_of_a_part_of_it_but_not_of_what_contains_it(
    tmp_path, target, rebuild
):
    method = METHODS["containment"]()
    part, whole = (
        field_of(text, method=method, item_field="body")
        for text in (article(1), f"{article(2)} {article(1)}")
    )
    for records, count in (((part, whole), 1), ((whole, part), 2)):
        rebuild(write(tmp_path / "a.jsonl", *records), "--method", "containment")
        assert len(stored(target)) == count
        target.unlink()


def test_pages_count_as_stored_when_their_feed_was_written_but_not_in_the_future(
    tmp_path, target, rebuild
):
    feeds = [write(tmp_path / f"{n}.jsonl", field_of(article(n), f"http://{n}/")) for n in (1, 2)]
    os.utime(feeds[0], (1_000_000, 1_000_000))
    now = os.stat(feeds[1]).st_mtime
    os.utime(feeds[1], (now + 1e6, now + 1e6))
    rebuild(*feeds)
    with LedgerReader(target) as reader:
        first, second = (page.stored for page in reader.pages())
    assert first == 1_000_000
    assert now - 1 <= second < now + 1e5


def test_what_was_dropped_does_not_count_as_stored(tmp_path, target, rebuild):
    item = {"dedup_record": field_of(article(1))}
    names = ("url", "verdict", "original", "distance", "dropped")
    dropped = write_lines(tmp_path / "1.jsonl", [{**dict.fromkeys(names), "item": item}])
    feed = write(tmp_path / "2.jsonl", field_of(article(2), "http://b/"))
    assert rebuild(dropped, feed) == (
        f"{target}: 1 page\n1 item is passed over, to be stored again when met; the first: "
        f"{dropped}, record 1: it was dropped, so nothing says that it is stored\n"
    )
    assert [key for key, *_ in stored(target)] == ["http://b/"]


def test_what_is_of_no_use_is_passed_over_counted_and_told(tmp_path, target, rebuild):
    good = field_of(article(1))
    bad = [
        field_of(article(2), extractor="resiliparse"),
        None,
        "no JSON",
        {"key": "http://a/"},
        {**good, "sketch": "AAAA"},
        field_of(article(2), method=METHODS["minhash"]()),
        field_of(article(2), scope="a", item_field="body"),
    ]
    feed = write(tmp_path / "a.jsonl", good, *bad)
    with feed.open("a") as file:
        file.write('{"dedup_record": {"key": "http://torn')
    assert rebuild(feed) == (
        f"{target}: 1 page\n8 items are passed over, to be stored again when met; the "
        "first: the record was made with other settings: extractor "
        "'resiliparse' there, 'trafilatura' here\n"
    )
    assert [digest for _, _, digest, _ in stored(target)] == [good["digest"]]


def test_records_may_be_in_another_field_of_a_compressed_feed(tmp_path, target, rebuild):
    item = {"sketch": field_of(article(1), "http://a/0")}
    feed = tmp_path / "a.jsonl.gz"
    feed.write_bytes(gzip.compress(json.dumps(item).encode()))
    rebuild(feed, "--record-field", "sketch")
    assert [row[0] for row in stored(target)] == ["http://a/0"]


@each(
    ("arguments", "message"),
    [
        (["a.jsonl", "--scope", "host"], "--scope is for a ledger"),
        (["a.jsonl", "--texts", "a.jsonl"], "is for a ledger and"),
        (["a.jsonl", "--method", "minhash"], "not with minhash ("),
        (["a.jsonl", "--record-field", "x"], "has no field 'x'"),
        (["empty.jsonl"], "no item has a record of simhash"),
        (["missing.jsonl"], "missing.jsonl does not exist"),
        (["."], "there is no record in ."),
    ],
)
def test_what_is_wrong_is_said_in_one_line_and_nothing_is_written(
    tmp_path, capsys, monkeypatch, arguments, message
):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "a.jsonl", field_of(article(1)))
    (tmp_path / "empty.jsonl").write_text("")
    assert message in refused(capsys, "ledger", *arguments, "-o", "new.sqlite")
    names = {path.name for path in tmp_path.iterdir()} - {"new.sqlite.lock"}
    assert names == {"a.jsonl", "empty.jsonl"}
