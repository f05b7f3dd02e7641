"""What is Redis's own of a log: servers that would forget are refused, and what fails is told.

What every log has to do is in `test_log.py`.
"""

import asyncio
import subprocess
import traceback

import pytest
from log_servers import down, refused
from open_logs import Logs
from redis_server import free_port, redis_server
from test_log import IDENTITY, Process, collected, events, record

from dedup.record import Claimed, Committed
from dedup.stores.base import DuplicateNote, StoreDownError
from dedup.stores.ledger_file import LedgerError
from dedup.stores.log import FORMAT, Found
from dedup.stores.redis_log import RedisLog

QUICK = 0.5
"""A time limit for tests of what is waited for in vain, in seconds."""


@pytest.fixture
def logs():
    return Logs(RedisLog)


@pytest.fixture(scope="module")
def shared_server():
    """A server for tests that leave it as it was, but for what is stored there."""
    with redis_server() as server:
        yield server


@pytest.fixture
def server(shared_server):
    with shared_server.client() as client:
        client.flushall()
    return shared_server


@pytest.fixture
def own_server():
    """A server that a test may ruin."""
    with redis_server() as server:
        yield server


# Who is refused.


@pytest.mark.parametrize(
    ("policy", "limit", "evicts"),
    [
        ("allkeys-lru", "0", True),
        ("volatile-lru", "100mb", True),
        ("volatile-lru", "0", False),  # it only refuses to write
        ("noeviction", "100mb", False),
    ],
)
async def test_a_server_that_evicts_is_refused_with_the_setting_to_change(
    server, logs, policy, limit, evicts
):
    with server.client() as client:
        client.config_set("maxmemory", limit)
        client.config_set("maxmemory-policy", policy)
        try:
            if evicts:
                told = f"{policy}.*: set maxmemory-policy noeviction"
                await refused(logs(server.url).open(), told)
            else:
                assert await logs(server.url).open() is None
        finally:
            client.config_set("maxmemory-policy", "noeviction")
            client.config_set("maxmemory", "0")


async def test_a_replica_is_refused_with_the_address_of_its_primary(server, logs):
    await logs.joined(server.url)
    with redis_server(replicaof=f"127.0.0.1 {server.port}") as replica:
        await refused(logs(replica.url).open(), f"replica: connect to 127.0.0.1:{server.port}")


async def test_a_password_is_needed_and_never_shown(logs):
    with redis_server(requirepass="the right one") as server:
        with server.client(password="the right one") as client:
            client.acl_setuser("ann", True, passwords=["+anns"], categories=["+@all"], keys=["*"])
        at = f"127.0.0.1:{server.port}"
        for who in (":wrongword@", "ann:wrongword@", "bob:wrongword@", "", "ann@"):
            with pytest.raises(LedgerError, match=f"{at}.* refuses its user or password") as raised:
                await logs(f"redis://{who}{at}").open()
            assert not isinstance(raised.value, StoreDownError)
            shown = "".join(traceback.format_exception(raised.value))
            assert "wrongword" not in shown
        for who in (":the%20right%20one@", "ann:anns@"):
            assert await logs(f"redis://{who}{at}").open() is None


async def test_a_user_who_may_not_do_what_is_needed_is_refused(own_server, logs):
    with own_server.client() as client:
        client.acl_setuser("ann", True, passwords=["+secret"], commands=["+info", "+select"])
    log = logs(f"redis://ann:secret@127.0.0.1:{own_server.port}")
    assert "secret" not in await refused(log.open(), "no permissions to run the 'evalsha'")


