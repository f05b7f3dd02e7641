from dataclasses import replace
from hashlib import blake2b

import pytest
from cases import each

from dedup.evidence import Evidence
from dedup.extraction import Extraction, resiliparse, trafilatura
from dedup.methods import SimHash
from dedup.page import Page, PageReader
from dedup.record import PageRecord
from dedup.text import Document

TEXT = (
    "Goats can open a latch, so the gate at Ransome's Piece has two, and a chain. Forty animals "
    "give about ninety litres a day in May and none in December."
)
HTML = f"<!doctype html><html lang='en'><title>Goats</title><body><p>{TEXT}</p></body></html>"


@pytest.fixture
def reader():
    return PageReader(trafilatura, SimHash())


def page_of(text, title=None, language=None):
    """The page that a reader has to make of an extracted text, stage by stage."""
    normalised = " ".join(text.lower().split())
    words = "".join(c if c.isalnum() else " " for c in normalised).split()
    digest = blake2b(normalised.encode(), digest_size=16).digest()
    sketch = PageReader(lambda html: html, SimHash()).read_html(" ".join(words)).record.sketch
    return Page(PageRecord("", "", len(words), digest, sketch), text, title, language)


def test_a_document_is_read_with_its_title_and_language(reader):
    read = reader.read_html(HTML)
    without = read.record._replace(evidence=None)
    assert replace(read, record=without) == page_of(TEXT, "Goats", "en")
    assert Evidence.from_bytes(read.record.evidence).coverage == 1


@each("text", [TEXT, "กรุงเทพมหานคร เป็นเมืองหลวง"])
def test_a_record_has_the_words_of_its_document(reader, text):
    count = Document.from_main_text(text).word_count
    read = [reader.read_field(text), *reader.read_texts([text])]
    assert [page.record.tokens for page in read] == [count] * 2


def test_a_method_that_simplifies_chinese_has_the_title_simplified_too():
    reader = PageReader(trafilatura, SimHash().simplifying_chinese())
    pages = (f"<title>{title}</title><p>{TEXT}" for title in ("迁徙", "遷徙"))
    one, other = (reader.read_html(page).evidence.title for page in pages)
    assert one == other != b""


@pytest.mark.parametrize("result", [TEXT, Extraction(TEXT)])
def test_an_extractor_may_return_a_bare_string(result):
    assert PageReader(lambda html: result, SimHash()).read_html("<p>") == page_of(TEXT)


@pytest.mark.parametrize("result", [None, "", Extraction("")])
def test_an_extractor_may_find_nothing(result):
    page = PageReader(lambda html: result, SimHash()).read_html(HTML)
    assert page == Page(PageRecord(), "")


def test_text_without_words_has_a_digest_and_no_sketch():
    page = PageReader(lambda html: "?!", SimHash()).read_html("")
    assert page.record == PageRecord(digest=blake2b(b"?!", digest_size=16).digest())


@pytest.mark.parametrize("value", [HTML, f"<body class=x><nav>Home</nav><p>{TEXT}</p></body>"])
def test_a_field_with_a_whole_document_is_extracted(reader, value):
    assert reader.read_field(value) == reader.read_html(value)


@pytest.mark.parametrize(
    "value",
    [
        f"<p>{TEXT}</p>",
        f"<div class='body'><P\nid=x>{TEXT}</P></div>",
        f"{TEXT}<br>",
        f"<script>var x;</script><h2>{TEXT}</h2>",
    ],
)
def test_a_field_with_a_fragment_is_read_whole(reader, value):
    page = reader.read_field(value)
    assert " ".join(page.text.split()) == TEXT
    assert page.record == page_of(TEXT).record


@pytest.mark.parametrize("beginning", ["<!doctype h\tml>", "<!doctypehtml><html>", "<!dochtml>"])
def test_a_field_whose_document_type_is_broken_is_read(reader, beginning):
    page = reader.read_field(f"{beginning}<body><p>{TEXT}</p></body></html>")
    assert " ".join(page.text.split()) == TEXT


@pytest.mark.parametrize(
    "value",
    [
        TEXT,
        "vector<int> and a < b",
        "if a <b and c> d: pass",
        "Dear <name>, mail <me@example.com> or see <https://example.com>",
        "<bodyguard> <preface> <aside-note> </>",
        "",
    ],
)
def test_a_field_with_text_stays_text(reader, value):
    assert reader.read_field(value).text == value


@pytest.mark.parametrize("extractor", [trafilatura, resiliparse])
@pytest.mark.parametrize("markup", ["{}", "<p>{}</p>", "<html><body><p>{}</p></body></html>"])
def test_text_after_an_unpaired_surrogate_is_read(extractor, markup):
    value = markup.format(f"{TEXT} \ud83d And a goat.")
    page = PageReader(extractor, SimHash()).read_field(value)
    assert page.text.split()[-3:] == ["And", "a", "goat."]


@each(
    ("url", "words"),
    [
        ("http://a/lamps/small-lamp.html?of=goats", ["lamps", "smalllamp"]),
        ("/classSmallLamp_2", ["smalllamp"]),
        ("/small_of_lamp", ["small", "lamp"]),
        ("/SMALL%20LAMPS", ["small", "lamps"]),
        ("/stable/v1.2/lamp", ["lamp"]),  # no version
        ("/a/of/lamp.small", ["lamp"]),  # too short, an extension
        ("/lamps/x1/301-2024", ["lamps", "3012024"]),
        ("/later", []),  # not at the beginning
        ("/%E5%B0%8F%E7%81%AF%E5%85%B7", ["小灯具"]),
        ("http://[/lamp", []),
        ("/" + "lamp/" * 9000, ["lamp"]),
        ("", []),
    ],
)
def test_the_words_of_its_url_with_which_a_page_begins_are_evidence(reader, url, words):
    text = f"Stable lamps: SMALL-lamp (小灯具) X1, 301/2024, of html. {TEXT} {TEXT} {TEXT}. Later."
    page = reader.read_html(f"<html><title>Lamps</title><body><p>{text}</p></body></html>")
    evidence = page.evidence.with_words(words).to_bytes()
    expected = page.record.under(url, "scope")._replace(evidence=evidence)
    assert page.under(url, "scope") == expected


def test_of_a_text_alone_and_of_a_page_that_was_read_before_nothing_is_said_of_urls(reader):
    [text] = reader.read_texts(["A small lamp"])
    assert text.under("/lamp") == text.record._replace(key="/lamp")
    page = replace(reader.read_html("<html><p>A small lamp</p></html>"), text=None)
    assert page.under("/lamp") == page.record._replace(key="/lamp")


def test_many_texts_are_read_as_each_alone():
    texts = [TEXT, "", "北京大学 and \ud800", TEXT.upper(), "?!"]
    reader = PageReader(lambda html: html, SimHash())
    pages = reader.read_texts(texts)
    assert pages == [replace(reader.read_html(text), language=None) for text in texts]
    assert pages[2].text == "北京大学 and \ufffd"
