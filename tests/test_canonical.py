"""The URL that a page names as its canonical one."""

import pytest
from cases import each

from dedup.canonical import canonical_of
from dedup.extraction.extractors import parse
from dedup.extraction.head import canonical_link

BASE = "http://a.example/print/tea.html"


def of(head: str, body: str = "", **options):
    return of_page(f"<!doctype html><html><head>{head}</head><body>{body}", **options)


def of_page(html: str, **options):
    return canonical_of(canonical_link(parse(html)), BASE, **options)


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
    assert canonical_of(None, BASE, [header]) == "http://a.example/tea"


@each(
    "head",
    [
        "",
        '<link rel="canonical" href="">',
        '<link rel="canonical" href="javascript:void(0)">',
        '<link rel="canonical" href="http://[::1/tea">',
        f'<link rel="canonical" href="/{"x" * 3000}">',
        '<!-- <link rel="canonical" href="/tea"> -->',
        """<script>var s = '<link rel="canonical" href="/tea">'</script>""",
        '<noscript><link rel="canonical" href="/tea"></noscript>',
        '<template><link rel="canonical" href="/tea"></template>',
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


@each(
    "page",
    [
        "<html><head></head><body>{}",
        "<html><body><p>Text</p><head>{}</head>",
        "<html><head></head><body></body></html>{}",
        "<html><head></head><body></body></html><html><head>{}</head></html>",
        "<p>Text</p><html><head>{}</head>",
        "<html><head><title>A</title></head><svg><head>{}</head></svg>",
    ],
)  # fmt: skip
def test_what_visitors_may_have_written_names_none(page):
    assert of_page(page.format('<link rel="canonical" href="/tea">')) is None


@each(
    "page",
    [
        "{}<p>Text",
        "<html>{}<body>",
        "<title>Tea</title>{}<p>Text",
    ],
)
def test_a_head_may_have_no_tags(page):
    assert of_page(page.format('<link rel="canonical" href="/tea">')) == "http://a.example/tea"
