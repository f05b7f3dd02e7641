"""What is PostgreSQL's own of a log: who is refused, what fails, and what is then still there.

What every log has to do is in `test_log.py`.
"""

import asyncio
import logging
import time
import traceback

import pytest
from log_servers import down, refused
from open_logs import Logs
from postgres_server import PASSWORD, PostgresServer, shared_server
from redis_server import free_port
from test_log import IDENTITY, Process, all_entries, events, record

from dedup.record import Claimed, Committed
from dedup.stores.base import DuplicateNote, HistoryChangedError
from dedup.stores.ledger_file import LedgerError
from dedup.stores.log import FORMAT, Found
from dedup.stores.postgres_log import PostgresLog

QUICK = 1.0
"""A time limit for tests of what is waited for in vain, in seconds."""
ROLES = "CREATE ROLE {0} LOGIN PASSWORD 'secret'"


@pytest.fixture
def logs():
    return Logs(PostgresLog)


@pytest.fixture
def server():
    return shared_server()


@pytest.fixture
def own_server():
    """A server that a test may ruin, and that writes late what need not be written at once."""
    server = PostgresServer("wal_writer_delay=10s")
    yield server
    server.remove()


@pytest.fixture
def database(server):
    return server.new_database()


@pytest.fixture
def role(server, database):
    """A role of the database's own, without any rights."""
    server.run(ROLES.format(database))
    return database


# URLs.


async def test_of_several_hosts_one_is_enough(server, database, logs):
    url = server.url(database, port=f"{free_port()},127.0.0.1:{server.port}")
    process = await logs.joined(f"{url}?target_session_attrs=read-write")
    assert await process.store(record(1)) == [1]


# Who is refused.


async def test_a_server_that_is_not_there_is_named(logs):
    port = free_port()
    url = f"postgresql://admin:{'hidden'}@127.0.0.1:{port}/crawls"
    error = await down(logs(url).open(), f"127.0.0.1.*{port}")
    assert "hidden" not in "".join(traceback.format_exception(error))


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ({"query": "?sslmode=require"}, "SSL"),  # an option of libpq
        ({"password": "wrong-one"}, "password authentication failed"),
        ({"database": "missing"}, 'database "missing" does not exist'),
    ],
)
async def test_a_server_that_lets_nobody_in_is_refused(server, database, logs, how, told):
    url = server.url(**{"database": database, **how})
    assert "wrong-one" not in await refused(logs(url).open(), told)


async def test_a_database_that_is_not_utf8_is_refused(server, logs):
    name = server.new_database("ENCODING SQL_ASCII TEMPLATE template0")
    await refused(logs(server.url(name)).open(), "SQL_ASCII, scrapy-dedup needs UTF8")


async def test_an_old_server_is_refused(server, database, logs, monkeypatch):
    monkeypatch.setattr("dedup.stores.postgres_log._OLDEST_SERVER", 990000)
    await refused(logs(server.url(database)).open(), r"PostgreSQL \d+, scrapy-dedup needs 99")


async def test_a_database_is_down_while_it_is_read_only(server, database, logs):
    process = await logs.joined(server.url(database))
    await process.store(record(1))
    server.run(f"ALTER DATABASE {database} SET default_transaction_read_only = on")
    await down(logs(server.url(database)).open(), "read-only.*target_session_attrs=read-write")
    terminate(server, database)
    await down(process.exchange(), "terminating connection")
    await down(process.exchange(), "read-only")
    server.run(f"ALTER DATABASE {database} RESET default_transaction_read_only")
    assert await process.store(record(2)) == [3]


def terminate(server, database):
    """End all connections to a database."""
    server.run(
        "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity "
        f"WHERE datname = '{database}'"
    )


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE dedup.pages (url text)",
        "CREATE TABLE dedup.about (name text)",
        "CREATE FUNCTION dedup.one() RETURNS int LANGUAGE sql AS 'SELECT 1'",
    ],
)
async def test_a_schema_of_others_is_refused_and_left_as_it_is(server, database, logs, statement):
    server.run("CREATE SCHEMA dedup", statement, database=database)
    log = logs(server.url(database))
    for _ in range(2):
        await refused(log.open(), "'dedup' that is not of scrapy-dedup")
        await refused(Process(log).join(), "'dedup' that is not of scrapy-dedup")


