from cases import each
from lxml import html

from dedup.extraction.head import Head, head_of

META = "<meta {} content={}>".format
DRAWING = "<svg><title>{}</title></svg>".format


@each(
    ("markup", "head"),
    [
        ("", Head(None, None, None)),
        ("<title> A \n title</title>", Head("A title", None, None)),
        ("<title></title>", Head(None, None, None)),
        (f"<title>A</title><body>{DRAWING('b')}", Head("A", None, None)),
        (f"<title></title><body>{DRAWING('b')}", Head(None, None, None)),
        (f"<body>{DRAWING('b')}{DRAWING('c')}", Head("b", None, None)),
        (META("name=Description", "' a\n b '"), Head(None, "a b", None)),
        ("<meta name=description>" + META("name=description", "a"), Head(None, "a", None)),
        (META("name=description", "''") + META("name=description", "a"), Head(None, None, None)),
        (f"<body><p>{META('name=description', 'a')}", Head(None, "a", None)),
        (META("name=twitter:description", "a"), Head(None, None, None)),
        (META("http-equiv=Content-Language", "it"), Head(None, None, "it")),
        (META("http-equiv=content-language", "x") + META("property=og:locale", "nl"),
         Head(None, None, "nl")),
        (META("property=og:locale", "nl") + META("http-equiv=content-language", "it"),
         Head(None, None, "it")),
    ],
)  # fmt: skip
def test_a_page_says_what_it_is_in_its_head(markup, head):
    assert head_of(html.document_fromstring(f"<html>{markup}<p>Text</p>")) == head


def test_a_head_is_found_from_within_its_page():
    page = html.document_fromstring("<html lang=de><title>A</title><p>Text</p>")
    assert head_of(page.find(".//p")) == head_of(page) == Head("A", None, "de")
