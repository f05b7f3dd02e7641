"""HTML or text -> page: what the detector needs to know of it. This is the CPU work of a crawl."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from html import unescape
from time import perf_counter
from typing import Any
from urllib.parse import unquote

import regex

from dedup.evidence import Evidence
from dedup.extraction import Extraction, Extractor, text_of_fragment
from dedup.limits import split_url
from dedup.lost_text import Sequences, sequences_of, sure_halvings
from dedup.methods.base import Method
from dedup.numbers import numbers_in
from dedup.preference import is_version
from dedup.record import PageRecord
from dedup.text import Document, count_words, simplify, without_surrogates
from dedup.words import Documents


@dataclass(frozen=True, slots=True)
class Page:
    """A page as it was read: its record, still without key and scope, and its text.

    *text* is ``None`` where it was not kept; *canonical* is the URL of its canonical link, as it is
    written there; *sequences* are those of the text, if they were wanted; *seconds* is what each
    stage took. *numbers* are the `numbers_in` the text as the method sees Chinese, of a page or a
    field that was read.
    """

    record: PageRecord
    text: str | None = None
    title: str | None = None
    language: str | None = None
    canonical: str | None = None
    sequences: Sequences | None = None
    numbers: tuple[str, ...] = ()
    seconds: dict[str, float] = field(default_factory=dict, compare=False)

    def under(self, key: str, scope: str = "") -> PageRecord:
        """Return its record under *key* in *scope*: what the text has of that is evidence, too.

        Of a page without its text, such as one that was read before, no words are known.
        """
        record, evidence = self.record.under(key, scope), self.evidence
        if evidence is None or not self.text:
            return record
        words = _words_of_url(record.key, self.text)
        return record._replace(evidence=evidence.with_words(words).to_bytes())

    @property
    def evidence(self) -> Evidence | None:
        """What it shows besides its main text; ``None`` where nobody has seen the page."""
        return Evidence.from_bytes(self.record.evidence) if self.record.evidence else None

    @property
    def coverage(self) -> float | None:  # DEDUP_FIELDS asks for it by its name
        """How much of it was extracted: from 0 to 1 with two decimals; ``None`` if unknown."""
        return self.evidence and self.evidence.coverage


class PageReader:
    """Reads pages with one extractor and one method."""

    def __init__(
        self, extractor: Extractor, method: Method, *, with_sequences: bool = False
    ) -> None:
        """Create it; *with_sequences*: the 3-word `Sequences` of texts are wanted, too.

        Of these, each page has no more than a sample of all that were read before it could use.
        """
        self._extractor = extractor
        self._method = method
        self._with_sequences = with_sequences
        self._sequences_before = 0

    def warm_up(self) -> None:
        """Read a sample page, so that what extractor and method import is there; takes a second."""
        self.read_html("<html><body><p>A sample page.</p>")

    def read_html(self, html: str) -> Page:
        """Return the page of a whole HTML document."""
        return self._page(lambda: _check(self._extractor(without_surrogates(html))))

    def read_texts(self, texts: Sequence[str]) -> list[Page]:
        """Return the pages of main texts; together, they take less time than one by one."""
        documents = self._method.documents([without_surrogates(text) for text in texts])
        sketches = self._method.sketches(documents)
        return [
            Page(self._record(tokens, document, sketch), document.main_text, sequences=sequences)
            for tokens, document, sketch, sequences in zip(
                documents.words.counts.tolist(),
                documents,
                sketches,
                self._sequences(documents),
                strict=True,
            )
        ]

    def _sequences(self, documents: Sequence[Document]) -> Sequence[Sequences | None]:
        if not self._with_sequences:
            return [None] * len(documents)
        halvings = sure_halvings(self._sequences_before)
        found = sequences_of(documents, self._method.hashing, halvings)
        self._sequences_before += sum(sequences.different for sequences in found)
        return found

    def _record(
        self, tokens: int, document: Document, sketch: Any, evidence: Evidence | None = None
    ) -> PageRecord:
        return PageRecord(
            tokens=count_words(document.text, tokens),
            digest=document.digest,
            sketch=self._method.sketch_bytes(document, sketch),
            evidence=None if evidence is None else evidence.to_bytes(),
        )

    def read_field(self, value: str) -> Page:
        """Return the page of an item's field: of what `extracted_of` takes."""
        return self._page(lambda: extracted_of(value, self._extractor))

    def _page(self, extract: Callable[[], Extraction]) -> Page:
        start = perf_counter()
        extracted = extract()
        text_at = perf_counter()
        document = self._method.document(extracted.text, extracted.description)
        documents = Documents([document])
        [tokens] = documents.words.counts.tolist()
        tokens_at = perf_counter()
        [sketch] = self._method.sketches(documents)
        record = self._record(tokens, document, sketch, evidence_for(self._method, extracted))
        [sequences] = self._sequences(documents)
        text = extracted.text
        numbers = numbers_in(simplify(text) if self._method.simplifies_chinese else text)
        seconds = {
            "extraction": text_at - start,
            "tokens": tokens_at - text_at,
            "sketch": perf_counter() - tokens_at,
        }
        return Page(
            record,
            text,
            extracted.title,
            extracted.language,
            extracted.canonical,
            sequences,
            numbers,
            seconds,
        )


