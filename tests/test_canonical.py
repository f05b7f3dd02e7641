"""The URL that a page names as its canonical one."""

import time

import pytest
from cases import each

from dedup.canonical import canonical_of

BASE = "http://a.example/print/tea.html"


def of(head: str, body: str = "", **options):
    return canonical_of(f"<!doctype html><html><head>{head}</head><body>{body}", BASE, **options)


@each(
    "link",
    [
        '<link rel="canonical" href="http://a.example/tea?x=1&amp;y=2">',
        "<link href='/tea?x=1&y=2' rel='canonical' />",
        "<LINK REL=Canonical HREF=/tea?x=1&y=2>",
        '<link data-rh="true" rel="alternate canonical" href=" ../tea?x=1&amp;y=2#top ">',
        '<title>Tea > water</title><link\nrel = "canonical"\nhref = "/tea?x=1&y=2">',
    ],
)  # fmt: skip
def test_a_link_element_names_it(link):
    assert of(link) == "http://a.example/tea?x=1&y=2"


@pytest.mark.parametrize(
    "header",
    [
        '<http://a.example/tea>; rel="canonical"',
        '</tea>;rel=canonical; type="text/html"',
        '</next>; rel="next", </tea>; title="a, <b>"; rel="canonical"',
    ],
)
def test_a_link_header_names_it(header):
    assert canonical_of("", BASE, [header]) == "http://a.example/tea"


@each(
    "head",
    [
        "",
        '<link rel="alternate" href="/tea">',
        '<link rel="canonical">',
        '<link rel="canonical" href="">',
        '<link rel="canonical" href="javascript:void(0)">',
        '<link rel="canonical" href="http://[::1/tea">',
        f'<link rel="canonical" href="/{"x" * 3000}">',
        '<!-- <link rel="canonical" href="/tea"> -->',
        """<script>var s = '<link rel="canonical" href="/tea">'</script>""",
    ],
)
def test_what_names_none(head):
    assert of(head) is None


def test_a_page_that_names_two_names_none():
    tea = '<link rel="canonical" href="/tea">'
    assert of(tea + tea) == "http://a.example/tea"
    assert of(tea + '<link rel="canonical" href="/coffee">') is None
    assert of(tea, link_headers=['</coffee>; rel="canonical"']) is None
    assert of(tea, link_headers=['</tea>; rel="canonical"']) == "http://a.example/tea"


def test_what_visitors_may_have_written_names_none():
    assert of("", '<link rel="canonical" href="/tea">') is None


@pytest.mark.alone
@each(
    "part", ["<link ", "<link rel=canonical ", "<!--", "<script ", "a=", "<link rel='", '";rel='],
)  # fmt: skip
def test_hostile_heads_take_time_by_their_length(part):
    def seconds(length: int) -> float:
        html = ("canonical" + part * length)[:length]
        begin = time.process_time()
        canonical_of(html, BASE, [html])
        return time.process_time() - begin

    assert seconds(200_000) < 40 * seconds(20_000) + 0.2
