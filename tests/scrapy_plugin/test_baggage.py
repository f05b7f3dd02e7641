"""When two requests hand on the same, and when not."""

from collections import namedtuple
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import PurePosixPath
from typing import Any
from uuid import UUID

import pytest
from lxml.html import fromstring
from scrapy import FormRequest, Request, Spider
from scrapy.http import HtmlResponse, JsonRequest

from dedup.scrapy_plugin.baggage import PAGES, UNREADABLE, Baggage, Parts, UnclearBaggageError

STARTED = datetime.now(UTC) - timedelta(minutes=5)
NOW = datetime.now(UTC)
Row = namedtuple("Row", "name price")


class Slotted:
    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


def parts(value: Any, *, item: Any = None, own: tuple[str, ...] = (), **meta: Any) -> Parts:
    """What an item has of a request that hands on *value*."""
    request = Request("http://a/", cb_kwargs={"value": value}, meta=meta)
    return Baggage.of(request, STARTED).within({} if item is None else item, own)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"name": "Lamp"}, {"name": " lamp\n"}),  # case and white space are layout
        ({"price": "12.50"}, {"price": Decimal("12.50")}),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        ({"tags": {"x", "y"}}, {"tags": {"y", "x"}}),
        ({"name": "Lamp", "empty": None, "no": ""}, {"name": "Lamp"}),
        ({"fetched": NOW, "n": 1}, {"fetched": NOW - timedelta(minutes=2), "n": 1}),
        ({"fetched": NOW.isoformat(), "n": 1}, {"fetched": STARTED.isoformat(), "n": 1}),
        ({"fetched": f"{datetime.now():%Y-%m-%d %H:%M:%S}", "n": 1}, {"n": 1}),
        ([Row("Lamp", 1)], [("Lamp", 1)]),
    ],
)
def test_what_is_the_same(one: Any, other: Any):
    first = parts(one if isinstance(one, dict) else {"rows": one})
    second = parts(other if isinstance(other, dict) else {"rows": other})
    assert (first.digest([]), first.values) == (second.digest([]), second.values)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"name": "Lamp"}, {"name": "Lamp 2"}),
        ({"name": "Lamp"}, {"title": "Lamp"}),
        ({"price": 12.5}, {"price": 12.6}),
        ({"image": "/i/1.jpg"}, {"image": "/i/2.jpg"}),
        ({"link": "http://a/x?id=1"}, {"link": "http://a/x?id=2"}),
        ({"tags": ["x", "y"]}, {"tags": ["y", "x"]}),
        ({"data": b"one"}, {"data": b"two"}),
        ({"day": date(2020, 1, 1)}, {"day": date(2020, 1, 2)}),
        ({"at": NOW - timedelta(days=3)}, {"at": NOW - timedelta(days=4)}),
        ({"at": "2020-01-01T10:00:00"}, {"at": "2020-01-01T11:00:00"}),
        ({"inner": {"deep": [1, {"x": 2}]}}, {"inner": {"deep": [1, {"x": 3}]}}),
        ({"a": "x", "b": "y"}, {"a": "x y"}),
        ({"n": "9" * 60}, {"n": "9" * 61}),
        ({"number": "1" * 40 + "2"}, {"number": "1" * 40 + "3"}),
        ({"version": "1.1"}, {"version": "1.10"}),
        ({"price": "1"}, {"price": "1,000"}),
        ({"is_new": True}, {"is_new": False}),
        ({"site": "http://ost.example/"}, {"site": "http://west.example/"}),
        ({"app": "http://a/#/x/1"}, {"app": "http://a/#/x/2"}),
        ({"id": UUID(int=1)}, {"id": UUID(int=2)}),
        ({"path": PurePosixPath("a")}, {"path": PurePosixPath("b")}),
        ({"opens": time(8)}, {"opens": time(9)}),
        ({"thing": Slotted("a")}, {"thing": Slotted("b")}),
        ({"names": {1: "a"}.values()}, {"names": {1: "b"}.values()}),
        ({"next": Request("http://a/1")}, {"next": Request("http://a/2")}),
    ],
)
def test_what_is_not_the_same(one: Any, other: Any):
    assert parts(one).digest([]) != parts(other).digest([])


def test_urls_count_by_the_page_that_they_name():
    item = {"url": "http://a/product/1"}
    named = parts(item, **{PAGES: {"http://a/product/1": "digest"}})
    assert named.places == ["page digest"]
    assert parts(item).places == ["http://a/product/1"]
    assert parts(item, own=("http://a/product/1",)).places == []


