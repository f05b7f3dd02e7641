"""HTML tree and extracted text -> evidence: how far can the text be trusted?

Extraction may take a menu, a tag cloud or a box of recent posts for the main text. All such pages
are equal then, and what they are about is lost. So the extracted text is looked up in the page: how
much of what a reader sees does it cover, and does it stand in links?
"""

import re
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from dedup.evidence.evidence import (
    Evidence,
    digest_of_name,
    digest_of_title,
    digest_of_view,
)

if TYPE_CHECKING:
    from lxml.html import HtmlElement

Array = np.ndarray[Any, Any]


# Noncharacters of Unicode, which no text has that was meant to be read.
_MARKS = [chr(0xFDD0 + number) for number in range(6)]
_FIRST_OCTETS, _LAST_OCTET = _MARKS[0].encode()[:2], _MARKS[0].encode()[2]
_LINK, _LINK_END, _CHROME, _CHROME_END, _HEADLINE, _HEADLINE_END = range(6)
# Of a headline: chrome, the signs of links to its own place, and all other marks.
# In time by its length, also where somebody has written marks.
_NO_NAME = re.compile(
    rf"{_MARKS[_CHROME]}.*?(?:{_MARKS[_CHROME_END]}|\Z)"
    rf"|{_MARKS[_LINK]}[\s#\xb6\xa7\U0001f517]*{_MARKS[_LINK_END]}"
    f"|[{''.join(_MARKS)}]",
    re.DOTALL,
)
# A pattern that holds for elements of any name would take several times as long as all others.
_INVISIBLE = "script|style|noscript|template|title|svg|div[@hidden]"
_CHROME_TAGS = "nav|header|footer|aside|menu|select|button|textarea"
_CHROME_ROLES = "navigation banner contentinfo complementary search".split()
_HAS_CHROME_ROLE = "@role[" + " or ".join(f".='{role}'" for role in _CHROME_ROLES) + "]"
# Of related pages, as extraction leaves them out, too ("related-posts", "jpRelatedPosts").
_IS_RELATED = "contains(@class, 'elated')"
_OF_AN_ARTICLE = "|".join(
    f"{article}//{tag}"
    for article in ("main", "article")
    for tag in ("header", "footer", "aside", "select", "textarea")
)


@cache
def _text_with_marks() -> Any:
    """Return the function that gives a tree's visible text with marks in it: XSLT, so in C."""
    from lxml import etree

    def rule(match: str, mark: int | None = None, when: str = "", priority: int = 0) -> str:
        content = "<xsl:apply-templates/>"
        if mark is not None:
            content = f"{_MARKS[mark]}{content}{_MARKS[mark + 1]}"
        if when:  # in half the time that a condition in the pattern takes
            content = (
                f'<xsl:choose><xsl:when test="{when}">{content}</xsl:when>'
                "<xsl:otherwise><xsl:apply-templates/></xsl:otherwise></xsl:choose>"
            )
        return f'<xsl:template match="{match}" priority="{priority}">{content}</xsl:template>'

    return etree.XSLT(
        etree.XML(
            '<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">'
            '<xsl:output method="text" encoding="UTF-8"/>'
            f'<xsl:template match="{_INVISIBLE}" priority="3"/>'
            f"{rule(_OF_AN_ARTICLE, priority=2)}"
            f"{rule(_CHROME_TAGS, _CHROME, priority=1)}"
            f"{rule('div', _CHROME, f'{_HAS_CHROME_ROLE} or {_IS_RELATED}')}"
            f"{rule('ul', _CHROME, _HAS_CHROME_ROLE)}"
            f"{rule('section', _CHROME, _IS_RELATED)}"
            f"{rule('a', _LINK, '@href')}"
            f"{rule('h1', _HEADLINE)}"
            "</xsl:stylesheet>"
        )
    )


