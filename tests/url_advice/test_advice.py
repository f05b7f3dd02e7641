"""What in URLs never changed the content."""

import random
from time import process_time

import pytest
from cases import each

from dedup.url_advice import url_advice

SITE = "http://shop.example/"


def advised(pages):
    """The advice, by kind and name."""
    return {(a.kind, a.name): a for a in url_advice(pages).advice}


PARTS = [
    # (the page n with the part, without it, kind and name)
    ("{n}?ref=home", "{n}", ("parameter", "ref")),
    (
        "a?id={n}&utm_source=x&utm_medium=y",
        "a?id={n}",
        ("parameters", "utm_medium,utm_source"),
    ),
    ("a/{n}/", "a/{n}", ("slash", "/")),
    ("a/{n}/index.html", "a/{n}/", ("index", "index.html")),
    ("{n}/Default.aspx", "{n}/", ("index", "Default.aspx")),
    ("old/{n}/x", "new/{n}/x", ("value", "/new/")),
    ("docs/v1.9/{n}", "docs/v1.10/{n}", ("value", "/docs/v1.9/")),
    ("docs/latest/{n}/a", "docs/v1.10/{n}/a", ("value", "/docs/latest/")),
]


@each(("with_it", "without", "part"), PARTS)
def test_a_part_that_never_changed_the_content_is_found(with_it, without, part):
    pairs = [(SITE + with_it.format(n=n), SITE + without.format(n=n)) for n in range(6)]
    others = [(f"{SITE}other/{n}", f"other {n}") for n in range(6)]
    pages = [(url, n) for n, pair in enumerate(pairs) for url in pair] + others
    random.Random(1).shuffle(pages)
    result = advised(pages)
    if part[0] == "value" and part not in result:  # which of two folders stays is a matter of order
        part = next(key for key in result if key[0] == "value")
    advice = result[part]
    assert (advice.pages, advice.agreed, advice.compared) == (6, 6, 6)
    assert not advice.counterexamples
    assert set(advice.examples) <= {*pairs, *((b, a) for a, b in pairs)}


def test_hosts_and_schemes_may_repeat_each_other():
    hosts = ["https://shop.example", "http://shop.example", "https://www.shop.example"]
    pages = [(f"{host}/a/{n}", n) for n in range(6) for host in hosts]
    assert {key: advice.other for key, advice in advised(pages).items() if key[0] == "host"} == {
        ("host", "http://shop.example"): "https://www.shop.example",
        ("host", "https://shop.example"): "https://www.shop.example",
    }


def test_one_page_that_differs_spoils_it_but_among_very_many():
    def advice(count):
        pages = [(f"{SITE}{n}{query}", n) for n in range(count) for query in ("", "?page=2")]
        pages[1] = (pages[1][0], "another content")
        return advised(pages).get(("parameter", "page"))

    assert advice(20) is None
    assert not url_advice([(f"{SITE}{n}{q}", n) for n in range(4) for q in ("", "?a=1")]).advice
    told = advice(200)
    assert (told.agreed, told.compared) == (199, 200)
    assert told.counterexamples == ((f"{SITE}0?page=2", f"{SITE}0"),)
    assert 0.9 < told.confidence < 199 / 200


def test_what_repeats_another_repeats_one_that_stays():
    counts = {"a": 6, "b": 7, "c": 8, "d": 9}
    pages = [(f"{SITE}{folder}/{n}/x", n) for folder, count in counts.items() for n in range(count)]
    others = {a.name: a.other for a in url_advice(pages).advice if a.kind == "value"}
    assert others == {"/a/": "/d/", "/b/": "/d/", "/c/": "/d/"}


def test_what_is_no_url_of_the_web_is_left_out():
    pages = [("", 1), ("no url", 2), ("http://[", 3), ("ftp://a/b", 4), ("javascript:alert(1)", 5)]
    assert url_advice(pages).pages == 0


def test_what_several_things_are_said_of_is_not_known():
    pages = [(f"{SITE}{n}{query}", n) for n in range(9) for query in ("?a=1&b=2", "?a=1")]
    assert advised(pages)["parameter", "b"].agreed == 9
    assert advised([*pages, (f"{SITE}0?b=2&a=1", "another")]) == {}


@pytest.mark.slow
@pytest.mark.parametrize("part", ["/v{}", "/s{}", "&p{}=1"])
def test_urls_of_very_many_parts_of_any_kind_are_passed_over(part):
    many = "".join(part.format(number) for number in range(400))
    pages = [(f"http://a/{number}/x?{many}" if part[0] == "&" else f"http://a/{number}/x{many}/", 0)
             for number in range(1000)]  # fmt: skip
    start = process_time()
    kinds = {advice.kind for advice in url_advice(pages).advice}
    assert kinds <= {"value"}
    assert process_time() - start < 5


def test_if_there_are_too_many_parts_those_with_most_are_passed_over(monkeypatch):
    few = [(f"{SITE}{n}{query}", n) for n in range(9) for query in ("", "?a=1")]
    many = [(f"{SITE}{n}{query}", n) for n in range(9, 18) for query in ("?b=1&c=1", "?b=1&c=1&d")]
    for pages in (few + many, many + few):
        assert {name for _, name in advised(pages)} >= {"a", "d"}
    # Each URL has a slash: 9 with it alone, 9 with a, 9 with b and c, 9 with b, c and d.
    monkeypatch.setattr("dedup.url_advice.advice._MOST_PARTS_OF_ALL", 9 * (1 + 2 + 3))
    for pages in (few + many, many + few):
        assert [name for _, name in advised(pages)] == ["a"]


def test_many_forms_of_one_page_are_compared_with_each_other():
    """Eight near contents, each with the other ones."""
    pages = [(f"{SITE}{n}?ref={form}", (n, form)) for n in range(2) for form in range(8)]
    result = url_advice(pages, lambda pairs: [p for p in pairs if p[0][0] == p[1][0]])
    assert [(a.name, a.agreed, a.compared) for a in result.advice] == [("ref", 14, 14)]
