"""HTML or text -> page: what the detector needs to know of it. This is the CPU work of a crawl."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import regex
import xxhash

from dedup.extraction import Extraction, Extractor, text_of_fragment
from dedup.methods import Method
from dedup.text import Document, without_surrogates


@dataclass(frozen=True, slots=True)
class Page:
    """A page reduced to its main text, and that to what is compared.

    *text* is ``None`` where it was not kept; *digest* is the 16-byte digest of the normalised text,
    ``None`` for an empty one; *sketch* is the method's, ``None`` where the text has too little
    content; *seconds* is what each stage took.
    """

    text: str | None
    title: str | None
    language: str | None
    tokens: int
    digest: bytes | None
    sketch: Any | None
    seconds: dict[str, float] = field(default_factory=dict, compare=False)


class PageReader:
    """Reads pages with one extractor and one method."""

    def __init__(self, extractor: Extractor, method: Method) -> None:
        self._extractor = extractor
        self._method = method

    def read_html(self, html: str) -> Page:
        """Return the page of a whole HTML document."""
        seconds: dict[str, float] = {}
        with _timed(seconds, "extraction"):
            extracted = self._extractor(without_surrogates(html))
            if not isinstance(extracted, Extraction):
                extracted = Extraction(extracted or "")
        return self._page(extracted, seconds)

    def read_field(self, value: str) -> Page:
        """Return the page of an item's field: a whole HTML document, an HTML fragment, or text.

        A fragment was cut out by the spider, so all of its text is main text.
        """
        if _HTML_DOCUMENT.search(value):
            return self.read_html(value)
        seconds: dict[str, float] = {}
        with _timed(seconds, "extraction"):
            is_html = _HTML_TAG.search(value)
            text = text_of_fragment(without_surrogates(value)) if is_html else value
        return self._page(Extraction(text), seconds)

    def _page(self, extracted: Extraction, seconds: dict[str, float]) -> Page:
        with _timed(seconds, "tokens"):
            document = Document.from_main_text(extracted.text)
            tokens = len(document.tokens)
        with _timed(seconds, "sketch"):
            digest = xxhash.xxh3_128_digest(document.text.encode()) if document.text else None
            sketch = self._method.sketch(document)
        return Page(
            extracted.text, extracted.title, extracted.language, tokens, digest, sketch, seconds
        )


_HTML_DOCUMENT = regex.compile(r"<(?:!doctype\s+html|html|body)\b", regex.IGNORECASE)
# Only tags that content is made of: "vector<int>" and "a <b and c> d" are text.
_HTML_TAG = regex.compile(
    r"</?(?:p|br|div|span|a|ul|ol|li|table|tr|td|h[1-6]|em|strong|b|i|img|hr|pre|code|figure"
    r"|blockquote|article|section|main)(?:\s+[\w:-]+\s*=[^<>]*)?\s*/?>",
    regex.IGNORECASE,
)


@contextmanager
def _timed(seconds: dict[str, float], stage: str) -> Iterator[None]:
    start = perf_counter()
    try:
        yield
    finally:
        seconds[stage] = perf_counter() - start
