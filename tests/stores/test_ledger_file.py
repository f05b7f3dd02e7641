"""Files of SQLite: nothing that lies beside them is taken for theirs, nothing of theirs is lost."""

import json
import sqlite3
from contextlib import closing

import ledgers
import pytest
from own_process import run_python
from test_sqlite_store import IDENTITY

from dedup.stores import SqliteStore
from dedup.stores.edit import reindex
from dedup.stores.ledger_file import LedgerError, LedgerInUseError
from dedup.stores.reader import LedgerReader

pytestmark = pytest.mark.slow  # many processes


def add(ledger, *numbers):
    for number in numbers:
        ledgers.add(ledger, ledgers.record(number))
    ledgers.publish(ledger)


def store(path, *numbers):
    """Let a crawl store pages, and end."""
    with closing(ledgers.joined(path, IDENTITY)) as ledger:
        add(ledger, *numbers)


def stored(path):
    with LedgerReader(path) as ledger:
        return [int(page.record.key.rpartition("/")[2]) for page in ledger.pages()]


def process(script, *arguments):
    """Run *script* in a process of its own, with the functions above; it prints JSON, if any."""
    script = f"import os, sys; from pathlib import Path; from test_ledger_file import *\n{script}"
    done = run_python("-c", script, *arguments, check=False)
    assert done.returncode in (0, -9), done.stderr
    return json.loads(done.stdout) if done.stdout else None


def killed(script, *arguments):
    process(f"{script}\nos.kill(os.getpid(), 9)", *arguments)


KILLED_CRAWL = """
ledger = ledgers.joined(sys.argv[1], IDENTITY); add(ledger, *range(50))
"""
# A transaction too large for memory, so that its journal and half of it are on the disk.
KILLED_WITH_JOURNAL = """
file = sqlite3.connect(sys.argv[1]); file.execute("PRAGMA cache_size = 10")
file.execute("CREATE TABLE others (text)"); file.commit()
file.executemany("INSERT INTO others VALUES (?)", [("x" * 3000,) for _ in range(500)])
file.commit()
file.execute("UPDATE others SET text = text || 'y'")
"""


def log_of(path, end="-wal"):
    return path.with_name(path.name + end)


@pytest.mark.parametrize("script", [KILLED_CRAWL, KILLED_WITH_JOURNAL])
def test_what_a_killed_process_left_of_a_removed_file_is_not_taken_for_the_new_ones(path, script):
    killed(script, path)
    [left] = [end for end in ("-wal", "-journal") if log_of(path, end).exists()]
    assert log_of(path, left).stat().st_size > 1000
    path.unlink()
    store(path, 7)
    assert stored(path) == [7]


@pytest.mark.parametrize("script", [KILLED_CRAWL, KILLED_WITH_JOURNAL])
@pytest.mark.parametrize("is_removed", [True, False])
def test_a_converted_ledger_has_nothing_of_what_was_in_its_place(path, script, is_removed):
    source = path.with_name("source.sqlite")
    store(source, 7, 8)
    killed(script, path)
    if is_removed:
        path.unlink()
    reindex(source, path, scope="host")
    assert stored(path) == [7, 8]
    assert ledgers.query(path, "PRAGMA integrity_check") == [("ok",)]


@pytest.mark.parametrize("end", ["", "-journal", "-wal"])
def test_what_was_left_of_a_file_in_the_making_does_no_harm(path, end):
    aside = path.with_name(".pages.sqlite.part")
    killed(KILLED_CRAWL if end == "-wal" else KILLED_WITH_JOURNAL, aside)
    assert log_of(aside, end).exists()
    if end:
        aside.unlink()
    store(path, 7)
    assert stored(path) == [7]
    assert [file.name for file in path.parent.glob(".pages*.part*")] == [".pages.sqlite.part.lock"][
        : end == "-wal"
    ]


@pytest.mark.parametrize("times", [1, 2])
def test_what_a_killed_process_left_in_its_log_is_there_again(path, times):
    for again in range(times):
        script = f"add(ledger, *range({100 * again}, {100 * again + 50}))"
        killed(f"ledger = ledgers.joined(sys.argv[1], IDENTITY)\n{script}", path)
    assert log_of(path).stat().st_size > 1000
    store(path, 77)
    assert stored(path) == [
        n for time in range(times) for n in range(100 * time, 100 * time + 50)
    ] + [77]


