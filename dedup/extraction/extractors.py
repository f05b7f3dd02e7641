"""HTML -> main text, title and language."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import regex

from dedup.evidence import Evidence, VisibleText, digest_of_view
from dedup.extraction.head import canonical_link, head_of, one_line, primary_subtag
from dedup.extraction.own_trafilatura import own_trafilatura
from dedup.text import to_utf8

if TYPE_CHECKING:
    from lxml.html import HtmlElement


@dataclass(frozen=True, slots=True)
class Extraction:
    """The main text of a page ("" if there is none), its title, language and description.

    *language* is the primary language subtag that the page declares ("en", "zh"), else the one that
    the text implies, else ``None``. *description* is the page's meta description. *evidence* says
    how far the text can be trusted; ``None`` if nobody has seen the page. *canonical* is the URL of
    its canonical link, as it is written there.
    """

    text: str
    title: str | None = None
    language: str | None = None
    description: str | None = None
    evidence: Evidence | None = None
    canonical: str | None = None


Extractor = Callable[[str], "Extraction | str | None"]
"""Extracts the main text from the HTML of a page; may return a bare string or ``None``."""


def trafilatura(html: str) -> Extraction:
    """Extract with trafilatura in its fast mode, without comments.

    Where that finds next to nothing of the page, its slow mode is tried, too.

    Must not run in a thread: lxml crashes there (https://github.com/adbar/trafilatura/issues/840).
    """
    library = own_trafilatura()
    tree = parse(html)
    if tree is None:
        return Extraction("")
    title, description, language = head_of(tree)
    canonical = canonical_link(tree)
    evidence_of_text = evidence_reader(tree, html, title)  # before the tree is taken apart
    # Never deduplicate=True: its cache is global, and a page's 4th extraction returns nothing.
    text = library.extract(tree, fast=True, include_comments=False) or ""
    evidence = evidence_of_text(text)
    if evidence.coverage < _NEXT_TO_NOTHING and not evidence.is_list:
        wider = library.extract(parse(html), fast=False, include_comments=False) or ""
        if len(wider) >= _MUCH_MORE * max(len(text), _SHORT):
            wider_evidence = evidence_of_text(wider)
            if wider_evidence.weakness is None:
                text, evidence = wider, wider_evidence
    language = language or language_of_text(text)
    return Extraction(text, title, language, description, evidence, canonical)


# On pages with a known main text, each of these three keeps right texts from being replaced: of a
# page with long comments, of a list of posts, of a template that is nearly empty.
_NEXT_TO_NOTHING = 0.1
_MUCH_MORE = 10
_SHORT = 100


def parse(html: str) -> "HtmlElement | None":
    """Return the tree of a page, with an html element as its root; ``None`` if it is blank.

    Where the page has none, trafilatura refuses it or takes a part for the whole, so one is added.
    """
    if not html.strip():
        return None
    tree = own_trafilatura().load_html(html)
    if tree is None or tree.tag != "html":
        tree = own_trafilatura().load_html(f"<html><body>{html}")
    return tree


def resiliparse(html: str) -> Extraction:
    """Extract with resiliparse, which is faster and rougher than trafilatura."""
    from resiliparse.extract.html2text import extract_plain_text
    from resiliparse.parse.html import HTMLTree

    tree = HTMLTree.parse(html)
    text = extract_plain_text(tree, main_content=True, alt_texts=False, comments=False)
    root = tree.document.query_selector("html") if tree.document else None
    language = primary_subtag(root.getattr("lang") if root else None)
    meta = tree.document.query_selector('meta[name="description" i]') if tree.document else None
    description = one_line(meta.getattr("content") if meta else None)
    language = language or language_of_text(text)
    title = one_line(tree.title)
    parsed = parse(html)
    if parsed is None:
        return Extraction(text, title, language, description)
    evidence = evidence_reader(parsed, html, title)(text)
    return Extraction(text, title, language, description, evidence, canonical_link(parsed))


def evidence_reader(tree: "HtmlElement", html: str, title: str | None) -> Callable[[str], Evidence]:
    """Return what gives the evidence of a page for any text, whatever becomes of its *tree*."""
    visible = VisibleText(tree)
    parser = tree.getroottree().parser
    is_whole = parser is None or not parser.error_log.filter_from_fatals()

    def evidence_of_text(text: str) -> Evidence:
        evidence = visible.evidence(text, title)
        if is_whole:
            return evidence
        # Of elements within some 250 others, nobody has seen anything.
        view = digest_of_view(to_utf8(html))
        return evidence._replace(coverage=0.0, view=view, is_list=False)

    return evidence_of_text


EXTRACTORS: dict[str, Extractor] = {"trafilatura": trafilatura, "resiliparse": resiliparse}
"""The extractors by the names in settings, which are also those of their libraries."""


def text_of_fragment(html: str) -> str:
    """Return all visible text of an HTML fragment, such as the article body in an item's field.

    Control characters become blanks, including those written as character references.
    """
    from lxml import etree
    from lxml import html as lxml_html

    parser = lxml_html.HTMLParser(
        huge_tree=True
    )  # without it, content nested deeper than 255 is lost
    # A body around it makes any input a tree. Not fragment_fromstring: it treats input that begins
    # with "<!doctype" as a document, and finds no body in some broken ones.
    root = etree.fromstring(f"<html><body>{_CONTROL_CHARACTERS.sub(' ', html)}", parser)
    etree.strip_elements(root, "script", "style", "noscript", "template", with_tail=False)
    text: list[str] = []
    for event, element in etree.iterwalk(root, ("start", "end", "comment", "pi")):
        if element.tag not in _INLINE_TAGS:
            text.append("\n")
        text.append((element.text if event == "start" else element.tail) or "")
    return _CONTROL_CHARACTERS.sub(" ", "".join(text))


_CONTROL_CHARACTERS = regex.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_INLINE_TAGS = frozenset(
    "a abbr b bdi bdo big cite code data del dfn em font i ins kbd mark q rb ruby s samp small "
    "span strike strong sub sup time tt u var wbr".split()
)


_LANGUAGE_OF_SCRIPT = {
    "ja": regex.compile(r"[\p{Hiragana}\p{Katakana}]"),
    "zh": regex.compile(r"\p{Han}"),
    "ko": regex.compile(r"\p{Hangul}"),
    "th": regex.compile(r"\p{Thai}"),
    "el": regex.compile(r"\p{Greek}"),
    "he": regex.compile(r"\p{Hebrew}"),
}
_LETTER = regex.compile(r"\p{L}")
_NO_ASCII_LETTERS = bytes(code for code in range(128) if not chr(code).isalpha())
_COMMON_IN_ENGLISH = "the", "of", "and"


def language_of_text(text: str) -> str | None:
    """Return the language that the first 2,000 characters imply, if any.

    By the script, where it belongs to (nearly) one language, so not the Latin, Cyrillic and Arabic
    ones: a fifth of the letters is enough, since terms in Latin letters are common. English is what
    has "the", "of" and "and" for one of 20 words, and 20 words at least: other languages quote it.

    >>> language_of_text("我们在北京"), language_of_text("We are in Peking")
    ('zh', None)
    """
    beginning = text[:2000]
    ascii_only = beginning.encode("ascii", "ignore")
    # The rest of most texts is quotation marks and the like: too few to be a fifth of the letters.
    if 5 * (len(beginning) - len(ascii_only)) > len(ascii_only.translate(None, _NO_ASCII_LETTERS)):
        letters = len(_LETTER.findall(beginning))
        for language, script in _LANGUAGE_OF_SCRIPT.items():
            if len(script.findall(beginning)) > letters / 5:
                return language
    words = beginning.lower().split()
    common = sum(map(words.count, _COMMON_IN_ENGLISH))
    return "en" if len(words) >= 20 and 20 * common >= len(words) else None