def _words_of_url(url: str, text: str) -> Iterator[str]:
    """Yield the words in the path of *url* that stand where *text* begins, with or without blanks.

    Those that stand there one after the other are one: a tea pot is no tea. Words have three
    letters or digits or more; those of a version and an extension do not count.
    """
    *folders, last = unquote(split_url(url).path).split("/")
    beginning = _BETWEEN_LETTERS.sub("", text[:_BEGINNING].casefold())
    for segment in (*folders, _EXTENSION.sub("", last)):
        yield from (word for word in _join_words(_words_in(segment), beginning) if len(word) >= 3)


@lru_cache(1024)
def _words_in(segment: str) -> tuple[str, ...]:
    """Return the words in a *segment* of a path: most pages of a site are in few folders."""
    return () if is_version(segment) else tuple(map(str.casefold, _BETWEEN_WORDS.split(segment)))


def _join_words(words: Iterable[str], text: str) -> Iterator[str]:
    """Yield those of *words* that stand in *text*, joined as long as they do, and empty ones."""
    joined = ""
    for word in words:
        if joined + word in text:
            joined += word
        else:
            yield joined
            joined = word if word in text else ""
    yield joined


_BEGINNING = 300
"""So many characters of a main text name its page."""
_EXTENSION = regex.compile(r"\.\w{1,5}\Z")
_BETWEEN_LETTERS = regex.compile(r"[^\p{L}\p{N}]+")
_BETWEEN_WORDS = regex.compile(r"[^\p{L}\p{N}]+|(?<=\p{Ll})(?=\p{Lu})", regex.V1)  # tea-pot, teaPot


def extracted_of(value: str, extractor: Extractor, *, is_document: bool = False) -> Extraction:
    """Return what is extracted of a whole HTML document, an HTML fragment, or text.

    *extractor* is asked for the main text of a document: *is_document*, or it begins like one. A
    fragment was cut out of one by somebody, so all of its text is main text.
    """
    value = without_surrogates(value)
    if is_document or _HTML_DOCUMENT.match(value):
        return _check(extractor(value))
    return Extraction(_text_of(value))


def evidence_for(method: Method, extracted: Extraction) -> Evidence | None:
    """Return the evidence of a page, with its title as *method* sees Chinese."""
    evidence = extracted.evidence
    if evidence is None or not method.simplifies_chinese:
        return evidence
    return evidence.with_title(simplify(extracted.title or ""))


