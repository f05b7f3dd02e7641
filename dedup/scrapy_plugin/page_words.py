"""Which words of a text do not come from a page."""

import re
from collections import Counter
from html import unescape

_WORD = re.compile(r"\w+")
# Tags that do not end a word.
_INLINE = re.compile(
    r"</?(?:a|abbr|b|bdi|code|em|font|i|mark|q|s|small|span|strong|sub|sup|u|wbr)(?:\s[^<>]*+)?>"
)


class PageWords:
    """The words of a page, wherever they stand in it."""

    def __init__(self, html: str) -> None:
        self._text = unescape(html).casefold()
        self._words = Counter(_WORD.findall(self._text))
        self._words_with_tags: Counter[str] | None = None

    def others(self, text: str) -> list[str]:
        """Return those words of *text*, in lower case, that it has more often than the page."""
        words = Counter(_WORD.findall(text))
        if others := words - self._words:
            if self._words_with_tags is None:
                self._words_with_tags = Counter(_WORD.findall(_INLINE.sub("", self._text)))
            others &= words - self._words_with_tags
        return sorted(others.elements())
