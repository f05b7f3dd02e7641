"""When two requests hand on the same, and when not."""

from collections import namedtuple
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from hashlib import md5, sha1
from pathlib import PurePosixPath
from sqlite3 import connect
from types import MethodType
from typing import Any
from uuid import UUID

import pytest
from cases import each
from lxml.html import fromstring
from scrapy import FormRequest, Request, Spider
from scrapy.http import HtmlResponse, JsonRequest
from texts import article

from dedup.scrapy_plugin.baggage import UNREADABLE, Baggage, Parts, notes_on
from dedup.scrapy_plugin.fetch_times import FetchTimes
from dedup.scrapy_plugin.handover import PAGES
from dedup.scrapy_plugin.leaves import UnclearBaggageError

NOW = datetime.now(UTC)
TIMES = FetchTimes.about(NOW.timestamp())
Row = namedtuple("Row", "name price")


class Slotted:
    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


def read(request: Request, item: Any = None, own: tuple[str, ...] = (), body: str = "") -> Parts:
    """What an item is made of besides the page that *request* led to."""
    return Baggage.of(request, TIMES).within({} if item is None else item, own, lambda: body)


def parts(value: Any, *, item: Any = None, own: tuple[str, ...] = (), body: str = "", **meta: Any):
    """The same of a request that hands on *value*."""
    return read(Request("http://a/", cb_kwargs={"value": value}, meta=meta), item, own, body)


@each(
    ("one", "other"),
    [
        ({"name": "Lamp"}, {"name": " lamp\n"}),  # case and white space are layout
        ({"price": "12.50"}, {"price": Decimal("12.50")}),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        ({"tags": {"x", "y"}}, {"tags": {"y", "x"}}),
        ({"name": "Lamp", "empty": None, "no": ""}, {"name": "Lamp"}),
        ({"fetched": NOW, "n": 1}, {"fetched": NOW - timedelta(minutes=2), "n": 1}),
        (
            {"fetched": NOW.isoformat(), "n": 1},
            {"fetched": (NOW - timedelta(minutes=1)).isoformat(), "n": 1},
        ),
        ({"fetched": f"{datetime.now():%Y-%m-%d %H:%M:%S}", "n": 1}, {"n": 1}),
        ([Row("Lamp", 1)], [("Lamp", 1)]),
    ],
)
def test_what_is_the_same(one: Any, other: Any):
    first = parts(one if isinstance(one, dict) else {"rows": one})
    second = parts(other if isinstance(other, dict) else {"rows": other})
    assert (first.digest([]), first.values) == (second.digest([]), second.values)