def test_who_reads_a_ledger_after_a_kill_writes_the_log_into_it(path):
    killed(KILLED_CRAWL, path)
    process("stored(sys.argv[1])", path)
    assert not log_of(path).exists()
    path.rename(path.with_name("moved"))
    assert stored(path.with_name("moved")) == list(range(50))


def test_a_copy_that_sqlite_puts_back_has_nothing_of_the_log_that_was_there(path):
    copy = path.with_name("copy.sqlite")
    store(copy, 7, 8)
    killed(KILLED_CRAWL, path)
    with closing(sqlite3.connect(copy)) as source, closing(sqlite3.connect(path)) as target:
        source.backup(target)  # what .restore does
    assert stored(path) == [7, 8]


def test_who_reads_a_ledger_that_is_in_use_does_not_take_its_log_away(path):
    """SQLite gives up its locks where a process opens and closes the file by itself, too."""
    store(path, 1)
    with closing(ledgers.joined(path, IDENTITY)) as ledger:
        for number in (2, 3):
            add(ledger, number)
            read = process("import json; print(json.dumps(stored(sys.argv[1])))", path)
            assert read == list(range(1, number + 1))
            assert log_of(path).exists()


def test_who_still_reads_a_file_that_was_removed_does_not_take_the_log_of_the_new_one(path):
    store(path, 1)
    with LedgerReader(path):
        path.unlink()
        crawl = ledgers.joined(path, IDENTITY)
        add(crawl, 2)
    with closing(crawl):
        assert log_of(path).exists()
        assert process("import json; print(json.dumps(stored(sys.argv[1])))", path) == [2]


def test_a_conversion_that_is_killed_leaves_one_or_the_other_ledger_whole(path):
    source = path.with_name("source.sqlite")
    store(source, 7)
    killed(KILLED_CRAWL, path)
    script = "reindex(Path(sys.argv[2]), Path(sys.argv[1]), scope='host')"
    killed(f"os.replace = lambda *_: os.kill(os.getpid(), 9)\n{script}", path, source)
    assert stored(path) == list(range(50))


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        ("UPDATE about SET value = '{}' WHERE name = 'identity'", "is damaged"),
        ("DROP TABLE pages", "cannot be used as a ledger: no such"),
    ],
)
def test_a_conversion_that_fails_names_the_old_ledger_and_leaves_what_was_there(
    path, tmp_path, damage, told
):
    source = path.with_name("source.sqlite")
    store(source, 7)
    ledgers.query(source, damage)
    before = {file.name for file in tmp_path.iterdir()}
    with pytest.raises(LedgerError, match=rf"source.sqlite {told}"):
        reindex(source, path, scope="host")
    assert {file.name for file in tmp_path.iterdir()} - {"pages.sqlite.lock"} == before


def test_the_file_behind_a_link_is_converted_and_locked(path):
    source, link = path.with_name("source.sqlite"), path.with_name("link")
    store(source, 7)
    store(path, 1)
    link.symlink_to(path)
    reindex(source, link, scope="host")
    assert link.is_symlink()
    assert stored(path) == [7]
    other = path.with_name("other link")
    other.symlink_to(source)
    with (
        closing(ledgers.joined(source, IDENTITY)),
        pytest.raises(LedgerError, match="is in use"),
    ):
        SqliteStore(other, IDENTITY)
    source.unlink()
    with pytest.raises(LedgerError, match="is a broken link"):
        SqliteStore(other, IDENTITY)


def test_a_ledger_that_was_removed_while_in_use_is_not_replaced(path):
    source = path.with_name("source.sqlite")
    store(source, 7)
    with closing(SqliteStore(path, IDENTITY)):
        path.unlink()
        with pytest.raises(LedgerInUseError, match=f"{path} is in use by another crawl; wait"):
            reindex(source, path, scope="host")
        assert not path.exists()
    reindex(source, path, scope="host")
    assert stored(path) == [7]


@pytest.mark.parametrize("opened", [lambda path: SqliteStore(path, IDENTITY), LedgerReader])
def test_the_database_of_another_program_is_not_changed(path, opened):
    ledgers.query(path, "CREATE TABLE pages (id)")
    before = path.read_bytes()
    with pytest.raises(LedgerError, match=r"is not a ledger of scrapy-dedup; use another file"):
        opened(path)
    assert path.read_bytes() == before
    assert not log_of(path).exists()


def test_a_ledger_makes_no_temporary_files(path):
    """Their disk may be full."""
    with closing(SqliteStore(path, IDENTITY)) as ledger:
        for connection in (ledger._reader, ledger._writer):
            assert connection.execute("PRAGMA temp_store").fetchone() == (2,)
