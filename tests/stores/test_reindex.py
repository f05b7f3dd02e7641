"""Ledgers that are converted to other settings."""

import json
import sqlite3
from contextlib import closing

import pytest
from cases import each
from collections_on_disk import write_lines
from commands import refused, shown
from crawls import known_site, query
from texts import ENGLISH, PARAGRAPHS, page

from dedup.cli import main
from dedup.stores import LedgerError
from dedup.stores.reader import LedgerReader

SITE = {
    "/a": page(ENGLISH),  # without numbers: these are counted in an item that has the text
    "/other": page(" ".join(PARAGRAPHS)),
    "/short": page("A few words only."),
    "/thai": page("ปลา ไก่ หมู ข้าว น้ำ ชา ไข่ เป็นเมืองหลวงของประเทศไทย " * 9),
}


@pytest.fixture
def crawled(tmp_path):
    """A site, its ledger, and the feed of the crawl that made it."""
    feed = tmp_path / "pages.jsonl"
    with known_site(SITE, tmp_path) as site:
        feeds = {str(feed): {"format": "jsonlines"}}
        site.crawl(FEEDS=feeds, DEDUP_FIELDS={"text": "text"})
        site.pages["/copy"] = page(ENGLISH.replace("baskets", "bags"))
        yield site, site.ledger, feed


def test_another_method_takes_the_texts_of_the_feed(crawled, tmp_path, capsys):
    site, ledger, feed = crawled
    new = tmp_path / "new.sqlite"
    asked = "ledger", ledger, "-o", new, "--method", "verified", "--texts", feed
    assert shown(capsys, *asked) == f"{new}: 4 pages\n"
    with LedgerReader(new) as reader:
        assert reader.method.max_distance == 0.4  # not that of simhash
    words = "SELECT url, tokens FROM pages ORDER BY url"
    assert query(new, words) == query(ledger, words)
    result = site.crawl(DEDUP_INDEX=new, DEDUP_METHOD="verified")
    assert result.stored == []
    assert (result.stats["dedup/unchanged"], result.stats["dedup/near_duplicates"]) == (4, 1)
    assert site.crawl().stored == []  # the old one is as it was


def test_fields_of_the_feed_may_have_other_names_and_items_none_of_them(crawled, tmp_path, capsys):
    _, ledger, feed = crawled
    new = tmp_path / "new.sqlite"
    items = [json.loads(line) for line in feed.read_text().splitlines()]
    items = [{"link": item["url"], "body": item["text"], "url": 1, "text": 2} for item in items]
    items += [{"link": ["x"], "body": "no page"}, {"link": items[0]["link"], "body": None}, {}]
    write_lines(feed, items)
    asked = "ledger", ledger, "-o", new, "--method", "verified", "--texts", feed
    fields = "--key-field", "link", "--text-field", "body"
    assert shown(capsys, *asked, *fields) == f"{new}: 4 pages\n"


def test_a_page_whose_text_is_missing_is_stored_again(crawled, tmp_path, capsys):
    site, ledger, feed = crawled
    new = tmp_path / "new.sqlite"
    lines = [json.loads(line) for line in feed.read_text().splitlines()]
    lines[0]["text"] += " Not what was judged."
    write_lines(feed, lines)
    asked = "ledger", ledger, "-o", new, "--method", "minhash", "--texts", feed
    assert "1 page without a text: stored again when met" in shown(capsys, *asked)
    assert site.crawl(DEDUP_INDEX=new, DEDUP_METHOD="minhash").stored == ["/a"]


def test_scopes_are_made_of_the_urls(crawled, tmp_path):
    site, ledger, _ = crawled
    new = tmp_path / "new.sqlite"
    with pytest.raises(LedgerError, match="scope 'crawl' there, 'host' here"):
        site.crawl(DEDUP_SCOPE="host")
    assert main(["ledger", str(ledger), "-o", str(new), "--scope", "host"]) == 0
    result = site.crawl(DEDUP_INDEX=new, DEDUP_SCOPE="host")
    assert (result.stored, result.stats["dedup/near_duplicates"]) == ([], 1)
    with LedgerReader(new) as reader:
        assert reader.identity["scope"] == "host"


@pytest.mark.slow
@each(
    ("arguments", "message"),
    [
        (["--texts", "body.jsonl"], "--texts is for a ledger and --method"),
        (["--method", "minhash"], "holds the texts of some pages only"),
        (["--method", "unheard-of"], "--method must be"),
        (["--method", "minhash", "--texts", "bad.jsonl"], "bad.jsonl, record 2: "),
        (["--method", "minhash", "--texts", "missing.jsonl"], "missing.jsonl"),
        (
            ["--method", "minhash", "--texts", "body.jsonl"],
            "none of 1 item of body.jsonl has strings in 'url' and 'text'; --key-field",
        ),
        (["--scope", "host", "-o", "body.jsonl"], "exists: remove it, or choose another name"),
        (["--scope", "host", "-o", "pages.sqlite"], "exists: remove it, or choose another name"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(
    crawled, tmp_path, capsys, monkeypatch, arguments, message
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.jsonl").write_text('{"url": "http://a/", "text": "b"}\n{"url": \n')
    (tmp_path / "body.jsonl").write_text('{"url": "http://a/", "body": "b"}\n')
    before = {path.name for path in tmp_path.iterdir()}
    assert message in refused(capsys, "ledger", "pages.sqlite", "-o", "new.sqlite", *arguments)
    assert {path.name for path in tmp_path.iterdir()} <= before | {"new.sqlite.lock"}


WITHOUT_ITEMS = """
    DROP VIEW duplicates;
    ALTER TABLE pages DROP COLUMN items;
    CREATE VIEW duplicates AS SELECT url FROM pages;
"""
WITHOUT_WORDS = """
    UPDATE pages SET evidence = CAST(substr(evidence, 1, 25) || substr(evidence, 34) AS BLOB);
"""


@pytest.mark.parametrize(
    ("version", "changes"),
    [(7, WITHOUT_ITEMS + WITHOUT_WORDS), (8, WITHOUT_WORDS), (9, ""), (10, "")],
    ids=[7, 8, 9, 10],
)
def test_a_ledger_of_a_version_before_is_read_and_items_that_it_does_not_tell_are_stored_again(
    crawled, tmp_path, version, changes
):
    site, ledger, _ = crawled
    new = tmp_path / "new.sqlite"
    with closing(sqlite3.connect(ledger)) as file, file:
        file.executescript(f"{changes} PRAGMA user_version = {version};")
    with LedgerReader(ledger, accepts_earlier=True):
        assert main(["ledger", str(ledger), "-o", str(new)]) == 0
    assert query(new, "SELECT DISTINCT length(evidence) FROM pages") == [(37,)]
    if version < 10:
        assert site.crawl(DEDUP_INDEX=new).stored
    assert site.crawl(DEDUP_INDEX=new).stored == []
