"""Ledgers that are looked at."""

import shutil
from contextlib import closing

import pytest
from commands import json_of, shown
from ledgers import add, crawling, leave, publish, query, record
from test_sqlite_store import IDENTITY, opened

from dedup.stores import LedgerError
from dedup.stores.reader import LedgerReader, StoredMatch

REPORT = {"pages": {"judged": 3, "new": 2, "changed": 0, "unchanged": 0, "exact_duplicates": 0,
                    "near_duplicates": 1, "skipped": {"empty": 1}}}  # fmt: skip


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "pages.sqlite"
    with closing(opened(path)) as ledger:
        for number in range(2):
            add(ledger, record(number))
        ledger.note_duplicate("http://b/\x1b[31m", 1, "near-duplicate", 2)
        publish(ledger)
        leave(ledger, "finished", REPORT)
    with crawling(path, IDENTITY, None, job="/job") as ledger:
        add(ledger, record(9, "http://a/1"), [2])
    return path


def test_everything_can_be_read(path):
    with LedgerReader(path) as ledger:
        assert ledger.identity == IDENTITY
        assert ledger.counts() == {"pages": 2, "ended": 1, "matches": 1}
        assert [page.record.key for page in ledger.pages()] == ["http://a/0", "http://a/1"]
        assert [page.number for page in ledger.pages(ended=True)] == [1, 2, 3]
        [match] = ledger.matches()
        expected = ("http://a/0", "http://b/\x1b[31m", "near-duplicate", 2.0, 1)
        assert match == StoredMatch(*expected, match.found, 1, None)
        assert [page.is_change for page in ledger.pages(ended=True)] == [0, 0, 1]
        assert (ledger.key(2), len(next(ledger.stored()).pages)) == ("http://a/1", 2)
        assert ledger.largest_groups(5) == [("http://a/0", 1)]
        first, second = ledger.crawls()
        assert (first.reason, first.report, first.job) == ("finished", REPORT, None)
        assert (second.reason, second.report, second.finished) == (None, None, None)
        assert second.job == "/job"


def test_texts_are_kept_with_the_end_of_a_crawl(path):
    with closing(opened(path)) as ledger:
        texts = [("http://a/0", "Title", "Text\ud800"), ("http://a/1", None, "")]
        leave(ledger, "finished", REPORT, texts)
    with LedgerReader(path) as ledger:
        assert list(ledger.texts()) == [
            ("http://a/0", "Title", "Text\\ud800"), ("http://a/1", None, ""),
        ]  # fmt: skip
        assert ledger.text("http://a/1") == (None, "")
        assert ledger.text("http://b/") is None
    query(path, "UPDATE texts SET text = x'00'")
    with LedgerReader(path) as ledger, pytest.raises(LedgerError, match="is damaged"):
        ledger.text("http://a/1")


def test_a_ledger_in_use_is_read_without_disturbing_it_and_as_it_was_at_one_moment(path):
    with closing(opened(path)) as crawl, LedgerReader(path) as ledger:
        add(crawl, record(20))
        publish(crawl)
        assert ledger.counts()["pages"] == len(list(ledger.pages())) == 2
        with LedgerReader(path) as later:
            assert later.counts()["pages"] == 3


def test_a_copy_in_a_folder_that_cannot_be_written_is_read(path, tmp_path):
    folder = tmp_path / "archive"
    folder.mkdir()
    shutil.copy(path, folder / "pages.sqlite")
    folder.chmod(0o555)
    with LedgerReader(folder / "pages.sqlite") as ledger:
        assert ledger.counts()["pages"] == 2


def test_the_command_shows_all_of_a_crawl_and_the_largest_groups(tmp_path, capsys):
    path = tmp_path / "pages.sqlite"
    hostile = "\x1b[2J [red]"
    pages = {**REPORT["pages"], "exact_duplicates": 4, "unchanged": 5, "per_second": 2.5}
    with closing(opened(path)) as ledger:
        for number in range(12):
            add(ledger, record(number, f"http://a/{number}{hostile}"))
            for copy in range(number):
                ledger.note_duplicate(f"http://b/{number}/{copy}", number + 1, "near-duplicate", 2)
        publish(ledger)
        leave(ledger, hostile, {"pages": pages})
    times = "started = 1800000000, finished = 1800000061.5"
    query(path, f"UPDATE crawls SET spider = ?, {times}", hostile)
    numbers = json_of(capsys, "report", path)
    assert (numbers["ledger"], numbers["bytes"]) == (str(path), path.stat().st_size)
    assert (numbers["pages"], numbers["identity"]) == (12, IDENTITY)
    del pages["per_second"]
    assert numbers["crawls"] == [
        {
            "crawl": 1, "run": 1, "spider": hostile, "job": None,
            "started": "2027-01-15T08:00:00+00:00",
            "finished": "2027-01-15T08:01:01+00:00", "reason": hostile, "pages": pages,
        }
    ]  # fmt: skip
    groups = [(f"http://a/{n}{hostile}", n) for n in range(11, 1, -1)]
    assert [tuple(group.values()) for group in numbers["largest_groups"]] == groups
    out = shown(capsys, "report", path)
    assert "\x1b" not in out
    [row] = [line.split() for line in out.splitlines() if line.startswith("1 ")]
    name = ["\ufffd[2J", "[red]"]
    counts = ["3", "2", "0", "5", "4", "1", "1"]
    assert row == ["1", "1", *name, "2027-01-15T08:00:00Z", *name, *counts]
    assert out.splitlines()[-10].split() == ["11", "http://a/11\ufffd[2J", "[red]"]


def test_a_page_that_was_met_twice_is_no_duplicate_of_itself(path):
    query(path, "UPDATE matches SET url = 'http://a/0'")
    with LedgerReader(path) as ledger:
        assert list(ledger.matches()) == []
