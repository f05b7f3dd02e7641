"""The pages of responses and of items' fields: no body is read twice."""

import struct
import zlib
from concurrent.futures import Future
from dataclasses import replace
from hashlib import blake2b
from sys import getsizeof
from time import perf_counter

from scrapy.http import HtmlResponse, Response

from dedup.evidence import SIZE_OF_EVIDENCE
from dedup.lost_text import Sequences
from dedup.page import Page, page_of_bytes
from dedup.record import PageRecord
from dedup.scopes import LONGEST_LANGUAGE
from dedup.scopes import language as language_of
from dedup.scrapy_plugin.awaiting import Backlog, result_of
from dedup.scrapy_plugin.reporting import Reporting
from dedup.scrapy_plugin.response_state import ResponseStates
from dedup.text import to_utf8
from dedup.workers import Pool, ReadError, Task


def reason_not_to_read(response: Response, max_page_bytes: int) -> str | None:
    """Return the reason why *response* is not read, ``None`` if it is."""
    if not 200 <= response.status < 300:
        return "status"
    if not response.body:
        return "empty"
    if len(response.body) > max_page_bytes:
        return "too_big"
    return None


def digest_of_body(response: Response) -> bytes:
    """Return a digest, of 16 bytes, of the body of *response*."""
    return blake2b(response.body, digest_size=16).digest()