@pytest.mark.parametrize(
    ("value", "item", "counts"),
    [
        ("Books", {"category": "books"}, True),
        ("Books", {"category": "Books and more"}, True),
        ("Books", {"category": "Records"}, False),
        ("12", {"text": "page 12 of 20"}, True),
        ("12", {"text": "page 120"}, False),
        (12, {"sku": "LAMP-12"}, True),
        (2, {"name": "v2"}, True),
        ("12.50", {"price": 12.5}, True),
        ("XL", {"name": "Shirt (XL)"}, True),
        ("12", {"text": f"12 {'x' * 400}"}, False),  # a number may be in any long text
        (
            "A whole sentence, which is in no text by chance.",
            {"text": f"{'x' * 400} a whole sentence, which is in no text by chance. The end"},
            True,
        ),
        ("lamp-1", {"url": "http://a/lamp-1/reviews"}, True),
        (12, {"url": "http://a/dp/12"}, True),
        ("/lamp/1", {"url": "http://a/lamp/1"}, True),
        (12, {"number": "12"}, True),
        ("ab", {"text": "cabin"}, False),
        ("word", {"text": f"word {'x' * 400}"}, False),  # so may a word, in a long one
        (True, {"flag": True}, False),
        (None, {"a": None}, False),
        ("http://a/x", {"from": "http://a/x"}, True),
        ("http://a/x", {"from": "http://a/y"}, False),
    ],
)
def test_a_single_value_counts_where_the_item_has_it(value: Any, item: Any, counts: bool):
    found = parts(value, item=item)
    assert bool(found.values or found.places) is counts


def test_what_scrapy_and_others_keep_in_meta_does_not_count():
    meta = {
        "depth": 2, "rule": 0, "download_slot": "a", "retry_times": 1,
        "_splash_processed": {"a": 1},
        "redirect_urls": ["http://a/"], "splash": {"args": {"wait": 1}}, "cookiejar": "b",
        "playwright_page_methods": [{"a": 1}], "zyte_api": {"browserHtml": True}, "dedup": {},
        "proxy": "http://proxy/", "handle_httpstatus_list": [404],
    }  # fmt: skip
    request = Request("http://a/", meta=meta)
    assert Baggage.of(request, STARTED).within({"depth": 2, "rule": 0}, ()) == Parts()


def test_requests_of_other_kinds_hand_nothing_on_by_themselves():
    for request in (
        FormRequest("http://a/", formdata={"a": "b"}),
        JsonRequest("http://a/", data={"a": "b"}, dumps_kwargs={"indent": 1}),
    ):
        assert Baggage.of(request, STARTED).within({"a": "b"}, ()) == Parts()


def test_arguments_that_were_injected_later_do_not_count():
    request = Request("http://a/", cb_kwargs={"item": {"a": 1}, "page": {"b": 2}})
    found = Baggage.of(request, STARTED, {"item"}).within({}, ())
    assert found.values == [("item.a", "1")]


def test_a_spider_is_no_value_and_a_response_is_one():
    class Own(Spider):
        name = "own"
        secret = "x"

    response = HtmlResponse("http://a/p", body=b"<p>x</p>")
    spider, item = Own(), {"part": response.css("p"), "response": response}

    def callback(answer: Any) -> Any:
        return spider, item

    found = Baggage.of(Request("http://a/", callback), STARTED).within({"x": "x"}, ())
    assert (found.values, found.responses) == ([("item.part.0.response", "<p>x</p>")], [response])


def test_the_host_of_the_pages_themselves_does_not_count():
    one, other = (
        parts({"image": f"http://{host}/i/1.jpg"}, own=(f"https://{host}/p",))
        for host in ("a", "mirror.example")
    )
    assert one.places == other.places == ["/i/1.jpg"]


@pytest.mark.parametrize("name", ["_item", "download_info", "redirected_from", "http_row"])
def test_names_that_only_look_like_those_of_scrapy_count(name: str):
    request = Request("http://a/", meta={name: {"name": "Lamp"}})
    assert Baggage.of(request, STARTED).within({}, ()).values == [(f"{name}.name", "lamp")]


def test_what_an_object_that_is_called_back_holds_counts():
    class Callback:
        def __init__(self, name: str) -> None:
            self.name = name

        def __call__(self, response: Any) -> None: ...

    found = Baggage.of(Request("http://a/", Callback("Lamp")), STARTED).within({"name": "Lamp"}, ())
    assert found.values == [("object.name", "lamp")]


@pytest.mark.parametrize("value", [iter(["Lamp"]), fromstring("<p>Lamp")])
def test_what_cannot_be_looked_into_is_unclear(value: Any):
    with pytest.raises(UnclearBaggageError):
        parts({"value": value})


def test_a_value_that_holds_itself_and_one_that_is_too_deep_end():
    ring: dict[str, Any] = {"a": 1}
    ring["self"] = ring
    assert parts(ring).values == [("value.a", "1")]
    deep: Any = {"end": 1}
    for _ in range(1000):
        deep = {"in": deep}
    with pytest.raises(UnclearBaggageError):
        parts(deep)
    with pytest.raises(UnclearBaggageError):
        UNREADABLE.within({}, ())
