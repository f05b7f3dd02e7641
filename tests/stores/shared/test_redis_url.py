"""URLs of Redis: what they name is understood, and what they hide is not shown."""

import traceback

import pytest
from cases import each

from dedup.sqlite_file import LedgerError
from dedup.stores.shared.redis_log import RedisLog
from dedup.stores.shared.redis_url import parse_redis_url

NOBODY = {"username": None, "password": None}
TLS = {"ssl": True, "ssl_check_hostname": True}


@each(
    ("url", "name", "namespace", "arguments"),
    [
        (
            "redis://localhost", "redis://localhost:6379/0?namespace=dedup", "dedup",
            {"host": "localhost", "port": 6379, "db": 0, **NOBODY},
        ),
        (
            "valkey://10.0.0.1:7000/3?namespace=news%20sites",
            "valkey://10.0.0.1:7000/3?namespace=news sites", "news sites",
            {"host": "10.0.0.1", "port": 7000, "db": 3, **NOBODY},
        ),
        (
            "rediss://ann:p%40%2F%3F%23ss@[::1]:1/", "rediss://[::1]:1/0?namespace=dedup", "dedup",
            {"host": "::1", "port": 1, "db": 0, "username": "ann", "password": "p@/?#ss", **TLS},
        ),
        (
            "valkeys://:pass@host?ssl_ca_certs=/a/ca.pem&namespace=a",
            "valkeys://host:6379/0?namespace=a", "a",
            {"host": "host", "port": 6379, "db": 0, "username": None, "password": "pass",
             "ssl_ca_certs": "/a/ca.pem", **TLS},
        ),
        (
            "unix:///run/a%20b.sock", "unix:///run/a b.sock?db=0&namespace=dedup", "dedup",
            {"unix_socket_path": "/run/a b.sock", "db": 0, **NOBODY},
        ),
        (
            "unix://ann:pass@/run/r.sock?db=2&namespace=b",
            "unix:///run/r.sock?db=2&namespace=b", "b",
            {"unix_socket_path": "/run/r.sock", "db": 2, "username": "ann", "password": "pass"},
        ),
    ],
)  # fmt: skip
def test_a_url_names_a_server_a_database_and_a_namespace(url, name, namespace, arguments):
    parsed = parse_redis_url(url)
    assert (parsed.name, parsed.namespace, parsed.options) == (name, namespace, arguments)


@each(
    ("url", "told"),
    [
        ("", "begins with none of redis://"),
        ("localhost:6379", "begins with none of"),
        ("http://localhost", "begins with none of"),
        ("redis://", "no host"),
        ("redis:///0", "no host"),
        ("redis://:secret@", "no host"),
        ("redis://host:0", "no valid host and port"),
        ("redis://host:65536", "no valid host and port"),
        ("redis://host:port", "no valid host and port"),
        ("redis://[::1", "no valid host and port"),
        ("redis://host/one", "database is not a number"),
        ("redis://host/1/2", "database is not a number"),
        ("redis://host/-1", "database is not a number"),
        ("redis://host?namespace=", "namespace .* 1 to 200 printable"),
        ("redis://host?namespaces=a", "after the [?] are namespace, and nothing else"),
        ("redis://host?ssl_ca_certs=a", "nothing else"),
        ("redis://host?db=1", "nothing else"),
        ("rediss://host?ssl_cert_reqs=none", "nothing else"),
        ("redis://host#1", "# is no part of it"),
        ("redis://host#", "# is no part of it"),
        ("unix://", "no path of a socket"),
        ("unix://host/run/redis.sock", "no path of a socket"),
        ("unix:///run/redis.sock?db=a", "database is not a number"),
        # Passwords whose characters are not escaped.
        ("redis://:se/cret@host", "unescaped characters"),
        ("redis://:se#cret@host", "unescaped characters"),
        ("redis://:se?cret@host", "unescaped characters"),
        ("redis://ann:12/secret@host", "database is not a number"),
        ("redis://ann:12?secret@host", "nothing else"),
        ("redis://ann:12#secret@host", "# is no part of it"),
        ("redis://ann:se[cret@host", "unescaped characters"),
    ],
)
def test_a_wrong_url_is_refused_without_being_shown(url, told):
    with pytest.raises(LedgerError, match=told) as raised:
        parse_redis_url(url)
    shown = "".join(traceback.format_exception(raised.value))
    messages = [line for line in shown.splitlines() if "Error" in line]
    assert not any("cret" in line for line in messages)


def test_neither_user_nor_password_are_shown():
    url = "redis://ann:secret@host"
    parsed, log = parse_redis_url(url), RedisLog(url)
    for shown in (repr(parsed), repr(log), log.name):
        assert "secret" not in shown
        assert "ann" not in shown
