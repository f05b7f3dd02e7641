"""What a page says of itself in its head: title, description, language and canonical link."""

from typing import TYPE_CHECKING, NamedTuple

import regex

if TYPE_CHECKING:
    from lxml.html import HtmlElement


class Head(NamedTuple):
    """What the head of a page says, each of it ``None`` where the page does not."""

    title: str | None
    description: str | None
    language: str | None


def head_of(tree: "HtmlElement") -> Head:
    """Return what a page says of itself; its head may be anywhere, as in broken pages.

    Without XPath, which takes five times as long to begin with.
    """
    root = tree.getroottree().getroot()
    titles, descriptions, equivalents, locales = [], [], [], []
    for element in root.iter("title", "meta"):
        if element.tag == "title":
            titles.append(element)
            continue
        content = element.get("content")
        if content is None:
            continue
        if element.get("name", "").lower() == "description":
            descriptions.append(content)
        if element.get("http-equiv", "").lower() == "content-language":
            equivalents.append(content)
        if element.get("property") == "og:locale":
            locales.append(content)
    # SVG drawings have titles too, and may come first in a broken page.
    in_head = [
        one for one in titles if one.getparent() is not None and one.getparent().tag == "head"
    ]
    title = next((one.text for one in (*in_head[:1], *titles[:1]) if one.text), None)
    tags = (root.get("lang"), root.get("xml:lang"), *equivalents, *locales)
    languages = filter(None, map(primary_subtag, tags))
    return Head(one_line(title), one_line(next(iter(descriptions), None)), next(languages, None))


SEVERAL = ""
"""In place of a canonical link: what a page has that names several URLs, and so believably none."""


def canonical_link(tree: "HtmlElement") -> str | None:
    """Return the URL of the canonical link of a page as it is written, ``None`` without one.

    `SEVERAL` if it has different ones. What is not in the head, or within
    another element of it, is not asked: visitors may have written it.
    """
    head = tree.getroottree().getroot().find("head")
    links = () if head is None else head.iterchildren("link")
    urls = {
        url
        for link in links
        if (url := link.get("href", "").strip())
        and "canonical" in link.get("rel", "").lower().split()
    }
    return SEVERAL if len(urls) > 1 else next(iter(urls), None)


def primary_subtag(tag: str | None) -> str | None:
    """Return the language of *tag* as it begins there; ``None`` if it names none.

    Codes are not looked up: "de" and "deu" are two.

    >>> primary_subtag("en-US"), primary_subtag("zh_TW"), primary_subtag("x-default")
    ('en', 'zh', None)
    """
    match = _PRIMARY_SUBTAG.match(tag or "")
    language = match[1].lower() if match else None
    return None if language in _NO_LANGUAGES else language


_NO_LANGUAGES = "und", "mul", "zxx"  # undetermined, several, none: the text may tell more
_PRIMARY_SUBTAG = regex.compile(r"\A\s*([A-Za-z]{2,3})(?:[-_,;\s]|$)")


def one_line(text: str | None) -> str | None:
    """Return *text* with single blanks; ``None`` if there is none."""
    return " ".join(text.split()) or None if text else None