async def test_keys_of_others_and_of_another_format_are_refused_and_left_alone(server, logs):
    url = f"{server.url}?namespace=a"
    with server.client() as client:
        for key in ("{dedup:a}:log", "{dedup:a}:owners", "{dedup:a}:about"):
            client.set(key, "theirs")
            await refused(logs(url).open(), "WRONGTYPE|about is missing")
            assert client.get(key) == b"theirs"
            client.delete(key)
        client.rpush("{dedup:a}:log", "theirs")
        await refused(logs(url).open(), "{dedup:a}:about is missing")
        for about in ("{}", "1", "null", '{"format": 1}', b"\xff"):
            client.hset("{dedup:a}:about", "made_with", about)
            await refused(logs(url).open(), "{dedup:a}:about cannot be read")
        client.hset("{dedup:a}:about", "made_with", '{"format": 99, "identity": {}}')
        told = f"format 99, .* has format {FORMAT}: use another namespace"
        await refused(logs(url).open(), told)


async def test_what_speaks_another_language_or_an_older_one_is_refused(logs):
    async def accept(reader, writer):
        while line := await reader.readline():
            if line.strip() == b"INFO":
                info = b"redis_version:6.2.14\r\nrole:master\r\n"
                writer.write(b"$%d\r\n%b\r\n" % (len(info), info))
            elif line.startswith(b"*"):
                pass
            elif line.strip() in (b"CLIENT", b"SELECT"):
                writer.write(b"+OK\r\n")
        writer.close()

    async def speak(reader, writer):
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await reader.read()
        writer.close()

    for way, told in ((accept, "version 6.2.14; 7.0 is the oldest"), (speak, "(?i)protocol error")):
        async with await asyncio.start_server(way, "127.0.0.1", 0) as stranger:
            log = logs(f"redis://127.0.0.1:{stranger.sockets[0].getsockname()[1]}", timeout=5)
            await refused(log.open(), told)
            await log.close()


# How one gets there.


async def test_a_server_that_is_not_there_is_down(logs):
    with redis_server() as server:
        url = server.url
    await down(logs(url).open(), f"127.0.0.1:{server.port}/0.* cannot be reached")
    await down(logs("unix:///nowhere/redis.sock").open(), "/nowhere/redis.sock")


async def test_a_socket_of_the_file_system_is_as_good(server, logs):
    process = await logs.joined(f"unix://{server.socket}")
    await process.store(record(1))
    assert await events(logs(server.url)) == [Claimed(record(1), 1), Committed(1)]


@pytest.mark.slow
async def test_tls_needs_a_certificate_that_is_trusted(logs, tmp_path):
    command = (
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1 "
        f"-subj /CN=test -addext subjectAltName=IP:127.0.0.1 -keyout {tmp_path}/key "
        f"-out {tmp_path}/certificate"
    )
    try:
        subprocess.run(command.split(), check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"openssl makes no certificate here: {error}")
    options = {
        "tls_cert_file": f"{tmp_path}/certificate", "tls_key_file": f"{tmp_path}/key",
        "tls_ca_cert_file": f"{tmp_path}/certificate", "tls_auth_clients": "no",
    }  # fmt: skip
    with redis_server(tls=True, **options) as server:
        url = server.url.replace("redis://", "rediss://")
        process = await logs.joined(f"{url}?ssl_ca_certs={tmp_path}/certificate")
        assert await process.store(record(1)) == [1]
        await refused(logs(url).open(), "certificate that is not trusted")
        await down(logs(server.url, timeout=QUICK).open())


@pytest.mark.slow
async def test_a_node_of_a_cluster_that_keeps_the_namespace_is_taken(logs):
    options = {"cluster_enabled": "yes", "cluster_port": str(free_port())}
    with redis_server(**options) as server, server.client() as client:
        await down(logs(server.url).open(), "slot")
        client.execute_command("CLUSTER ADDSLOTSRANGE", 0, 16383)
        async with asyncio.timeout(10):
            while client.cluster("info")["cluster_state"] != "ok":
                await asyncio.sleep(0.01)
        process = await logs.joined(server.url)
        assert await process.store(record(1)) == [1]
        assert await process.log.pages([1]) == {1: record(1)}
        await process.leave(texts=[("http://a/", None, "a")])
        client.execute_command("CLUSTER DELSLOTSRANGE", 0, 16383)
        await down(process.exchange(), "slot")