def page_of_bytes(body: bytes) -> Page:
    """Return the page of what is no HTML: it can only be equal to another, byte for byte.

    A few bytes, such as an answer in JSON, are short as a page of few words is.
    """
    digest = blake2b(body, digest_size=16, person=b"body").digest()
    return Page(PageRecord(digest=digest, is_binary=len(body) >= _LONG_BODY))


# As long as 20 words of JSON with its signs.
_LONG_BODY = 256


_HTML_DOCUMENT = regex.compile(
    r"\A(?:\s|<\?xml[^>]*>|<!--.*?-->)*+<(?:!doctype\s+html|html|head|body)\b",
    regex.IGNORECASE | regex.DOTALL,
)
# Text may mention tags: only what begins with one or closes one that content is made of is HTML.
_CONTENT_TAGS = (
    "p|div|span|a|ul|ol|li|dl|dt|dd|table|tbody|tr|td|th|h[1-6]|em|strong|b|i|u|img|figure|pre|code"
    "|blockquote|article|section|main"
)
_HTML_FRAGMENT = regex.compile(
    rf"^\s*<(?:{_CONTENT_TAGS})\b[^<>]*>|<(?:br|hr)\s*/?>|</(?:{_CONTENT_TAGS})\s*>",
    regex.IGNORECASE,
)
_HIDING_TAGS = "script|style|noscript|template"
_OPENING = regex.compile(rf"<(!--|(?:{_HIDING_TAGS})\b)?", regex.IGNORECASE)
_CLOSING = {
    "!--": regex.compile("-->"),
    **{tag: regex.compile(rf"</{tag}\s*+>", regex.IGNORECASE) for tag in _HIDING_TAGS.split("|")},
}
_TAG = regex.compile(r"<[^<>]*+>")
# Python refuses to read a number of more than 4,300 digits; no character has one of 8.
_NO_CHARACTER = regex.compile(r"&#[0-9]{8,}+")


def _check(extracted: Extraction | str | None) -> Extraction:
    """Return what an extractor gave as an `Extraction` that can be stored anywhere.

    Raises TypeError if it is anything else than an extractor may return.
    """
    if extracted is None or isinstance(extracted, str):
        extracted = Extraction(extracted or "")
    texts = (
        extracted.text,
        extracted.title or "",
        extracted.language or "",
        extracted.description or "",
        extracted.canonical or "",
    )
    if not all(isinstance(text, str) for text in texts):
        raise TypeError(f"an extractor must give texts, got {extracted!r:.200}")
    title, description, canonical = (
        text and without_surrogates(text)
        for text in (extracted.title or None, extracted.description or None, extracted.canonical)
    )
    text = without_surrogates(extracted.text)
    return Extraction(text, title, extracted.language, description, extracted.evidence, canonical)


def _text_of(value: str) -> str:
    """Return the text of an HTML fragment, or *value* itself if it is text.

    What a parser loses much of was no HTML: in "if x <y" all that follows is a tag to it.
    """
    if not _HTML_FRAGMENT.search(value):
        return value
    text = text_of_fragment(value)
    written = unescape(_NO_CHARACTER.sub("\ufffd", "".join(_outside_markup(value))))
    if len("".join(text.split())) < 0.8 * len("".join(written.split())):
        return value
    return text


def _outside_markup(html: str) -> Iterator[str]:
    """Yield what is neither a tag nor in a comment, a script, or the like.

    What begins and never ends hides nothing. Takes time by the length of *html*.
    """
    closing, place = dict(_CLOSING), 0
    while opening := _OPENING.search(html, place):
        start, after = opening.span()
        yield html[place:start]
        kind = (opening[1] or "").lower()
        end = closing[kind].search(html, after) if kind in closing else None
        if end is None:
            closing.pop(kind, None)  # nor does any later one end
            end = _TAG.match(html, start)
        yield "" if end else "<"
        place = end.end() if end else start + 1
    yield html[place:]
