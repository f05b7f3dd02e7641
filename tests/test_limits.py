"""However long the strings of the web are, what is kept of them is bounded, and stays apart."""

import json
import sqlite3
from contextlib import closing
from typing import Any

import pytest
from cases import each
from collections_on_disk import write_lines
from crawls import crawl_site
from scrapy.exceptions import CloseSpider
from texts import article, page

from dedup.cli import main
from dedup.detector import Detector
from dedup.limits import LONGEST_LINE, LONGEST_URL, shorten, shorten_url
from dedup.methods import SimHash
from dedup.page import Page
from dedup.record import PageRecord
from dedup.report import Summary
from dedup.report.counts import Counters
from dedup.stores.reader import LedgerReader
from dedup.url_advice import Contents

LONG = "http://a/" + "x" * 10**5


@each("length", [0, 1, LONGEST_URL - 1, LONGEST_URL])
def test_what_is_not_too_long_stays_whole(length):
    url = "x" * length
    assert shorten_url(url) == url
    assert shorten("y" * min(length, LONGEST_LINE)) == "y" * min(length, LONGEST_LINE)


def test_long_urls_that_differ_anywhere_stay_others():
    places = (0, 5, LONGEST_URL - 40, LONGEST_URL, 10**4, len(LONG) - 1)
    urls = {LONG, LONG + "x", LONG[:-1], LONG + "\ud800"}
    urls |= {LONG[:place] + "y" + LONG[place + 1 :] for place in places}
    kept = set(map(shorten_url, urls))
    assert len(kept) == len(urls)
    assert {len(url) for url in kept} == {LONGEST_URL}
    assert set(map(shorten_url, kept)) == kept


def pages_of(*numbers):
    return [
        PageRecord("", "", 100, bytes([n] * 16), SimHash().to_bytes(n * 0x9E3779B97F4A7C15 % 2**64))
        for n in numbers
    ]


def strings(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for pair in value.items() for part in pair for text in strings(part)]
    if isinstance(value, list | tuple):
        return [text for part in value for text in strings(part)]
    return [value] if isinstance(value, str) else []


def test_nothing_in_a_report_is_long():
    settings = {"DEDUP_METHOD": {"name": "simhash", "words": ["x"] * 10**5}}
    detector = Detector(SimHash())
    summary = Summary(Counters(), settings, contents=Contents())
    for number, read in enumerate(pages_of(1, 1, 2, 2, 3)):
        url = f"http://{'h' * 10**5}/{'f' * 10**5}/{number}?{'q' * 10**5}={number}"
        long = Page(read, "text", "T" * 10**6, "L" * 10**6)
        summary.record(detector.judge(long.record.under(url)), url, 1, long)
    assert len([*summary.kept._sample]) == 3
    report = summary.finish(detector.follower.view, detector.store)
    assert report.groups == 2
    assert max(map(len, strings(report))) <= LONGEST_URL
    assert len(report.settings["DEDUP_METHOD"]) == LONGEST_LINE


def run(paths, site, **options):
    def parse(self: Any, response: Any) -> Any:
        yield {"url": response.url, "title": None}

    return crawl_site(site, **{"parse": parse, "URLLENGTH_LIMIT": 0, **paths, **options})


@pytest.fixture
def paths(tmp_path):
    return {"DEDUP_INDEX": tmp_path / "pages.sqlite", "DEDUP_REPORT": tmp_path / "reports"}


@pytest.mark.slow
def test_nothing_in_a_ledger_is_long(paths):
    def parse(self: Any, response: Any) -> Any:
        yield {"url": f"{LONG}{response.url[-1]}", "text": response.text}
        if response.url.endswith("2"):
            raise CloseSpider("because " * 10**5)

    site = {f"/{number}": page(article(number)) for number in range(3)}
    site["/1"] = page(article(0))
    for repeated in (False, True):
        result = run(
            paths, site, parse=parse, name="n" * 10**5, DEDUP_ITEM_FIELD="text", DEDUP_SCOPE="host"
        )
        assert len(result.items) == (0 if repeated else 2)
    with closing(sqlite3.connect(paths["DEDUP_INDEX"])) as file:
        for table in ("about", "crawls", "pages", "matches", "texts"):
            rows = file.execute(f"SELECT * FROM {table}").fetchall()
            values = [value for row in rows for value in row if isinstance(value, str)]
            reports = [value for value in values if value.startswith('{"spider"')]
            for report in reports:
                assert max(map(len, strings(json.loads(report)))) <= LONGEST_URL
            assert max((len(value) for value in values if value not in reports), default=0) <= (
                LONGEST_URL
            )
        rows = file.execute("SELECT original, duplicate FROM duplicates").fetchall()
    assert rows == [(shorten_url(f"{LONG}0"), shorten_url(f"{LONG}1"))]


def test_a_page_is_unchanged_whose_long_url_was_cut(paths):
    site = {f"/{number}?{'q' * 5000}={number}": page(article(number)) for number in range(3)}
    first = run(paths, site)
    assert len(first.items) == 3
    assert len(run(paths, site).items) == 0  # another port: copies
    with LedgerReader(paths["DEDUP_INDEX"]) as ledger:
        [*kept] = [page.record.key for page in ledger.pages()]
        assert len(set(kept)) == 3
        assert ledger.text(first.items[0]["url"]) == ledger.text(kept[0]) is not None


def test_keys_and_messages_of_a_scan_are_bounded(tmp_path, capsys):
    source, clusters, sketches = (tmp_path / name for name in ("a.jsonl", "clusters", "sketches"))
    records = [{"text": article(1), "url": f"{LONG}{number}"} for number in range(3)]
    write_lines(source, records)
    arguments = ["scan", source, "-o", tmp_path / "b.jsonl", "--key-field", "url"]
    arguments += ["--clusters", clusters, "--sketches", sketches]
    assert main(list(map(str, arguments))) == 0
    [cluster] = map(json.loads, clusters.read_text().splitlines())
    found = [cluster["key"], *(duplicate["key"] for duplicate in cluster["duplicates"])]
    assert found == [shorten_url(record["url"]) for record in records]
    assert sketches.stat().st_size < 100_000
    assert json.loads((tmp_path / "b.jsonl").read_text()) == records[0]
