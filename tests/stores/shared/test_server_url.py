"""What URLs of all servers share: a namespace, and secrets that are not shown."""

import traceback

import pytest
from cases import each

from dedup.sqlite_file import LedgerError
from dedup.stores.shared.redis_log import RedisLog
from dedup.stores.shared.server_url import ServerUrl


@each(
    ("url", "name", "namespace", "client"),
    [
        ("redis://host", "redis://host?namespace=dedup", "dedup", "redis://host"),
        (
            "redis://ann:p%40ss@host:1/2?db=1&namespace=a%20b", "redis://host:1/2?namespace=a b",
            "a b", "redis://ann:p%40ss@host:1/2?db=1",
        ),
        (
            "unix:///run/r.sock?namespace=n&db=2", "unix:///run/r.sock?namespace=n", "n",
            "unix:///run/r.sock?db=2",
        ),
    ],
)  # fmt: skip
def test_a_url_names_a_namespace_and_what_the_client_takes(url, name, namespace, client):
    assert ServerUrl.of(url) == ServerUrl(name, namespace, client)


@pytest.mark.parametrize(
    ("namespace", "has"),
    [("", "0"), ("secret" * 40, "240"), ("secret%00", "others"), ("secret%0Aline", "others")],
)
def test_a_namespace_that_cannot_be_shown_on_a_line_is_refused(namespace, has):
    wrong = f"URL of a server must have 1 to 200 printable characters, and has {has}$"
    with pytest.raises(LedgerError, match=wrong) as raised:
        ServerUrl.of(f"redis://host?namespace={namespace}")
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize(
    "url",
    [
        "redis://host:port",
        "redis://host:65536",
        "redis://[::1",
        "redis://host?unheard=of",
        # Passwords whose characters are not escaped.
        "redis://:se/cret@host",
        "redis://:se#cret@host",
        "redis://:se?cret@host",
        "redis://:se@cret@host",
        "redis://ann:12/secret@host",
        "redis://ann:12?secret@host",
        "redis://ann:12#secret@host",
        "redis://ann:se[cret@host",
        "redis://ann:se:cret@host:port",
    ],
)
def test_a_wrong_url_is_refused_without_being_shown(url):
    with pytest.raises(LedgerError, match="the URL of a server is as") as raised:
        RedisLog(url)
    shown = "".join(traceback.format_exception(raised.value))
    assert not any("cret" in line for line in shown.splitlines() if "Error" in line)


@pytest.mark.parametrize(
    ("url", "options"),
    [
        ("valkey://10.0.0.1:7000/3", {"host": "10.0.0.1", "port": 7000, "db": 3}),
        (
            "rediss://ann:p%40%2F%3F%23ss@[::1]:1/",
            {"host": "::1", "port": 1, "username": "ann", "password": "p@/?#ss",
             "ssl_check_hostname": True},
        ),
        ("valkeys://:pass@host?ssl_ca_certs=/a/ca.pem", {"ssl_ca_certs": "/a/ca.pem"}),
        ("unix:///run/a%20b.sock?db=2", {"path": "/run/a b.sock", "db": 2}),
    ],
)  # fmt: skip
def test_the_client_of_redis_reads_its_own_options(url, options):
    pool = RedisLog(url)._client._redis.connection_pool
    assert pool.connection_kwargs.items() >= options.items()


def test_neither_user_nor_password_are_shown():
    url = "redis://ann:secret@host"
    parsed, log = ServerUrl.of(url), RedisLog(url)
    for shown in (repr(parsed), repr(log), log.name):
        assert "secret" not in shown
        assert "ann" not in shown
