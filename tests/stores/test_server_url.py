"""What URLs of all servers share: a namespace, and secrets that are not shown."""

import sys
import traceback

import pytest
from cases import each

from dedup.stores.ledger_file import LedgerError
from dedup.stores.postgres_log import PostgresLog
from dedup.stores.redis_log import RedisLog
from dedup.stores.server_url import ServerUrl, open_log, without_secrets


@each(
    ("url", "name", "namespace", "client"),
    [
        ("redis://host", "redis://host?namespace=dedup", "dedup", "redis://host"),
        (
            "redis://ann:p%40ss@host:1/2?db=1&namespace=a%20b", "redis://host:1/2?namespace=a%20b",
            "a b", "redis://ann:p%40ss@host:1/2?db=1",
        ),
        (
            "unix:///run/r.sock?namespace=n&db=2", "unix:///run/r.sock?namespace=n", "n",
            "unix:///run/r.sock?db=2",
        ),
        (
            "postgresql://a:b@one:1,two:2/crawls?target_session_attrs=read-write&namespace=news",
            "postgresql://one:1,two:2/crawls?namespace=news", "news",
            "postgresql://a:b@one:1,two:2/crawls?target_session_attrs=read-write",
        ),
        (
            "postgresql:///crawls?host=%2Frun%2Fpostgresql", "postgresql:///crawls?namespace=dedup",
            "dedup", "postgresql:///crawls?host=%2Frun%2Fpostgresql",
        ),
    ],
)  # fmt: skip
def test_a_url_names_a_namespace_and_what_the_client_takes(url, name, namespace, client):
    assert ServerUrl.of(url) == ServerUrl(name, namespace, client, url)


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
        "redis://[::1",
        "redis://host?unheard=of",
        # Passwords whose characters are not escaped.
        "redis://:se@cret@host",
        "redis://ann:12/secret@host",
        "redis://ann:12?secret@host",
        "redis://ann:12#secret@host",
        "redis://ann:se[cret@host",
        "postgresql://ann:1?se=cret@host/database",
        "postgresql://ann:secret@host/database?unheard=of",
    ],
)
def test_a_wrong_url_is_refused_without_being_shown(url):
    with pytest.raises(LedgerError, match="the URL of a server is as") as raised:
        open_log(ServerUrl.of(url))
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
    pool = RedisLog(url)._redis.connection_pool
    assert pool.connection_kwargs.items() >= options.items()


def test_neither_user_nor_password_are_shown():
    shown = repr(ServerUrl.of("redis://ann:secret@host"))
    assert "secret" not in shown
    assert "ann" not in shown


@each(
    ("url", "shown"),
    [
        ("redis://me:se/cr?et#@host:6379/0?namespace=a", "redis://host:6379/0?namespace=a"),
        ("redis://me:sec@ret@host/0", "redis://host/0"),
        ("postgresql://me@host/db?password=secret&namespace=a", "postgresql://host/db?namespace=a"),
        ("unix:///run/redis.sock?db=0&namespace=a", "unix:///run/redis.sock?namespace=a"),
        ("redis://host/0?namespace=a#secret", "redis://host/0?namespace=a"),
    ],
)
def test_a_url_is_shown_without_what_is_secret(url, shown):
    assert without_secrets(url) == shown


@pytest.mark.parametrize("url", ["mysql://me:secret@host/0", "REDIS://me:secret@host/0"])
def test_a_url_of_another_kind_is_refused_without_the_password(url):
    with pytest.raises(ValueError, match=r"redis://.*postgresql://") as caught:
        ServerUrl.of(url)
    assert "secret" not in str(caught.value)


@each("scheme", ["redis", "rediss", "valkey", "valkeys", "unix", "postgresql", "postgres"])
def test_each_kind_of_url_has_its_adapter(scheme):
    kind = PostgresLog if scheme.startswith("postgres") else RedisLog
    assert type(open_log(ServerUrl.of(f"{scheme}://host/path"))) is kind


def test_a_client_that_is_not_installed_is_named_with_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    for module in [name for name in sys.modules if name.startswith("dedup.stores.postgres_")]:
        monkeypatch.delitem(sys.modules, module)
    with pytest.raises(LedgerError) as caught:
        open_log(ServerUrl.of("postgresql://:secret@host/db"))
    assert "pip install 'scrapy-dedup[postgresql]'" in str(caught.value)
    assert "secret" not in str(caught.value)