# What fails, and what then holds.


async def test_those_who_take_part_go_on_with_a_server_that_has_forgotten_all(own_server, logs):
    process = await logs.joined(own_server.url)
    [number] = await process.store(record(1))
    [claim] = await process.claim(record(2))
    with own_server.client() as client:
        client.flushall()
        client.script_flush()
    answer = await process.exchange([record(3)], commits=[claim], seen=3)
    assert answer == ([], [1], [claim[1]])
    later = Process(logs(own_server.url))
    assert await later.log.open() == Found(IDENTITY, True)
    with pytest.raises(LedgerError, match="made with other settings"):
        await later.join(identity={"method": "minhash"})
    await process.leave()
    assert (await later.join()).run == process.run + 1
    assert number == 1


async def test_a_full_server_changes_nothing_can_be_read_and_may_have_room_again(own_server, logs):
    process = await logs.joined(own_server.url)
    claims = await process.claim(*(record(number) for number in range(10)))
    with own_server.client() as client:
        client.config_set("maxmemory", "1mb")
        before = {key: client.dump(key) for key in client.keys("*")}
        for step in (
            process.exchange([record(11)], commits=claims),
            process.exchange(),
            process.join(),
            process.leave(texts=[("http://a/", None, "a")]),
        ):
            await down(step, "cannot be reached or used now: .*maxmemory")
        assert {key: client.dump(key) for key in client.keys("*")} == before
        assert len(await events(process.log)) == 10
        assert len(await process.log.pages(range(20))) == 10
        assert await logs(own_server.url).open() == Found(IDENTITY, True)
        client.config_set("maxmemory", "0")
    assert (await process.exchange(commits=claims)).lost == []


async def test_a_primary_that_becomes_a_replica_is_down_until_it_is_primary_again(own_server, logs):
    process = await logs.joined(own_server.url)
    claims = await process.claim(record(1))
    with own_server.client() as client:
        client.replicaof("127.0.0.1", "1")
        await down(process.exchange(commits=claims), "read only replica")
        assert len(await events(process.log)) == 1
        client.replicaof("NO", "ONE")
    assert (await process.exchange(commits=claims)).lost == []


async def test_a_server_that_is_busy_is_down_until_it_is_free(logs):
    with redis_server(busy_reply_threshold="1") as server:
        process = await logs.joined(server.url)
        with server.client() as client, server.client() as killer:

            def occupy():
                with pytest.raises(Exception, match="killed"):
                    client.eval("while true do end", 0)

            task = asyncio.create_task(asyncio.to_thread(occupy))

            async def go_on():
                while not task.done():
                    await process.exchange()

            await down(go_on(), "BUSY")
            killer.script_kill()
            await task
        await process.exchange()


async def test_what_nobody_of_us_wrote_is_told(server, logs):
    process = await logs.joined(server.url)
    await process.store(record(1))
    log = process.log
    with server.client() as client:
        client.rpush("{dedup:dedup}:crawls", "nonsense")
        client.hset("{dedup:dedup}:duplicates", "nonsense", "nonsense")
        client.lset("{dedup:dedup}:log", 1, "nonsense")
    for step in (log.crawls(), collected(log.duplicates())):
        await refused(step, f"{log.name.replace('?', '.')} is damaged")
    for step in (process.exchange(), log.entries(0), collected(log.snapshot())):
        await refused(step, "damaged: entry 2 is none: b'nonsense'")


@pytest.mark.slow
async def test_many_notes_are_each_told_once(server, logs):
    process = await logs.joined(server.url)
    notes = [DuplicateNote(f"http://a/{n}", n, "near-duplicate", 1.0, 5.0) for n in range(5000)]
    await process.exchange(duplicates=notes)
    found = await collected(process.log.duplicates())
    assert sorted(found) == [(process.run, note) for note in sorted(notes)]
