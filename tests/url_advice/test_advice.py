"""What in URLs never changed the content; rules are tested with what they are for."""

import random
import re
from dataclasses import replace
from time import process_time

import pytest
from cases import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from scrapy.http import HtmlResponse
from scrapy.linkextractors import LinkExtractor

from dedup.url_advice import url_advice

SITE = "http://shop.example/"


def advised(pages):
    """The advice that is given, by kind and name."""
    return {(a.kind, a.name): a for a in url_advice(pages).advice if a.is_advised}


def followed_links(urls, deny):
    """The links that a link extractor leaves on a page that has *urls*."""
    body = "".join(f'<a href="{url.replace("&", "&amp;")}">link</a>' for url in urls)
    response = HtmlResponse("http://other.example/", body=body.encode())
    return [link.url for link in LinkExtractor(deny=deny).extract_links(response)]


PARTS = [
    # (the page n with the part, without it, kind and name)
    ("{n}?ref=home", "{n}", ("parameter", "ref")),
    ("{n}?amp=1", "{n}", ("parameter", "amp")),
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


@pytest.mark.slow
@pytest.mark.parametrize(("with_it", "without", "part"), PARTS)
def test_a_part_that_never_changed_the_content_is_found(with_it, without, part):
    pairs = [(SITE + with_it.format(n=n), SITE + without.format(n=n)) for n in range(6)]
    others = [(f"{SITE}other/{n}", f"other {n}") for n in range(6)]
    pages = [(url, n) for n, pair in enumerate(pairs) for url in pair] + others
    random.Random(1).shuffle(pages)
    result = advised(pages)
    if part[0] == "value" and part not in result:  # which of two folders stays is a matter of order
        part = next(key for key in result if key[0] == "value")
    advice = result[part]
    assert (advice.pages, advice.agreed, advice.compared, advice.alone) == (6, 6, 6, 0)
    assert not advice.counterexamples
    assert set(advice.examples) <= {*pairs, *((b, a) for a, b in pairs)}
    urls = [url for url, _ in pages]
    left = followed_links(urls, [advice.deny])
    assert len(left) == len(urls) - 6
    assert {group for url, group in pages if url in left} == {group for _, group in pages}


@pytest.mark.slow
@pytest.mark.parametrize("host", ["docs.example.com", "shop.example", "127.0.0.1:8000"])
def test_all_versions_in_a_place_may_be_one(host):
    versions = ["v1.0", "v1.1", "latest"]
    pages = [(f"http://{host}/docs/{v}/{n}/a", n) for n in range(6) for v in versions]
    pages += [(f"http://{host}/docs/guide/{n}/a", f"guide {n}") for n in range(6)]
    advice = advised(pages)["version", "/docs/{version}/"]
    assert (advice.pages, advice.agreed, advice.compared) == (18, 12, 12)
    assert advice.deny is None


def test_hosts_and_schemes_may_repeat_each_other():
    hosts = ["https://shop.example", "http://shop.example", "https://www.shop.example"]
    pages = [(f"{host}/a/{n}", n) for n in range(6) for host in hosts]
    result = advised(pages)
    assert {key for key in result if key[0] == "host"} == {
        ("host", "http://shop.example"),
        ("host", "https://shop.example"),
    }
    left = followed_links([url for url, _ in pages], [a.deny for a in result.values() if a.deny])
    assert left == [f"https://www.shop.example/a/{n}" for n in range(6)]


def test_one_page_that_differs_spoils_it():
    pages = [(f"{SITE}{n}{query}", n) for n in range(20) for query in ("", "?page=2")]
    pages[1] = (pages[1][0], "another content")
    (advice,) = url_advice(pages).advice
    assert not advice.is_advised
    assert (advice.agreed, advice.compared) == (19, 20)
    assert advice.counterexamples == ((f"{SITE}0?page=2", f"{SITE}0"),)
    assert advice.deny is None


def test_one_page_that_differs_among_very_many_is_told_and_not_denied():
    pages = [(f"{SITE}{n}{query}", n) for n in range(200) for query in ("", "?ref=2")]
    pages[1] = (pages[1][0], "another content")
    advice = advised(pages)["parameter", "ref"]
    assert 0.9 < advice.confidence < 199 / 200
    assert advice.deny is None


def test_four_pages_are_no_evidence():
    assert not url_advice([(f"{SITE}{n}{q}", n) for n in range(4) for q in ("", "?a=1")]).advice


def test_a_page_that_has_no_other_url_is_not_denied():
    pages = [(f"{SITE}{n}{query}", n) for n in range(9) for query in ("", "?ref=home")]
    advice = advised([*pages, (f"{SITE}only?ref=home", "only")])["parameter", "ref"]
    assert (advice.pages, advice.alone, advice.agreed) == (10, 1, 9)
    assert advice.deny is None


def test_a_page_without_another_form_is_not_denied_even_if_its_content_is_elsewhere():
    pages = [(f"{SITE}{n}{query}", n) for n in range(9) for query in ("", "?ref=home")]
    pages += [(f"{SITE}only?ref=home", "only"), (f"{SITE}elsewhere", "only")]
    assert advised(pages)["parameter", "ref"].deny is None


def test_what_repeats_another_repeats_one_that_stays():
    counts = {"a": 6, "b": 7, "c": 8, "d": 9}
    pages = [(f"{SITE}{folder}/{n}/x", n) for folder, count in counts.items() for n in range(count)]
    others = {a.name: a.other for a in url_advice(pages).advice if a.kind == "value"}
    assert others == {"/a/": "/d/", "/b/": "/d/", "/c/": "/d/"}


def test_sessions_that_are_in_every_url_are_told_by_their_values():
    pages = [(f"{SITE}{n}?sid={session}", n) for n in range(6) for session in "abc"]
    advice = advised(pages)["parameter", "sid"]
    assert (advice.compared, advice.agreed, advice.alone, advice.deny) == (12, 12, 18, None)


def test_a_regular_expression_bars_nothing_that_was_not_looked_at():
    pages = [(f"{SITE}{n}{q}", n) for n in range(9) for q in ("", "?utm_a=1&utm_b=2")]
    assert advised(pages)["parameters", "utm_a,utm_b"].deny
    pages += [(f"{SITE}x?utm_a=1", "another content")]
    assert advised(pages)["parameters", "utm_a,utm_b"].deny is None


def test_what_is_no_url_of_the_web_is_left_out():
    pages = [("", 1), ("no url", 2), ("http://[", 3), ("ftp://a/b", 4), ("javascript:alert(1)", 5)]
    assert url_advice(pages).pages == 0


def test_numbers_and_years_are_no_versions():
    pages = [(f"{SITE}blog/{year}/a/{n}", n) for year in ("2023", "2024") for n in range(9)]
    assert not [a for a in url_advice(pages).advice if a.kind == "version"]


SEGMENT = st.sampled_from(["a", "b", "v1.0", "v1.1", "latest", "index.html", ""])
URL = st.builds(
    lambda host, segments, query: f"{host}/{'/'.join(segments)}{query}",
    st.sampled_from(["http://x.io", "https://x.io", "http://www.x.io", "http://docs.x.io"]),
    st.lists(SEGMENT, min_size=1, max_size=3),
    st.sampled_from(["", "?a=1", "?a=2", "?b=1", "?a=1&b=2", "?a_x=1&a_y=2"]),
)


@st.composite
def crawls(draw):
    """URLs with contents that are numbers: those of two bits that differ in one are near."""
    urls = draw(st.lists(URL, unique=True, max_size=60))
    chooser = draw(st.randoms(use_true_random=False))
    contents = [*range(draw(st.integers(1, 4))), *[None] * draw(st.integers(0, 1))]
    return [(url, chooser.choice(contents)) for url in urls]


def near(pairs):
    return [pair for pair in pairs if (pair[0] ^ pair[1]).bit_count() == 1]


def are_same(one, other):
    return None not in (one, other) and (one == other or near([(one, other)]) != [])


@pytest.mark.slow
@settings(max_examples=examples(150), deadline=None)
@given(crawls(), st.randoms(use_true_random=False))
def test_advice_does_not_depend_on_the_order_of_the_pages(pages, random):
    result = url_advice(pages, near)
    random.shuffle(pages)
    assert url_advice(pages, near) == result


@pytest.mark.slow
@settings(max_examples=examples(150), deadline=None)
@given(crawls())
def test_denied_pages_leave_one_that_is_the_same(pages):
    result = url_advice(pages, near)
    deny = [re.compile(advice.deny) for advice in result.advice if advice.deny]
    left = [(url, content) for url, content in pages if not any(d.search(url) for d in deny)]
    for denied in set(pages) - set(left):
        assert any(are_same(denied[1], content) for _, content in left), denied
    assert len(pages) - len(left) == result.denied
    for advice in result.advice:
        assert advice.agreed <= advice.compared <= advice.pages + 1
        assert not advice.deny or advice.is_advised


def test_of_three_in_a_row_the_middle_one_may_stay_but_not_an_outer_one():
    def deny(folders):
        pages = [
            (f"{SITE}{folders[n % 3]}/{n // 3}", [0, 1, 3][n % 3] + n // 3 * 8) for n in range(27)
        ]
        return [a.name for a in url_advice(pages, near).advice if a.deny]

    assert deny(["v1", "v3", "v2"]) == ["/v1/", "/v2/"]
    assert deny(["v1", "v2", "v3"]) == ["/v2/"]


def test_what_several_things_are_said_of_is_not_known():
    pages = [(f"{SITE}{n}{query}", n) for n in range(9) for query in ("?a=1&b=2", "?a=1")]
    assert advised(pages)["parameter", "b"].deny
    assert advised([*pages, (f"{SITE}0?b=2&a=1", "another")]) == {}


def test_of_a_crawl_of_which_not_all_is_known_there_are_no_rules():
    pages = [(f"{SITE}{n}{query}", n) for n in range(9) for query in ("", "?ref=home")]
    [advice] = url_advice(pages).advice
    assert advice.deny
    [unsure] = url_advice(pages, with_rules=False).advice
    assert unsure == replace(advice, deny=None)


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


def test_where_nothing_is_advised_the_part_that_came_nearest_is_told():
    pages = [(f"{SITE}{n}{query}", n) for n in range(3) for query in ("", "?ref=home")]
    pages += [(f"{SITE}{n}?page=2", f"page 2 of {n}") for n in range(3)]
    told = url_advice(pages)
    assert told.advice == ()
    nearest = told.nearest
    assert (nearest.kind, nearest.name, nearest.agreed, nearest.compared) == (
        "parameter", "ref", 3, 3,
    )  # fmt: skip
    assert (nearest.is_advised, nearest.deny) == (False, None)


def test_nothing_came_near_where_no_content_was_ever_the_same_or_something_is_advised():
    different = [(f"{SITE}{n}{query}", f"{n}{query}") for n in range(9) for query in ("", "?a=1")]
    assert url_advice(different).nearest is None
    assert url_advice([]).nearest is None
    same = [(f"{SITE}{n}{query}", n) for n in range(9) for query in ("", "?a=1")]
    assert url_advice(same).nearest is None
