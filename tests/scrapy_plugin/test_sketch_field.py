"""DEDUP_SKETCH_FIELD in whole crawls: the records that items have, and what is made of them."""

import json
import os
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from crawls import crawl, spider_over
from scrapy import Request
from scrapy.settings import Settings
from texts import ENGLISH, article, edited, page
from web import Answer, served

from dedup.cli import main
from dedup.methods import METHODS
from dedup.methods.keyed import KeyedHashing
from dedup.record_field import FieldReader
from dedup.scrapy_plugin.settings import DedupSettings, SettingError
from dedup.stores.reader import LedgerReader

SECRET = "correct horse battery staple"
FIELD = "dedup_record"
SITE = {
    "/a": page(article(1)),
    "/copy": page(article(1)),
    "/near": page(edited(article(1))),
    "/other": page(article(2)),
    "/short": page("A few words only."),
    "/empty": "<html><body></body></html>",
    "/english": page(ENGLISH),
    "/data": Answer(b"%PDF-1.4 no text" * 16, content_type="application/pdf"),
}


class Run:
    """A site whose crawls write a feed and a ledger."""

    def __init__(self, folder: Path, url: str, spider: Any, **settings: Any) -> None:
        self.url, self.spider = url, spider
        self.feed, self.ledger = folder / "items.jsonl", folder / "pages.sqlite"
        self.settings = {
            "DEDUP_SKETCH_FIELD": FIELD,
            "DEDUP_INDEX": self.ledger,
            "FEEDS": {str(self.feed): {"format": "jsonlines"}},
            **settings,
        }

    def crawl(self, **settings: Any) -> Any:
        result = crawl(self.spider, **{**self.settings, **settings})
        assert "log_count/ERROR" not in result.stats
        return result

    @property
    def items(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.feed.read_text().splitlines()]

    def rebuild(self, *arguments: Any) -> int:
        """Lose the ledger, and make it again."""
        self.ledger.unlink()
        command = ["ledger", self.feed, "-o", self.ledger, *arguments]
        return main(list(map(str, command)))

    def known(self) -> list[Any]:
        """What the ledger compares, in an order."""
        with LedgerReader(self.ledger) as reader:
            return sorted(stored.record for stored in reader.pages())

    @property
    def identity(self) -> dict[str, Any]:
        with LedgerReader(self.ledger) as reader:
            return reader.identity


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    with served(SITE) as url:
        yield Run(tmp_path, url, spider_over(*(url + path for path in SITE)))


def test_items_that_are_stored_have_the_record_of_their_page(run: Run):
    run.crawl()
    reader = FieldReader(METHODS["simhash"]())
    stored = {item["url"].removeprefix(run.url): item for item in run.items}
    assert list(stored) == ["/a", "/other", "/short", "/empty", "/english", "/data"]
    [found] = reader.read([stored["/a"][FIELD]])
    assert not isinstance(found, ValueError)
    assert found.record in run.known()
    assert found.made_with[2:] == ("trafilatura", None, "crawl")
    assert stored["/data"][FIELD]["binary"]
    assert stored["/empty"][FIELD]["digest"] is None


def test_marked_and_kept_items_have_it_too_and_pages_that_were_not_read_have_none(tmp_path: Path):
    def parse(self: Any, response: Any) -> Iterator[Any]:
        yield {"url": response.url}
        yield Request(f"{response.url}?exempt", self.last, meta={"dedup": False})

    def last(self: Any, response: Any) -> Iterator[Any]:
        yield {"url": response.url}

    site = {**SITE, "/a?exempt": page(article(5))}
    with served(site) as url:
        spider = spider_over(f"{url}/a", f"{url}/copy", parse=parse, last=last)
        run = Run(tmp_path, url, spider, DEDUP_ACTION="mark", HTTPERROR_ALLOW_ALL=True)
        run.crawl()
        marked = {item["url"].removeprefix(url): FIELD in item for item in run.items}
        run.feed.unlink()
        run.crawl(DEDUP_ACTION="drop", DEDUP_REVISITS="keep")
    assert marked == {"/a": True, "/copy": True, "/a?exempt": False, "/copy?exempt": False}
    assert {item["url"].removeprefix(url) for item in run.items if FIELD in item} == {"/a"}


def test_what_the_spider_has_written_into_the_field_stays():
    def parse(self: Any, response: Any) -> Iterator[Any]:
        yield {"url": response.url, FIELD: "mine"}

    with served(SITE) as url:
        result = crawl(spider_over(f"{url}/a", parse=parse), DEDUP_SKETCH_FIELD=FIELD)
    assert [item[FIELD] for item in result.items] == ["mine"]


def test_an_item_that_is_yielded_again_with_another_page_has_the_record_of_that(tmp_path: Path):
    def parse(self: Any, response: Any) -> Iterator[Any]:
        item = {"url": response.url}
        yield item
        yield Request(response.urljoin("/other"), self.parse_other, cb_kwargs={"item": item})

    def parse_other(self: Any, response: Any, item: Any) -> Iterator[Any]:
        item["other"] = response.url
        yield item

    with served(SITE) as url:
        run = Run(tmp_path, url, spider_over(f"{url}/a", parse=parse, parse_other=parse_other))
        run.crawl()
    first, second = map(json.loads, run.feed.read_text().splitlines())
    assert [item[FIELD]["key"] for item in (first, second)] == [f"{url}/a", f"{url}/other"]
    said = [len(b64decode(item[FIELD].get("says", ""))) for item in (first, second)]
    assert said == [0, 8]  # the path of the first page, and neither its own nor the first record
    assert first[FIELD]["digest"] != second[FIELD]["digest"]


