from dedup.scopes import Scope, are_versions, is_of_item


def test_items_that_tell_their_scope_are_versions_of_those_of_the_same_scope_only():
    one, other = (Scope.of("field:sku").name_of("", item={"sku": sku}) for sku in (1, 2))
    assert are_versions(one, one)
    assert not are_versions(one, other)
    assert are_versions("a.example", "b.example")  # a key of its own may have several hosts


def test_no_host_is_taken_for_a_scope_that_an_item_told():
    made = [Scope.of(name).name_of("http://item [1]/") for name in ("host", "domain")]
    assert not any(map(is_of_item, made))
    assert is_of_item(Scope.of("field:sku").name_of("", item={"sku": 1}))
