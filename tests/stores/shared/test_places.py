"""URLs of shared stores: which adapter they have, and what of them may be shown."""

import sys

import pytest
from cases import each

from dedup.sqlite_file import LedgerError
from dedup.stores.shared.log_url import LogUrl, without_secrets
from dedup.stores.shared.places import open_log
from dedup.stores.shared.postgres_log import PostgresLog
from dedup.stores.shared.redis_log import RedisLog
from dedup.stores.shared.sqlite_log import SqliteLog


@each(
    ("url", "shown"),
    [
        ("redis://host", "redis://host"),
        ("redis://:secret@host:6379/0", "redis://host:6379/0"),
        ("redis://me:se/cr?et#@host:6379/0?namespace=a", "redis://host:6379/0?namespace=a"),
        ("redis://me:sec@ret@host/0", "redis://host/0"),
        ("postgresql://me@host/db?password=secret&namespace=a", "postgresql://host/db?namespace=a"),
        ("postgresql://host/db?sslpassword=secret", "postgresql://host/db"),
        ("unix:///run/redis.sock?db=0&namespace=a", "unix:///run/redis.sock?namespace=a"),
        ("redis://host/0#secret", "redis://host/0"),
        ("redis://host/0?namespace=a#secret", "redis://host/0?namespace=a"),
    ],
)
def test_a_url_is_shown_without_what_is_secret(url, shown):
    assert without_secrets(url) == LogUrl.of(url).name == shown
    assert "secret" not in repr(LogUrl.of(url))


@pytest.mark.parametrize("url", ["mysql://me:secret@host/0", "REDIS://me:secret@host/0"])
def test_a_url_of_another_kind_is_refused_without_the_password(url):
    with pytest.raises(ValueError, match=r"redis://.*postgresql://") as caught:
        LogUrl.of(url)
    assert "secret" not in str(caught.value)


@each(
    ("url", "kind"),
    [
        ("redis://host", RedisLog),
        ("rediss://host", RedisLog),
        ("valkey://host", RedisLog),
        ("valkeys://host", RedisLog),
        ("unix:///run/redis.sock", RedisLog),
        ("postgresql://host/db", PostgresLog),
        ("postgres://host/db", PostgresLog),
    ],
)
def test_each_kind_of_url_has_its_adapter(url, kind):
    assert type(open_log(LogUrl.of(url))) is kind


def test_a_path_is_that_of_a_file(tmp_path):
    log = open_log(tmp_path / "pages.sqlite")
    assert type(log) is SqliteLog
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("url", "client", "adapter", "extra"),
    [
        ("redis://:secret@host", "redis", "redis", "redis"),
        ("postgresql://:secret@host/db", "psycopg", "postgres", "postgresql"),
    ],
)
def test_a_client_that_is_not_installed_is_named_with_its_extra(
    monkeypatch, url, client, adapter, extra
):
    monkeypatch.setitem(sys.modules, client, None)
    start = f"dedup.stores.shared.{adapter}_"
    for module in [name for name in sys.modules if name.startswith(start)]:
        monkeypatch.delitem(sys.modules, module)
    with pytest.raises(LedgerError) as caught:
        open_log(LogUrl.of(url))
    assert f"pip install 'scrapy-dedup[{extra}]'" in str(caught.value)
    assert "secret" not in str(caught.value)