@each(
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


LONG = article(1)
PAGE = f"<title>Lamps &amp; more</title><h1>L<b>amp</b> 7</h1><p>{LONG}</p>"
OWN = "http://a/lamp/7?from=list"


@each(
    ("item", "values"),
    [
        ({"price": 12.5}, [(".price", "12.5")]),
        ({"name": "Lamp 7"}, [(".name", "lamp 7")]),  # it may be on the page by chance
        ({"tags": ["A", "b"]}, [(".tags.0", "a"), (".tags.1", "b")]),
        ({"url": OWN}, []),
        ({"id": sha1(OWN.encode()).hexdigest()}, []),
        ({"id": md5(OWN.encode()).hexdigest().upper()}, []),
        ({"id": sha1(b"lamp").hexdigest()}, [(".id", sha1(b"lamp").hexdigest())]),
        ({"at": NOW, "iso": NOW.isoformat(), "unix": NOW.timestamp()}, []),
        ({"at": int(NOW.timestamp() * 1000)}, []),
        ({"day": date(2020, 1, 1)}, [(".day", "2020-01-01")]),
        ({"empty": None, "no": "", "none": []}, []),
        ({"text": LONG.upper()}, []),
        ({"text": f"Lamp 7 {LONG} Lamps & more".split()}, None),
        ({"text": f"Lamp 7\n\n{LONG} - Lamps & more"}, []),
        ({"text": f"Desk {LONG} 8"}, [(".text", "8 desk")]),
        (
            {"text": f"{LONG} {' '.join(LONG.split()[:3])}"},
            [(".text", " ".join(sorted(LONG.casefold().split()[:3])))],
        ),
        ({"text": "x " * 300}, [(".text", " ".join("x" * 300))]),
    ],
)
def test_what_counts_of_an_item_where_a_single_value_is_handed_on(item: Any, values: Any):
    found = parts(1, item=item, own=(OWN,), body=PAGE).values
    assert found == values if values is not None else len(found) > 200
    assert parts({"n": 1}, item=item, own=(OWN,), body=PAGE).values == [("value.n", "1")]


@each(
    "value", [None, "", " ", [], {}, NOW, NOW.timestamp(), str, Spider],
)  # fmt: skip
def test_what_says_nothing_hands_nothing_on(value: Any):
    assert parts(value, item={"a": 1}) == Parts()


def test_a_whole_sentence_that_is_handed_on_counts_though_its_words_are_on_the_page():
    sentence = "a lamp of a lamp of a lamp of a lamp of a lamp"
    body = f"{LONG} {' '.join(sorted(sentence.split()))}"
    assert parts(sentence, item={"text": f"{LONG} {sentence}"}, body=body).values


@each(
    ("text", "title", "values"),
    [
        ("More", "Lamps", []),
        ("Lamps", "Our lamps", [("link_text", "lamps")]),
        ("2", "12", []),
        ("2", "2", [("link_text", "2")]),
    ],
)
def test_the_text_of_a_rules_link_counts_where_the_item_has_it(text: str, title: str, values: Any):
    request = Request("http://a/", meta={"rule": 0, "link_text": text})
    assert read(request, {"title": title, "n": 1}).values == values
    own = Request("http://a/", meta={"link_text": text})
    assert read(own, {"title": title}).values == [(".title", title.casefold())]


@pytest.mark.parametrize("at", [NOW - timedelta(minutes=10), NOW + timedelta(minutes=10)])
def test_a_time_of_the_same_day_counts(at: datetime):
    """One that says when a page was fetched lies within a few minutes."""
    values = [("value.at", at.isoformat().casefold()), ("value.unix", str(at.timestamp()))]
    assert parts({"at": at, "unix": at.timestamp()}).values == values


def test_a_time_counts_as_that_of_fetching_however_long_its_request_has_waited():
    at = NOW - timedelta(hours=5)
    request = Request("http://a/", cb_kwargs={"item": {"at": at, "n": 1}})
    urls, times = notes_on(request, (), FetchTimes.about(at.timestamp() + 60))
    assert (urls, times) == (set(), {at.timestamp()})
    noted = FetchTimes.about(NOW.timestamp(), noted=sorted(times))
    assert Baggage.of(request, noted).within({}, (), str).values == [("item.n", "1")]


def test_what_scrapy_and_others_keep_in_meta_does_not_count():
    meta = {
        "depth": 2, "rule": 0, "download_slot": "a", "retry_times": 1,
        "_splash_processed": True, "inject": [Slotted], "impersonate_args": {"timeout": 10},
        "redirect_urls": ["http://a/"], "splash": {"args": {"wait": 1}}, "cookiejar": "b",
        "playwright": True, "playwright_page_methods": [{"a": 1}], "selenium": True,
        "zyte_api": {"browserHtml": True}, "dedup": {"key": "a"}, "dont_redirect": True,
        "proxy": "http://proxy/", "handle_httpstatus_list": [404],
    }  # fmt: skip
    request = Request("http://a/", meta=meta)
    assert read(request, {"depth": 2, "rule": 0}) == Parts()


def test_requests_of_other_kinds_hand_nothing_on_by_themselves():
    for request in (
        FormRequest("http://a/", formdata={"a": "b"}),
        JsonRequest("http://a/", data={"a": "b"}, dumps_kwargs={"indent": 1}),
    ):
        assert read(request, {"a": "b"}) == Parts()


@each(("url", "values"), [
    ("http://a/x?y", [(".a", "b")]),
    ("http://a/x?y#z", [(".a", "b")]),
    ("http://splash/render.html", []),  # its middleware posts what is to be rendered
])  # fmt: skip
def test_the_body_of_a_request_counts_where_the_page_is_of_its_url(url: str, values: Any):
    for request in (
        FormRequest(url, formdata={"sku": "1"}),
        JsonRequest(url, data={"sku": 1}),
        Request(url, body="sku 1"),
    ):
        found = Baggage.of(request, TIMES, url="http://a/x?y").within({"a": "b"}, (), str)
        assert found.values == values
    assert Baggage.of(Request(url), TIMES, url=url).within({"a": "b"}, (), str) == Parts()


def test_arguments_that_were_injected_later_do_not_count():
    request = Request("http://a/", cb_kwargs={"item": {"a": 1}, "page": {"b": 2}})
    found = Baggage.of(request, TIMES, {"item"}).within({}, (), str)
    assert found.values == [("item.a", "1")]


def test_a_spider_is_no_value_and_a_response_is_one():
    class Own(Spider):
        name = "own"
        secret = "x"

    response = HtmlResponse("http://a/p", body=b"<p>x</p>")
    spider, item = Own(), {"part": response.css("p"), "response": response}

    def callback(answer: Any) -> Any:
        return spider, item

    found = read(Request("http://a/", callback), {"x": "y"})
    assert found.values == [(".x", "y"), ("item.part.0.response", "<p>x</p>")]
    assert found.responses == [response]


def test_the_host_of_the_pages_themselves_does_not_count():
    one, other = (
        parts({"image": f"http://{host}/i/1.jpg"}, own=(f"https://{host}/p",))
        for host in ("a", "mirror.example")
    )
    assert one.places == other.places == ["/i/1.jpg"]


@each("name", [
    "_item", "download_info", "redirected_from", "http_row", "dont_mix_with", "autothrottle_part",
    "injection_moulded_part", "impersonated_by", "splash_pool", "zyte", "playwright_bill",
])  # fmt: skip
def test_names_that_only_look_like_those_of_scrapy_count(name: str):
    request = Request("http://a/", meta={name: {"name": "Lamp"}})
    assert read(request).values == [(f"{name}.name", "lamp")]
    assert read(Request("http://a/", meta={name: "x"}), {"n": 1}).values == [(".n", "1")]


@each("name", ["rule", "cookiejar", "selenium", "playwright", "depth", "proxy", "inject"])
def test_an_item_counts_also_under_a_name_of_scrapy(name: str):
    request = Request("http://a/", meta={name: [{"name": "Lamp"}]})
    assert read(request).values == [(f"{name}.0.name", "lamp")]


def test_what_a_class_says_of_its_methods_does_not_count():
    class Own(Spider):
        name = "own"

        def parse_page(self, response: Any, number: int = 1) -> Any:
            return super().parse(response)

        @classmethod
        def parse_other(cls, response: Any, *, number: int = 2) -> None:
            pass

    for spider in (Own(), type("Derived", (Own,), {})()):
        for callback in (spider.parse_page, spider.parse_other):
            assert read(Request("http://a/", callback), {"x": "y"}) == Parts()
    bound = MethodType(lambda self, response, number=3: None, Own())
    assert read(Request("http://a/", bound), {"x": "y"}).values == [(".x", "y")]


def test_what_an_object_that_is_called_back_holds_counts():
    class Callback:
        def __init__(self, name: str) -> None:
            self.name = name

        def __call__(self, response: Any) -> None: ...

    found = read(Request("http://a/", Callback("Lamp")), {"name": "Lamp"})
    assert found.values == [(".name", "lamp")]


@pytest.mark.parametrize("value", [iter(["Lamp"]), fromstring("<p>Lamp"), connect(":memory:")])
def test_where_a_value_cannot_be_looked_into_those_of_the_item_count(value: Any):
    for handed in (value, {"a": value}, [{"a": 1, "b": value}]):
        assert (".name", "lamp") in parts(handed, item={"name": "Lamp"}).values
    with pytest.raises(UnclearBaggageError):
        parts(1, item={"name": value})


def test_where_single_values_are_too_many_those_of_the_item_count():
    assert parts(list(range(20_000)), item={"n": 1}).values == [(".n", "1")]
    with pytest.raises(UnclearBaggageError):
        parts({"many": list(range(20_000))}, item={"n": 1})


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
        UNREADABLE.within({}, (), str)