@pytest.mark.parametrize(
    ("settings", "other"),
    [
        ({"DEDUP_FIELDS": {"text": FIELD}}, "DEDUP_FIELDS"),
        ({"DEDUP_ITEM_FIELD": FIELD}, "DEDUP_ITEM_FIELD"),
        ({"DEDUP_ACTION": "mark", "DEDUP_SKETCH_FIELD": "dedup"}, 'DEDUP_ACTION = "mark"'),
    ],
)
def test_a_field_that_another_setting_uses_is_refused(settings: dict[str, Any], other: str):
    with pytest.raises(SettingError, match=f"DEDUP_SKETCH_FIELD and {other} both use the field"):
        DedupSettings.from_settings(Settings({"DEDUP_SKETCH_FIELD": FIELD, **settings}))


@pytest.mark.slow
@pytest.mark.parametrize("name", METHODS)
def test_a_ledger_that_is_lost_is_made_again_of_the_feed(run: Run, name: str, capsys: Any):
    run.settings["DEDUP_METHOD"] = name
    run.crawl()
    known, identity, stored = run.known(), run.identity, run.items
    assert any(record.sketch for record in known)
    assert run.rebuild("--method", name) == 0
    assert capsys.readouterr().out == f"{run.ledger}: {len(known)} pages\n"
    assert (run.known(), run.identity) == (known, identity)
    again = run.crawl()
    assert again.items == []
    assert again.dedup_stats["unchanged"] == len(stored)


@pytest.mark.slow
def test_items_that_share_a_url_are_known_again_by_their_own_texts(tmp_path: Path):
    texts = [article(1), article(2), article(3)]

    def parse(self: Any, response: Any) -> Iterator[Any]:
        for text in texts:
            yield {"url": response.url, "body": text}

    with served(SITE) as url:
        spider = spider_over(f"{url}/a", parse=parse)
        run = Run(tmp_path, url, spider, DEDUP_ITEM_FIELD="body")
        assert len(run.crawl().items) == 3
        texts[1] = edited(article(2), "corrected")
        assert [item["body"] for item in run.crawl().items] == [texts[1]]
        known, identity = run.known(), run.identity
        assert len(known) == 3
        assert run.rebuild() == 0
        assert (run.known(), run.identity) == (known, identity)
        assert run.crawl().items == []
        texts[1] = article(2)
        assert [item["body"] for item in run.crawl().items] == [texts[1]]


def test_the_last_of_the_records_of_a_page_counts(tmp_path: Path):
    site = {"/a": page(article(1))}
    with served(site) as url:
        run = Run(tmp_path, url, spider_over(f"{url}/a"))
        run.crawl()
        site["/a"] = page(article(2))
        run.crawl()
        assert len(run.items) == 2
        assert run.rebuild() == 0
        assert len(run.known()) == 1
        assert run.crawl().items == []
        site["/a"] = page(article(1))
        changed = run.crawl()
    assert (len(changed.items), changed.dedup_stats["changed"]) == (1, 1)


@pytest.mark.slow
def test_with_a_secret_records_tell_nothing_without_it(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
):
    monkeypatch.setenv("DEDUP_SECRET", SECRET)
    run.crawl()
    monkeypatch.delenv("DEDUP_SECRET")
    known = run.known()
    digest = KeyedHashing(SECRET).secret_digest
    assert digest
    assert digest not in run.feed.read_text()
    assert SECRET not in run.feed.read_text()
    copy = run.ledger.read_bytes()
    assert run.rebuild() == 2
    error = capsys.readouterr().err
    assert "another method, version, arguments or secret" in error
    assert error.count("\n") == 1
    assert not run.ledger.exists()
    run.ledger.write_bytes(copy)
    monkeypatch.setenv("DEDUP_SECRET", SECRET)
    assert run.rebuild() == 0
    assert run.known() == known
    assert run.crawl().items == []


@pytest.mark.slow
def test_a_rebuilt_ledger_is_shown_and_expires_by_the_age_of_its_feed(run: Run, capsys: Any):
    run.crawl()
    old = run.feed.stat().st_mtime - 10 * 86400
    os.utime(run.feed, (old, old))
    assert run.rebuild() == 0
    for command in (["report", run.ledger], ["report", run.ledger, "-o", f"{run.ledger}.html"]):
        assert main(list(map(str, command))) == 0
    assert "items.jsonl" in capsys.readouterr().out
    again = run.crawl(DEDUP_REVISITS={"drop": 9})
    assert len(again.items) == 6


@pytest.mark.slow
@pytest.mark.parametrize("name", METHODS)
def test_a_scan_of_the_records_finds_what_a_scan_of_the_texts_finds(
    run: Run, tmp_path: Path, name: str
):
    run.crawl(DEDUP_METHOD=name, DEDUP_ACTION="mark", DEDUP_FIELDS={"text": "text"})
    written = []
    for field in (["--text-field", "text"], ["--record-field", FIELD]):
        out, clusters = tmp_path / f"{field[0]}.jsonl", tmp_path / f"{field[0]}.clusters.jsonl"
        command = ["scan", run.feed, "-o", out, "--clusters", clusters, "--method", name, *field]
        assert main(list(map(str, command))) == 0
        written.append((out.read_bytes(), clusters.read_bytes()))
    texts, records = written
    # A file that is no text is compared by its record alone.
    assert texts == records
    assert len(records[0].splitlines()) < len(run.items)
