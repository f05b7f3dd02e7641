"""The ledger's file: what it keeps, and what it refuses."""

import random
import sqlite3
from contextlib import closing
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from ledgers import add, crawling, earlier, joined, leave, numbers, publish, query, record

from dedup.detector import Detector
from dedup.methods import SimHash
from dedup.record import Claimed
from dedup.stores import LedgerError, SqliteStore, finished
from dedup.stores.base import UrlRule

IDENTITY = {"method": "simhash", "version": 1, "scope": "crawl"}


def opened(path, identity=IDENTITY, **options):
    return joined(path, identity, **options)


def filled(path, *numbers, identity=IDENTITY):
    with crawling(path, identity) as ledger:
        for number in numbers:
            add(ledger, record(number))


def load(path):
    """Whatever is wrong is a ValueError, or a LedgerError, which is one."""
    with closing(SqliteStore(path, IDENTITY)) as ledger:
        finished(Detector(SimHash(), store=ledger).follower.load())


def test_news_are_written_wholly_or_not_at_all(path):
    with closing(opened(path)) as ledger:
        add(ledger, record(1))
        add(ledger, record(2)._replace(digest=None))
        with pytest.raises(sqlite3.IntegrityError):
            publish(ledger)
    with closing(opened(path)) as ledger:
        assert numbers(ledger) == []


def test_a_job_goes_on_until_it_has_finished_and_its_pages_are_no_earlier_ones(path):
    with crawling(path, IDENTITY, None, job="/job") as ledger:
        add(ledger, record(1))
    for reason in (None, "shutdown", "closespider_timeout", "finished"):
        with closing(opened(path, job="/job", reset=True)) as ledger:
            assert (ledger.is_resumed, ledger.run) == (True, 1)
            assert query(path, "SELECT finished, reason FROM crawls") == [(None, None)]
            assert earlier(ledger, "http://a/1") == []
            assert numbers(ledger) == [1]
            if reason:
                leave(ledger, reason, {})
    for job in ("/job", "/other", None):
        with closing(opened(path, job=job)) as ledger:
            assert not ledger.is_resumed
            assert len(earlier(ledger, "http://a/1")) == 1


def test_duplicates_are_told_by_one_line_of_sql(path):
    filled(path, 1)
    with crawling(path, IDENTITY) as ledger:
        ledger.note_duplicate("http://b/", 1, "near-duplicate", 2)
        ledger.note_duplicate("http://a/1", 1, "exact-duplicate", 0)  # met again in the same crawl
        ledger.note_seen(1)
    assert query(path, "SELECT original, duplicate, kind, distance FROM duplicates") == [
        ("http://a/1", "http://b/", "near-duplicate", 2.0)
    ]
    [(first, seen)] = query(path, "SELECT stored, seen FROM pages")
    assert seen > first


def test_a_reset_forgets_everything_when_the_crawl_begins_and_takes_another_method(path):
    filled(path, 1, 2)
    with closing(opened(path)) as ledger:
        ledger.remember_requests()
        ledger.note_url_rule(UrlRule("parameter", "a", "sid"))
        publish(ledger)
        assert len(ledger.url_rules()) == 1
    with closing(SqliteStore(path, {"method": "minhash"}, reset=True)) as ledger:
        assert (numbers(ledger), earlier(ledger, "http://a/1"), ledger.last) == ([], [], 0)
        assert ledger.url_rules() == []
    with closing(opened(path)) as ledger:
        assert numbers(ledger) == [1, 2]
    with closing(opened(path, {"method": "minhash"}, reset=True)) as ledger:
        assert (numbers(ledger), earlier(ledger, "http://a/1")) == ([], [])
        assert add(ledger, record(3)) == 1
        publish(ledger)
        assert numbers(ledger) == [1]
    assert query(path, "SELECT count(*) FROM crawls") == [(1,)]
    with closing(opened(path, {"method": "minhash"})) as ledger:
        assert numbers(ledger) == [1]


def test_old_entries_expire(path):
    filled(path, 1, 2)
    query(path, "UPDATE pages SET stored = stored - 86400 * 10 WHERE id = 1")
    with closing(SqliteStore(path, IDENTITY, max_age=9.9)) as ledger:
        assert (numbers(ledger), earlier(ledger, "http://a/1")) == ([2], [])
        finished(ledger.join("test"))
        assert (numbers(ledger), earlier(ledger, "http://a/1")) == ([2], [])
    with closing(opened(path)) as ledger:
        assert numbers(ledger) == [2]


@pytest.mark.parametrize("content", [b"", b"SQLite format 3\0", b"something else" * 1000])
def test_a_file_that_is_no_database_is_refused_and_left_alone(path, content):
    path.write_bytes(content)
    with pytest.raises(LedgerError, match=f"{path} is (damaged|not a ledger)"):
        SqliteStore(path, IDENTITY)
    assert path.read_bytes() == content


@pytest.mark.parametrize("version", [1, 2, 5, 12])
def test_a_ledger_of_another_version_is_refused(path, version):
    filled(path, 1)
    query(path, f"PRAGMA user_version = {version}")
    with pytest.raises(
        LedgerError, match=f"ledger of version {version}.*needs version 11; use another"
    ):
        SqliteStore(path, IDENTITY)


