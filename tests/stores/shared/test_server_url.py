"""What URLs of all servers share: a namespace, and secrets that are not shown."""

import pytest

from dedup.sqlite_file import LedgerError
from dedup.stores.shared.server_url import ServerUrl, split_query


@pytest.mark.parametrize(
    ("query", "namespace", "others"),
    [
        ("", "dedup", {}),
        ("namespace=a%20b&db=1", "a b", {"db": "1"}),
        ("db=&namespace=" + "n" * 200, "n" * 200, {"db": ""}),
    ],
)
def test_a_query_names_a_namespace_and_other_options(query, namespace, others):
    assert split_query(query, "Redis") == (namespace, others)


@pytest.mark.parametrize(
    ("namespace", "has"),
    [("", "0"), ("secret" * 40, "240"), ("secret%00", "others"), ("secret%0Aline", "others")],
)
def test_a_namespace_that_cannot_be_shown_on_a_line_is_refused(namespace, has):
    wrong = f"URL of Redis must have 1 to 200 printable characters, and has {has}$"
    with pytest.raises(LedgerError, match=wrong) as raised:
        split_query(f"namespace={namespace}", "Redis")
    assert "secret" not in str(raised.value)


def test_what_the_client_takes_is_not_shown():
    url = ServerUrl("redis://host", "dedup", {"password": "secret"})
    assert repr(url) == "ServerUrl(name='redis://host', namespace='dedup')"