_NO_LETTERS = bytes(code for code in range(128) if not chr(code).isalnum())
_NO_LETTERS_OF_A_LINE = _NO_LETTERS.replace(b"\n", b"")
# The other blanks that pages have, the soft hyphen, and the bullet: extraction keeps some of them,
# and resiliparse writes bullets.
_BLANKS = [code.encode() for code in "\u00a0\u00ad\u200b\u3000\u202f\u2009\ufeff\u200e\u2022"]


def _squeeze(data: bytes, without: bytes = _NO_LETTERS) -> bytes:
    """Return UTF-8 text without blanks and ASCII punctuation: extraction changes both.

    The signs and points of numbers are kept, as bytes that UTF-8 does not have.
    """
    octets = np.frombuffer(data, np.uint8)
    # Of eight bits: what is below wraps around. What is last has nothing after it.
    places = np.flatnonzero(octets[:-1] - ord("+") < len(_OF_NUMBERS))
    is_sign = octets[places] % 2 == ord("+") % 2
    is_before_digit = octets[places + 1] - ord("0") < 10
    is_after_digit = (octets[places - 1] - ord("0") < 10) & (places > 0)
    of_number = places[is_before_digit & (is_sign | is_after_digit)]
    if len(of_number):
        octets = octets.copy()
        octets[of_number] += _NOT_IN_UTF8
        data = octets.tobytes()
    data = data.translate(None, without)
    if not data.isascii():
        for blank in _BLANKS:
            data = data.replace(blank, b"")
    return data


_OF_NUMBERS = "+,-."  # which follow one another: signs and points in turn
_NOT_IN_UTF8 = 0xF8 - ord("+")