async def test_another_format_is_refused(server, database, logs):
    await logs.joined(server.url(database))
    server.run(f"UPDATE dedup.about SET format = {FORMAT + 1}", database=database)
    log = logs(server.url(database))
    await refused(log.open(), f"format {FORMAT + 1}.*needs format {FORMAT}")
    await refused(Process(log).join(), f"format {FORMAT + 1}")
    server.run("DELETE FROM dedup.about", database=database)
    await refused(log.open(), "format None")


async def test_a_role_that_may_not_create_a_schema_is_told_what_to_run(server, role, logs):
    url = server.url(role, user=role, password="secret")
    log = logs(url)
    assert await log.open() is None
    await refused(Process(log).join(), f'CREATE SCHEMA dedup AUTHORIZATION "?{role}')
    server.run(f"CREATE SCHEMA dedup AUTHORIZATION {role}", database=role)
    assert await log.open() is None
    await Process(log).join()
    assert await log.open() == Found(IDENTITY, True)


async def test_a_role_that_may_not_use_the_tables_is_told_what_to_run(server, role, logs):
    await logs.joined(server.url(role))
    log = logs(server.url(role, user=role, password="secret"))
    grants = []
    for what in ("USAGE ON SCHEMA dedup", "SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN "
                 "SCHEMA dedup"):  # fmt: skip
        told = await refused(log.open(), f'GRANT {what} TO "?{role}')
        grants.append(f"GRANT {what} TO {role}")
        assert "permission denied" in told
        server.run(*grants, database=role)
    assert await log.open() == Found(IDENTITY, True)
    process = Process(log)
    await process.join()
    assert await process.store(record(1)) == [1]


async def test_all_may_join_an_empty_database_at_once(server, database, logs):
    log = len(server.log)
    processes = [Process(logs(server.url(database))) for _ in range(6)]
    found = await asyncio.gather(*(process.join() for process in processes))
    assert {joined.run for joined in found} == {1}
    assert len(await processes[0].log.crawls()) == 6
    assert "ERROR" not in server.log[log:]


# What fails.


@pytest.mark.slow
async def test_a_password_is_shown_nowhere(server, database, logs, caplog):
    caplog.set_level(logging.DEBUG)
    shown = []
    process = await logs.joined(server.url(database), timeout=QUICK)
    with server.paused():
        error = await down(process.exchange())
    wrong = logs(server.url(database, password=PASSWORD + "1"))
    with pytest.raises(LedgerError) as raised:
        await wrong.open()
    for told in (error, raised.value):
        shown += traceback.format_exception(told)
    shown += [caplog.text, repr(process.log), process.log.name, server.log]
    assert PASSWORD not in "".join(shown)


async def test_a_call_that_is_cancelled_ends_at_once_though_the_server_hangs(
    server, database, logs
):
    process = await logs.joined(server.url(database))
    with server.paused():
        task = asyncio.create_task(process.exchange([record(1)]))
        await asyncio.sleep(0.1)
        start = time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert time.monotonic() - start < 20
    assert (await process.exchange([record(2)])).made[0] in (1, 2)


@pytest.mark.slow
async def test_a_connection_that_was_ended_meanwhile_is_made_again(server, database, logs):
    process = await logs.joined(server.url(database))
    for number in range(1, 4):
        terminate(server, database)
        await down(process.exchange())
        assert (await process.exchange([record(number)])).made == [number]


async def test_too_many_connections_may_become_fewer(server, role, logs):
    server.run(f"GRANT CREATE ON DATABASE {role} TO {role}")
    url = server.url(role, user=role, password="secret")
    await logs.joined(url)
    server.run(f"ALTER ROLE {role} CONNECTION LIMIT 1")
    await down(logs(url).open(), "too many connections")
    server.run(f"ALTER ROLE {role} CONNECTION LIMIT -1")
    assert await logs(url).open() == Found(IDENTITY, True)


