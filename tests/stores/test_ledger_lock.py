"""Locks of ledgers: who has one alone bars the others, and who shares one bars who would not."""

import os
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import ledgers
import pytest

from dedup.stores import SqliteStore
from dedup.stores.edit import reindex
from dedup.stores.ledger_file import LedgerError, LedgerFile, LedgerInUseError
from dedup.stores.ledger_lock import lock, lock_to_share
from dedup.stores.reader import LedgerReader

IDENTITY = {"method": "simhash", "version": 1, "scope": "crawl"}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "pages.sqlite"


@pytest.fixture
def source(tmp_path):
    """Another ledger, with one page."""
    path = tmp_path / "source.sqlite"
    with closing(ledgers.joined(path, IDENTITY)) as ledger:
        ledgers.add(ledger, ledgers.record(7))
        ledgers.publish(ledger)
    return path


def urls_in(path):
    with LedgerReader(path) as ledger:
        return [page.record.key for page in ledger.pages()]


def test_a_lock_goes_where_nothing_was_made(tmp_path):
    file = LedgerFile(tmp_path / "folder" / "pages.sqlite")
    with lock(file):
        assert [path.name for path in file.path.parent.iterdir()] == ["pages.sqlite.lock"]
        with pytest.raises(LedgerInUseError, match="is in use: one crawl at a time"), lock(file):
            pass
    assert list(file.path.parent.iterdir()) == []


def test_who_waits_for_a_lock_that_goes_takes_the_next_one(tmp_path):
    """Else one who waited for the file that was removed would be beside one with a new file."""
    file = LedgerFile(tmp_path / "pages.sqlite")
    sharing = lock_to_share(file)
    with ThreadPoolExecutor() as threads:
        with lock(file):
            waiter = threads.submit(sharing.__enter__)
            time.sleep(0.3)
        waiter.result(20)
        with pytest.raises(LedgerInUseError), lock(file):
            pass
    sharing.__exit__(None, None, None)


def test_a_ledger_in_use_is_not_replaced(path, source):
    with closing(ledgers.joined(path, IDENTITY)) as ledger:
        ledgers.add(ledger, ledgers.record(1))
        ledgers.publish(ledger)
        with pytest.raises(LedgerInUseError, match=f"{path} is in use by process {os.getpid()} on"):
            reindex(source, path, scope="host")
        ledgers.add(ledger, ledgers.record(2))
        ledgers.publish(ledger)
    assert urls_in(path) == ["http://a/1", "http://a/2"]


def test_a_ledger_that_was_removed_while_in_use_is_not_replaced_either(path, source):
    with closing(SqliteStore(path, IDENTITY)):
        path.unlink()
        with pytest.raises(LedgerError, match="is in use"):
            reindex(source, path, scope="host")
        assert not path.exists()
    reindex(source, path, scope="host")
    assert urls_in(path) == ["http://a/7"]
