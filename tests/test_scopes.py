import datetime
import decimal
import enum
import sys
from functools import partial

import pytest
from cases import each
from own_process import run_script

from dedup.limits import LONGEST_SCOPE
from dedup.plugins import load_extractor, load_method_class
from dedup.scopes import (
    Scope,
    are_versions,
    domain,
    host,
    is_of_item,
    is_scope_name,
    language,
)


class Colour(enum.Enum):
    RED = "red"


def path_of(url, *rest, **options):
    return url.split("/", 3)[3]


def with_a_default(item, key="sku"):
    return item.get(key)


def of_nothing(page=None):
    return ""


def of_a_page(page):
    return page


async def of_later(url):
    return url


def nth_part(number):
    def part(url):
        return url.split("/")[number]

    return part


class Methods:
    def own(self, url):
        return url

    @staticmethod
    def of_class(url):
        return url


@each(
    ("value", "name"),
    [
        (nth_part(2), "nth_part.<locals>.part"),
        ([nth_part(2), nth_part(3)], "nth_part.<locals>.part"),
        (["host", nth_part(2)], "nth_part.<locals>.part"),
        (Methods().own, "Methods.own"),
    ],
)
def test_a_function_that_its_name_does_not_make_again_is_refused(value, name):
    """Two of one name would count as one, silently."""
    with pytest.raises(ValueError, match="that can be imported by its name") as caught:
        Scope.of(value)
    assert str(caught.value).endswith(f"got '{__name__}.{name}'")


def test_another_function_than_the_one_of_its_name_is_refused(monkeypatch):
    value = path_of
    monkeypatch.setattr(sys.modules[__name__], "path_of", of_nothing)
    with pytest.raises(ValueError, match=r"got '.*\.path_of'"):
        Scope.of(value)


@each(
    ("value", "name"),
    [
        ("crawl", "crawl"),
        ("host, crawl", "host"),
        ("crawl,crawl", "crawl"),
        ("host,", "host"),
        ('["host", "language"]', "host,language"),
        (Methods.of_class, f"{__name__}.Methods.of_class"),
        (["language", "host"], "host,language"),
        ("field:sku", "field:sku"),
        (host, "host"),
        (("field:a b", path_of), f"field:a b,{__name__}.path_of"),
        (f"{__name__}.path_of", f"{__name__}.path_of"),
        (with_a_default, f"{__name__}.with_a_default"),
    ],
)
def test_the_name_of_a_scope_makes_it_again(value, name):
    scope = Scope.of(value)
    assert scope.name == name
    assert Scope.of(name) == scope
    assert is_scope_name(name)


@each(
    ("value", "message"),
    [
        ("", "got ''"),
        (None, "got None"),
        ({"host"}, "got {'host'}"),
        ("hosts", "did you mean host?"),
        ("field", "did you mean field:NAME?"),
        ("field:", "did you mean field:NAME?"),
        ("feld:offer.sku", "No module named 'feld'"),
        ("dedup.scopes.nothing", "has no attribute 'nothing'"),
        ("dedup.scopes.LONGEST_LANGUAGE", "must be functions or names of them, got 8"),
        (lambda url: url, r"got 'test_scopes.<lambda>'"),
        (partial(path_of, url=""), "got 'functools.partial'"),
        (of_a_page, "url, language and item, by these names: missing a required argument: 'page'"),
        (of_later, "may not be async"),
        (of_nothing, "must take url, language or item"),
    ],
)
def test_what_is_no_scope_is_refused(value, message):
    with pytest.raises(ValueError, match=message):
        Scope.of(value)


