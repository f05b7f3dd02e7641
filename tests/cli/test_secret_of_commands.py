"""The commands with a secret in their environment."""

import json

import commands
import pytest
from collections_on_disk import write_lines
from crawls import crawl_site
from texts import article, edited, page

from dedup.methods import METHODS
from dedup.methods.keyed import KeyedHashing
from dedup.stores.reader import LedgerReader
from dedup.text import Document

SECRET = "correct horse battery staple"


@pytest.fixture(scope="module")
def crawled(tmp_path_factory):
    """The URL of a site, a ledger of it that was made with a secret, and the feed."""
    folder = tmp_path_factory.mktemp("crawled")
    pages = {"/a": page(article(1)), "/copy": page(edited(article(1))), "/b": page(article(2))}
    ledger, feed = folder / "pages.sqlite", folder / "pages.jsonl"
    feeds = {str(feed): {"format": "jsonlines"}}
    options = {"FEEDS": feeds, "DEDUP_FIELDS": {"text": "text"}, "DEDUP_METHOD": "verified"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DEDUP_SECRET", SECRET)
        return crawl_site(pages, DEDUP_INDEX=ledger, **options).url, ledger, feed


def run(capsys, *arguments):
    code, out, err = commands.run(capsys, *arguments)
    assert SECRET not in out + err
    return code, out, err


def sketches_of(ledger):
    with LedgerReader(ledger) as reader:
        return [page.record.sketch for page in reader.pages()], reader.identity


def test_a_ledger_is_looked_at_without_it(crawled, tmp_path, capsys):
    _, ledger, _ = crawled
    assert run(capsys, "report", ledger, "-o", tmp_path / "report.html")[0] == 0
    code, out, _ = run(capsys, "report", ledger)
    assert code == 0
    assert "verified, version 2, with a secret" in out
    assert KeyedHashing(SECRET).secret_digest not in out


@pytest.mark.parametrize(("method", "own"), [("simhash", SECRET), ("verified", SECRET[::-1])])
def test_a_ledger_is_converted_to_another_method_or_secret(
    crawled, tmp_path, capsys, monkeypatch, method, own
):
    _, ledger, feed = crawled
    new = tmp_path / "new.sqlite"
    monkeypatch.setenv("DEDUP_SECRET", own)
    arguments = ("ledger", ledger, "-o", new, "--method", method, "--texts", feed)
    assert run(capsys, *arguments)[:2] == (0, f"{new}: 2 pages\n")
    keyed = METHODS[method]().with_hashing(KeyedHashing(own))
    texts = [json.loads(line)["text"] for line in feed.read_text().splitlines()]
    sketches, identity = sketches_of(new)
    wanted = keyed.sketches(list(map(Document.from_main_text, texts)))
    assert sketches == list(map(keyed.to_bytes, wanted))
    assert identity.items() >= keyed.identity.items()


def test_a_ledger_is_not_converted_to_one_without_a_secret(crawled, tmp_path, capsys):
    _, ledger, feed = crawled
    new = tmp_path / "new.sqlite"
    code, _, err = run(capsys, "ledger", ledger, "-o", new, "--method", "simhash", "--texts", feed)
    assert code == 2
    assert f"{ledger} was made with a secret, so the new one needs one: give it (DEDUP_" in err
    assert not new.exists()
    # Another scope needs no sketches.
    assert run(capsys, "ledger", ledger, "-o", new, "--scope", "host")[0] == 0
    assert sketches_of(new)[0] == sketches_of(ledger)[0]
    assert sketches_of(new)[1]["secret"] == KeyedHashing(SECRET).secret_digest


def test_a_scan_goes_on_with_its_secret_only(tmp_path, capsys, monkeypatch):
    sketches = tmp_path / "sketches"
    records = write_lines(tmp_path / "in.jsonl", [{"text": article(n)} for n in (1, 2, 1)])

    def scan(number):
        out = tmp_path / f"{number}.jsonl"
        arguments = ("-o", out, "--sketches", sketches)
        return run(capsys, "scan", records, *arguments)

    monkeypatch.setenv("DEDUP_SECRET", SECRET)
    assert scan(1)[0] == scan(2)[0] == 0
    assert len((tmp_path / "1.jsonl").read_text().splitlines()) == 2
    monkeypatch.setenv("DEDUP_SECRET", SECRET[::-1])
    assert "another scan: a secret there, another here (DEDUP_SECRET). Name" in scan(3)[2]
    monkeypatch.setenv("DEDUP_SECRET", "too-short")
    code, _, err = scan(3)
    assert (code, "too-short" in err) == (2, False)
    assert "DEDUP_SECRET: a secret must have at least 16 characters\n" in err
    monkeypatch.delenv("DEDUP_SECRET")
    assert "another scan: a secret there, none here (DEDUP_SECRET). Name" in scan(3)[2]
