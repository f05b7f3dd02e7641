import pytest

from dedup.scopes import (
    Scope,
    are_versions,
    base_of,
    domain,
    host,
    is_within,
    parts_of,
    scope_within,
)


@pytest.mark.parametrize("scope", [host, domain])
def test_no_host_is_taken_for_a_scope_within_another(scope):
    made = scope("http://example\x1f07.com/")
    assert made
    assert (is_within(made), base_of(made), parts_of(made)) == (False, made, b"")


def test_items_of_a_page_are_versions_of_those_of_their_own_scope():
    one, other = (Scope.of("field:sku").name_of("", item={"sku": sku}) for sku in (1, 2))
    assert are_versions(one, scope_within(one, b"1"))
    assert not are_versions(one, other)
    assert are_versions("a.example", "b.example")  # a key of its own may have several hosts
