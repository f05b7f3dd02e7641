"""Whether an item may be made of the text of the link that led a CrawlSpider to its page."""

from collections.abc import Callable, Iterable

from parsel import Selector

LINK_TEXT = "link_text"
"""The meta key under which a CrawlSpider keeps the text of a link."""

_SHORTEST_WORD = 3
# Nobody can tell which words of a longer value are those of the link.
_LONGEST_VALUE = 300


class LinkText:
    """The text of a link, in lower case and with single blanks.

    Any code may have read it, with or without the request: a callback, a middleware, a
    LinkExtractor. So what counts is whether an item has it, not who is seen to read it.
    """

    def __init__(self, text: str) -> None:
        self._text = text

    def is_used(self, values: Iterable[str], html: Callable[[], str]) -> bool:
        """Return whether one of *values*, of an item, may be made of it.

        The names that the page of *html* gives itself are not, though they may have its words.
        """
        found = {value for value in values if self._is_in(value)}
        return bool(found) and not found <= self._names(html())

    def _is_in(self, value: str) -> bool:
        text = self._text
        is_word = len(text) >= _SHORTEST_WORD and not text.isdecimal()
        return value == text or (is_word and len(value) <= _LONGEST_VALUE and text in value)

    def _names(self, html: str) -> set[str]:
        """Return what *html* calls itself: its title and its headline, if it has one of each.

        The title is none that is the very text: of two links to such pages, one may have the title
        and one the headline, and the item whichever it was.
        """
        page = Selector(html, type="html")
        title, headline = (_only(page, query) for query in ("/html/head/title", "//h1"))
        return {headline} if title == self._text else {title, headline}


def _only(page: Selector, query: str) -> str:
    """Return the text of the one element that *query* finds; "" if these are none, or several."""
    found = page.xpath(query).xpath("string()").getall()
    return " ".join(found[0].split()).casefold() if len(found) == 1 else ""