class BodyReader:
    """Reads the pages of responses and of items' fields, but no body twice.

    It remembers what a verdict needs of each body (some 180 bytes). Samples of sequences, and
    texts that somebody asks for, some kilobytes each, it remembers of the last bodies only: one
    that comes again much later is left out of the estimate of lost text, and is read again for its
    text.
    """

    most_of_sequences = 1 << 22
    """The memory that samples of sequences take at most, in bytes."""
    most_of_texts = 1 << 24
    """That of texts, which are compressed."""

    def __init__(
        self, pool: Pool, backlog: Backlog, reporting: Reporting, states: ResponseStates
    ) -> None:
        self._backlog = backlog
        self._pool = pool
        self._summary = reporting.summary
        self._halvings = reporting.halvings
        self._states = states
        self._nbytes = 0
        self._sequences: dict[bytes, Sequences] = {}
        self._nbytes_of_sequences = 0
        self._texts: dict[bytes, bytes] = {}
        self._nbytes_of_texts = 0
        self._read: dict[bytes, bytes] = {}
        self._unreadable: dict[bytes, tuple[str, str]] = {}
        self._being_read: dict[bytes, Future[Page]] = {}

    async def read(self, response: Response) -> Page:
        """Return the page of *response*, without its text if its body was seen before.

        Raises ReadError if the page cannot be read, now or when its body was first seen.
        """
        state = self._states.of(response)
        if state.page is None:
            if isinstance(response, HtmlResponse):
                state.page = await self._read_html(response)
            else:
                state.page = page_of_bytes(response.body)
        return state.page

    async def _read_html(self, response: HtmlResponse) -> Page:
        key = _body_key(response)
        if known := self._read.get(key):
            page = replace(_unpack(known), sequences=self._sequences.get(key))
            return self._repeated(page)
        if failure := self._unreadable.get(key):
            raise ReadError(*failure)
        if future := self._being_read.get(key):
            return self._repeated(await result_of(future))
        start = perf_counter()
        future = self._being_read[key] = self._pool.submit(Task("html", response.text))
        try:
            page = await self._result(future, start)
            packed = self._read[key] = _pack(page)
            self._nbytes += getsizeof(key) + getsizeof(packed)
            if page.sequences:
                self._remember(key, page.sequences.thinned(self._halvings()))
        except ReadError as error:
            if error.cause in ("error", "crash", "timeout"):
                self._unreadable[key] = error.cause, str(error)[:200]
            raise
        finally:
            del self._being_read[key]
        return page

    def _repeated(self, page: Page) -> Page:
        self._summary.count("bodies_repeated", 1)
        self._summary.count("seconds_saved", sum(page.seconds.values()))
        return page

    async def _result(self, future: "Future[Page]", start: float) -> Page:
        """Return the page that is being read since *start*, and count how long that took."""
        with self._backlog.one_more():
            page = await result_of(future)
        for stage, seconds in page.seconds.items():
            self._summary.record_time(stage, seconds)
        waited = perf_counter() - start
        self._summary.record_time("waiting", waited - sum(page.seconds.values()))
        return page

    def _remember(self, key: bytes, sequences: Sequences) -> None:
        self._sequences[key] = sequences
        self._nbytes_of_sequences += len(sequences.sample) + _SIZE_OF_SEQUENCES
        while self._nbytes_of_sequences > self.most_of_sequences:
            oldest = self._sequences.pop(next(iter(self._sequences)))
            self._nbytes_of_sequences -= len(oldest.sample) + _SIZE_OF_SEQUENCES

    async def text_of(self, response: Response) -> str:
        """Return the main text of *response*, "" for what is no HTML; raises ReadError."""
        page = await self.read(response)
        if not isinstance(response, HtmlResponse):
            return ""
        key = _body_key(response)
        if page.text is None:
            if key in self._texts:
                return zlib.decompress(self._texts[key]).decode()
            page = await result_of(self._pool.submit(Task("html", response.text)))
        if key not in self._texts:
            data = self._texts[key] = zlib.compress(to_utf8(page.text or ""), 1)
            self._nbytes_of_texts += len(data)
            while self._nbytes_of_texts > self.most_of_texts:
                self._nbytes_of_texts -= len(self._texts.pop(next(iter(self._texts))))
        return page.text or ""

    async def read_field(self, value: str) -> Page:
        """Return the page that the field of an item makes; raises ReadError."""
        start = perf_counter()
        future = self._pool.submit(Task("field", value))
        return await self._result(future, start)

    async def read_again(self, response: HtmlResponse) -> Page:
        """Return the page of *response* with its text, which was not kept; raises ReadError."""
        state = self._states.of(response)
        if state.page is None or state.page.text is None:
            self._summary.count("bodies_read_again", 1)
            state.page = await result_of(self._pool.submit(Task("html", response.text)))
        return state.page

    @property
    def nbytes(self) -> int:
        """The memory of what is remembered, in bytes; of unreadable bodies, an estimate."""
        failures = self._unreadable
        of_a_failure = sum(map(getsizeof, next(iter(failures.items()), ())))
        tables = sum(getsizeof(table) for table in (self._read, failures) if table)
        nbytes = self._nbytes + self._nbytes_of_sequences + self._nbytes_of_texts
        return tables + nbytes + len(failures) * of_a_failure


def _pack(page: Page) -> bytes:
    record, seconds = page.record, sum(page.seconds.values())
    content = record.digest or b"", record.tokens, seconds, record.evidence or b""
    language = language_of(page.language).encode()
    return _PAGE.pack(*content, language) + (record.sketch or b"")


def _unpack(packed: bytes) -> Page:
    digest, tokens, seconds, evidence, language = _PAGE.unpack_from(packed)
    has_text = any(digest)
    sketch = packed[_PAGE.size :] or None
    record = PageRecord(
        tokens=tokens,
        digest=digest if has_text else None,
        sketch=sketch,
        evidence=evidence if any(evidence) else None,
    )
    return Page(
        record,
        None if has_text else "",
        language=language.rstrip(b"\0").decode() or None,
        seconds={"read": seconds},
    )


_PAGE = struct.Struct(f"<16sIf{SIZE_OF_EVIDENCE}s{LONGEST_LANGUAGE}s")
# The key, the tuple and its bytes, and their places in the table.
_SIZE_OF_SEQUENCES = 300


def _body_key(response: HtmlResponse) -> bytes:
    # With the encoding: equal bytes are another page if the server declares another encoding.
    digest = blake2b(response.encoding.encode() + b"\n", digest_size=16)
    digest.update(response.body)
    return digest.digest()