async def crawls_are_told(process, server, reasons):
    """Expect the crawls to be there after the server was killed, with the reasons of their ends."""
    server.kill()
    server.start()
    await down(process.log.crawls())
    assert [row.reason for row in await process.log.crawls()] == reasons


@pytest.mark.slow
@pytest.mark.parametrize("setting", ["on", "off"])
async def test_a_server_that_is_killed_has_all_commits_that_it_acknowledged(
    own_server, logs, setting
):
    """What it is not told to write at once may be lost: it writes that every ten seconds."""
    server = own_server
    database = server.new_database()
    server.run(f"ALTER DATABASE {database} SET synchronous_commit = {setting}")
    process = await logs.joined(server.url(database))
    await crawls_are_told(process, server, [None])
    stored = []
    for number in range(2):
        [claim] = await process.claim(record(number))
        assert (await process.exchange(commits=[claim])).lost == []
        stored.append(claim[0])
        late = await process.claim(record(100 + number))
        server.kill()
        await down(process.exchange())
        server.start()
        found = await events(process.log)
        assert [event.number for event in found if isinstance(event, Committed)] == stored
        is_lost = late[0][0] not in {event.number for event in found if isinstance(event, Claimed)}
        answer = await process.exchange(commits=late)
        assert answer.lost == [serial for _, serial in late if is_lost]
        stored += [number for number, _ in late if not is_lost]
        assert await process.log.open() == Found(IDENTITY, True)
    await process.leave()
    await crawls_are_told(process, server, ["finished"])


@pytest.mark.slow
async def test_the_strictest_isolation_by_default_does_no_harm(server, database, logs):
    server.run(f"ALTER DATABASE {database} SET default_transaction_isolation = serializable")
    processes = [await logs.joined(server.url(database)) for _ in range(4)]

    async def store(process):
        for number in range(20):
            await process.store(record(number))

    await asyncio.gather(*map(store, processes))
    assert len(await all_entries(processes[0].log)) == 160


# What is there.


async def test_a_history_that_changes_while_it_is_read_is_told(server, database, logs):
    process = await logs.joined(server.url(database))
    await process.store(record(1), record(2))
    pieces = process.log.snapshot()
    await anext(pieces)
    server.run("DELETE FROM dedup.entries WHERE position > 2", "UPDATE dedup.logs SET last = 2",
               database=database)  # fmt: skip
    with pytest.raises(HistoryChangedError):
        await anext(pieces)


async def test_of_what_was_reset_nothing_is_left(server, database, logs):
    process = await logs.joined(server.url(database), lease=0.5)
    await process.store(record(1), record(2))
    await process.claim(record(3))
    note = DuplicateNote("http://b/", 1, "near-duplicate", 1.0, 5.0)
    await process.exchange(duplicates=[note])
    await asyncio.sleep(0.6)
    other = Process(logs(server.url(database)))
    assert (await other.join(identity={"method": "minhash"}, reset=True)).is_reset
    counts = {
        table: server.run(f"SELECT count(*) FROM dedup.{table}", database=database)[0][0]
        for table in ("entries", "claims", "matches", "forgotten", "crawls")
    }
    assert counts == {**dict.fromkeys(counts, 0), "crawls": 1}


async def test_all_that_was_lost_is_told(server, database, logs):
    process = await logs.joined(server.url(database))
    await process.store(record(1), record(2))
    server.run("DELETE FROM dedup.entries WHERE position = 2", database=database)
    await refused(process.log.entries(0), "damaged: entries from 1 to 4 are missing")
    await refused(process.exchange(), "damaged")
    assert [entry.position for entry in await process.log.entries(2)] == [3, 4]
    server.run("DELETE FROM dedup.logs", database=database)
    await refused(process.exchange(), "what was there is gone")
    server.run("DROP SCHEMA dedup CASCADE", database=database)
    await refused(process.exchange(), "dedup.* does not exist")