@pytest.mark.parametrize(
    ("code", "error"),
    [("def f(:", "SyntaxError"), ("1 / 0", "ZeroDivisionError: division by zero")],
)
@pytest.mark.parametrize("load", [Scope.of, load_extractor, load_method_class])
def test_a_module_that_cannot_be_imported_is_named_with_its_error(
    load, code, error, tmp_path, monkeypatch
):
    (tmp_path / "torn.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ValueError, match=f"got 'torn.f'.* raises {error}"):
        load("torn.f")


@each("name", ["", "site", "host,", "field:", "host,site"])
def test_no_other_name_is_taken_for_one(name):
    assert not is_scope_name(name)


@each(
    ("value", "told"),
    [
        ("A-1", '["A-1"]'),
        ("茶", '["茶"]'),
        ('"], ["', r'["\"], [\""]'),
        (decimal.Decimal("1.50"), '["1.50"]'),
        (datetime.date(2026, 1, 2), '["2026-01-02"]'),
        (("a", 1), '[["a", 1]]'),
        (Colour.RED, '["red"]'),
        ({1: "a"}, '[{"1": "a"}]'),
    ],
)
def test_a_value_is_written_down(value, told):
    assert Scope.of("field:sku").name_of("", item={"sku": value}) == f"item {told}"


def test_a_name_goes_before_a_path():
    item = {"offer.sku": 1, "offer": {"sku": 2}}
    assert Scope.of("field:offer.sku").name_of("", item=item) == "item [1]"


def test_long_scopes_are_short_and_different():
    names = [
        Scope.of("field:sku").name_of("", item={"sku": "x" * 10_000 + end}) for end in ("1", "2")
    ]
    assert [len(name) for name in names] == [LONGEST_SCOPE] * 2
    assert names[0] != names[1]
    assert len(Scope.of("host").name_of(f"http://{'a' * 2_000}/")) == LONGEST_SCOPE


def test_a_value_within_too_many_others_is_an_error():
    value = "a"
    for _ in range(5000):
        value = [value]
    with pytest.raises((RecursionError, ValueError)):
        Scope.of("field:sku").name_of("", item={"sku": value})


@each(
    ("url", "name"),
    [
        ("https://WWW.Example.com/A", "www.example.com"),
        ("https://www.example.com:8080/", "www.example.com:8080"),
        ("http://user:p@ss@example.com/", "example.com"),
        ("http://例子.测试/", "例子.测试"),
        ("data:text/html,x", ""),
        ("http://[broken", ""),
        ("", ""),
    ],
)
def test_a_host_has_its_port_and_no_user(url, name):
    assert host(url) == name


@each(
    ("url", "name"),
    [
        ("https://docs.example.com/", "example.com"),
        ("https://A.B.Example.CO.UK:8080/", "example.co.uk"),
        ("https://someone.github.io/", "github.io"),  # private suffixes are domains like others
        ("http://127.0.0.1:8080/", "127.0.0.1"),
        ("http://[2001:DB8::1]:8080/", "2001:db8::1"),
        ("http://[broken", ""),
        ("", ""),
    ],
)
def test_a_domain_is_what_somebody_registered(url, name):
    assert domain(url) == name


@pytest.mark.slow
def test_domains_are_known_without_network_and_cache():
    script = (
        "import socket, os\n"
        "def refuse(*args, **kwargs): raise AssertionError('network')\n"
        "socket.socket.connect = refuse\n"
        "os.makedirs = refuse\n"
        "from dedup.scopes import domain\n"
        "print(domain('https://a.example.co.jp/'))"
    )
    run = run_script(script)
    assert (run.stdout, run.stderr) == ("example.co.jp\n", "")


def test_the_language_of_a_page_that_says_too_much_is_cut():
    assert [language(name) for name in ("klingonish", "Ænglisc", " de ", "")] == [
        "klingoni", "nglisc", "de", "",
    ]  # fmt: skip


def test_items_that_tell_their_scope_are_versions_of_those_of_the_same_scope_only():
    one, other = (Scope.of("field:sku").name_of("", item={"sku": sku}) for sku in (1, 2))
    assert are_versions(one, one)
    assert not are_versions(one, other)
    assert are_versions("a.example", "b.example")  # a key of its own may have several hosts


def test_no_host_is_taken_for_a_scope_that_an_item_told():
    made = [Scope.of(name).name_of("http://item [1]/") for name in ("host", "domain")]
    assert not any(map(is_of_item, made))
    assert is_of_item(Scope.of("field:sku").name_of("", item={"sku": 1}))