def test_a_ledger_of_before_that_has_better_urls_of_pages_is_used_as_ever(path):
    filled(path, 1, 2)
    query(path, "ALTER TABLE pages ADD COLUMN preferred TEXT")
    query(path, "CREATE INDEX pages_by_preferred ON pages (preferred)")
    query(path, "UPDATE pages SET preferred = 'http://better/' WHERE id = 1")
    with closing(joined(path, IDENTITY)) as store:
        assert add(store, record(3), replaces=[2]) == 3
        publish(store)
        assert (numbers(store), earlier(store, "http://better/")) == ([1, 3], [])


@pytest.mark.parametrize(
    ("there", "here", "told"),
    [
        ({}, {"version": 2, "item_field": None},
         "item_field missing there, None here; version 1 there, 2 here"),
        ({}, {"secret": "b1"}, "no secret there, one here (DEDUP_SECRET)"),
        ({"secret": "a1"}, {}, "a secret there, none here (DEDUP_SECRET)"),
        ({"secret": "a1"}, {"secret": "b1"}, "a secret there, another here (DEDUP_SECRET)"),
        # That its arguments are others goes without saying.
        ({"secret": "a1"}, {"secret": "b1", "method": "another", "step": 1}, "method 'simhash' "
         "there, 'another' here; a secret there, another here (DEDUP_SECRET)"),
    ],
)  # fmt: skip
def test_another_identity_is_refused_with_the_differences_and_no_secret(path, there, here, told):
    filled(path, 1, identity={**IDENTITY, **there})
    with pytest.raises(LedgerError) as caught:
        SqliteStore(path, {**IDENTITY, **here})
    message = str(caught.value)
    assert f"{path} was made with other settings: {told}. Use another" in message
    for way_out in ("DEDUP_INDEX", "dedup_reset=1", "dedup ledger"):
        assert way_out in message
    assert not any(secret in message for secret in ("a1", "b1"))
    filled(path, 2, identity={**IDENTITY, **there})  # it is unlocked, and unchanged


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE pages SET digest = x'00' WHERE id = 1",
        "UPDATE pages SET sketch = x'00' WHERE id = 1",
        "UPDATE pages SET sketch = 'text' WHERE id = 1",
        "UPDATE pages SET tokens = 'many' WHERE id = 1",
        "UPDATE pages SET scope = x'05' WHERE id = 1",
        "UPDATE pages SET items = x'0200' WHERE id = 1",
        "DROP TABLE pages",
        "DELETE FROM about",
        "UPDATE about SET value = '{' WHERE name = 'identity'",
    ],
)
def test_wrong_content_is_an_error(path, damage):
    filled(path, 1, 2)
    query(path, damage)
    with pytest.raises(ValueError, match=r"is damaged|no such table|not all of 2 sketches have 8"):
        load(path)


@pytest.mark.slow
def test_damage_at_random_places_is_an_error_or_harmless(path):
    filled(path, *range(2000))
    whole = path.read_bytes()
    refused = 0
    for seed in range(60):
        chooser = random.Random(seed)
        content = bytearray(whole)
        start, length = chooser.randrange(len(content)), chooser.choice([1, 16, 5000])
        if chooser.random() < 0.2:
            del content[start:]
        else:
            content[start : start + length] = chooser.randbytes(
                len(content[start : start + length])
            )
        path.write_bytes(content)
        for suffix in ("-wal", "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
        try:
            load(path)
        except ValueError:
            refused += 1
    assert refused > 10


def test_an_exchange_that_fails_has_done_nothing_and_can_be_repeated(path):
    with closing(opened(path)) as ledger:
        stored = add(ledger, record(1))
        nbytes = ledger.nbytes
        away = path.rename(f"{path}.away")
        for _ in ("removed", "replaced"):
            with (
                pytest.raises(LedgerError, match="moved or removed"),
                ledger.publishing() as news,
            ):
                finished(ledger.exchange([Claimed(record(2))], news))
            assert (ledger.last, ledger.nbytes, ledger.unpublished) == (stored, nbytes, 1)
            path.write_bytes(away.read_bytes())
        away.rename(path)
        with ledger.publishing() as news:
            [claimed] = finished(ledger.exchange([Claimed(record(2))], news))
        assert claimed.number == stored + 1
    with closing(opened(path)) as ledger:
        assert numbers(ledger) == [stored]


def test_numbers_that_sqlite_does_not_know_can_be_distances(path):
    filled(path, 1)
    with crawling(path, IDENTITY) as ledger:
        for number, distance in enumerate((Decimal("0.5"), np.float32(0.5), np.int64(3), True)):
            ledger.note_duplicate(f"http://b/{number}", 1, "near-duplicate", distance)
    rows = query(path, "SELECT distance FROM matches ORDER BY url")
    assert rows == [(0.5,), (0.5,), (3.0,), (1.0,)]


@pytest.mark.parametrize("path", ["/proc/x.sqlite", "/proc/a/b.sqlite", "{}/file/b.sqlite"])
def test_a_file_that_cannot_be_made_is_an_error_that_names_it(tmp_path, path):
    (tmp_path / "file").touch()
    path = path.format(tmp_path)
    with pytest.raises(LedgerError, match=f"{path} cannot be created or locked .*DEDUP_INDEX"):
        opened(Path(path))