class VisibleText:
    """The visible text of a page, in segments between marks.

    All text of the page counts that is not in a script, style, title or the like, whether a style
    sheet shows it or not. Chrome is what stands in nav, header, footer, aside, menu, select, button
    and textarea, and by role, and in a div or section whose class says "related"; of a main or
    article, only its nav, menus, buttons and these. If more text stands there than elsewhere, links
    there left out, the page has none: its author means something else by these tags.
    """

    def __init__(self, tree: "HtmlElement") -> None:
        """Read *tree*, in one pass in C; it is not changed, and may be taken apart then."""
        marked = self._marked = bytes(_text_with_marks()(tree))
        octets = np.frombuffer(_squeeze(marked), np.uint8)
        first, second = _FIRST_OCTETS
        places = np.flatnonzero(octets[:-2] == first)
        places = places[octets[places + 1] == second]
        marks = octets[places + 2] - _LAST_OCTET
        is_mark = marks < len(_MARKS)
        places, self._marks = places[is_mark], marks[is_mark]
        is_text = np.ones(len(octets), np.bool_)
        for offset in range(3):
            is_text[places + offset] = False
        self.text = octets[is_text].tobytes()
        # Where each segment begins, and the end of the last one.
        inner = places - 3 * np.arange(len(places))
        self._bounds = np.concatenate(([0], inner, [len(self.text)]))
        self._lengths = self._bounds[1:] - self._bounds[:-1]
        self._is_link = self._is_between(_LINK, _LINK_END)
        self._is_chrome = self._is_between(_CHROME, _CHROME_END)

    def _is_between(self, opening: int, closing: int) -> Array:
        """Return of each segment whether it is after an *opening* mark and before its *closing*."""
        steps = (self._marks == opening).astype(np.int32) - (self._marks == closing)
        return np.concatenate(([False], np.cumsum(steps) > 0))

    def evidence(self, text: str, title: str | None) -> Evidence:
        """Return the evidence of the page, of which *text* and *title* were extracted.

        *coverage* is the share of the text outside of links and chrome that *text* covers. If at
        least half of *text* stands in links or chrome, it is a list of links, or a menu; then it is
        also at most the share of the text outside of chrome that it covers, links included, and the
        share of *text* that stands there. It is 1 for a page without any such text. The headline is
        the first h1 with text outside of links and chrome. Takes one pass over the text.
        """
        found = self._places_of(_squeeze(text.encode("utf-8", "replace"), _NO_LETTERS_OF_A_LINE))
        total = int((found[:, 1] - found[:, 0]).sum())
        own = ~self._is_link & ~self._is_chrome
        if self._length(self._is_chrome & ~self._is_link) > self._length(~self._is_chrome):
            self._is_chrome = np.zeros(len(own), np.bool_)
            own = ~self._is_link
        own_length, own_found = self._length(own), self._length_within(found, own)
        coverage = own_found / own_length if own_length else 1.0
        is_list = own_found <= total / 2
        outside = ~self._is_chrome
        size = self._length(outside)
        if is_list and size:
            found_outside = self._length_within(found, outside)
            coverage = min(coverage, found_outside / size, found_outside / max(total, 1))
        view = digest_of_view(self._join(outside))
        names = digest_of_title(title or ""), self._headline(own)
        return Evidence(coverage, view, size, *names, is_list and total > 0)

    def _length(self, segments: Array) -> int:
        return int(self._lengths[segments].sum())

    def _length_within(self, found: Array, segments: Array) -> float:
        """Return how much of *found*, places of shape (n, 2), lies in *segments*, as booleans."""
        until = np.concatenate(([0], np.cumsum(self._lengths * segments)))
        # Bounds may be equal; between two that are not, it is exact.
        ends = np.interp(found, self._bounds, until)
        return float((ends[:, 1] - ends[:, 0]).sum())

    def _join(self, segments: Array) -> bytes:
        flags = np.zeros(len(segments) + 2, np.bool_)
        flags[1:-1] = segments
        places = self._bounds[np.flatnonzero(flags[1:] != flags[:-1])].tolist()
        return b"".join(
            self.text[start:end] for start, end in zip(places[::2], places[1::2], strict=True)
        )

    def _headline(self, own: Array) -> bytes:
        """Return the digest of the first headline of which something is the page's *own*."""
        beginnings = np.flatnonzero(self._marks == _HEADLINE).tolist()
        for number, start in enumerate(beginnings, 1):
            end = start + int((self._marks[start:] == _HEADLINE_END).argmax())
            if self._lengths[start + 1 : end + 1][own[start + 1 : end + 1]].any():
                after = self._marked.split(_MARKS[_HEADLINE].encode(), number)[number]
                headline = after.partition(_MARKS[_HEADLINE_END].encode())[0]
                return digest_of_name(_NO_NAME.sub("", headline.decode("utf-8", "replace")))
        return b""

    def _places_of(self, lines: bytes) -> Array:
        """Return where *lines* stand in the text, sorted, without overlaps, shape (n, 2).

        Each is looked for from the end of the one before it, then from the beginning; of those that
        are not found as a whole, pieces. Takes time by the length of the text: when the search has
        gone over so much, the rest counts as not found.
        """
        text, found, place = self.text, [(0, 0)], 0
        left = _SEARCHED + 20 * len(text)
        todo = [line for line in reversed(lines.split(b"\n")) if line]
        while todo and left > 0:
            line = todo.pop()
            start = text.find(line, place)
            left -= (start if start >= 0 else len(text)) - place
            if start < 0:
                start = text.find(line, 0, place)
                left -= start if start >= 0 else place
            if start >= 0:
                place = start + len(line)
                found.append((start, place))
            elif len(line) > _PIECE:
                todo += reversed([line[at : at + _PIECE] for at in range(0, len(line), _PIECE)])
        return _merge(found)


_SEARCHED = 1 << 20
_PIECE = 48


def _merge(places: Sequence[tuple[int, int]]) -> Array:
    starts, ends = np.array(sorted(places)).T
    ends = np.maximum.accumulate(ends)
    starts[1:] = np.maximum(starts[1:], ends[:-1])
    return np.stack((starts, np.maximum(starts, ends)), axis=1)
