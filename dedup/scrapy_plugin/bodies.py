"""Reads the pages of responses, and reads no body twice."""

import struct
from collections.abc import Callable
from concurrent.futures import Future
from hashlib import blake2b
from sys import getsizeof

from scrapy.http import HtmlResponse, Response

from dedup.evidence import SIZE_OF_EVIDENCE
from dedup.lost_text import Sequences
from dedup.page import Page
from dedup.record import PageRecord
from dedup.scopes import LONGEST_LANGUAGE
from dedup.scopes import language as language_of
from dedup.scrapy_plugin.awaiting import Backlog, result_of
from dedup.workers.base import Pool, ReadError
from dedup.workers.protocol import Task


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
    """Reads the pages of responses, but no body twice.

    It remembers what a verdict needs of each body (some 180 bytes), and not its text. Of the
    sequences it remembers the sample, which gets smaller as the crawl goes: together, less than a
    megabyte for every doubling of the pages.
    """

    def __init__(
        self, pool: Pool, backlog: Backlog, halvings: Callable[[], int | None] = lambda: None
    ) -> None:
        """Create it; *halvings* tells which sample of sequences is wanted of the next page."""
        self._backlog = backlog
        self._pool = pool
        self._halvings = halvings
        self._nbytes = 0
        self._read: dict[bytes, bytes] = {}
        self._unreadable: dict[bytes, tuple[str, str]] = {}
        self._being_read: dict[bytes, Future[Page]] = {}

    async def read(self, response: HtmlResponse) -> tuple[Page, bool]:
        """Return the page, and whether its body was seen before: such a page has no text.

        Raises ReadError if the page cannot be read, now or when its body was first seen.
        """
        key = _body_key(response)
        if known := self._read.get(key):
            return _unpack(known), True
        if failure := self._unreadable.get(key):
            raise ReadError(*failure)
        if future := self._being_read.get(key):
            return await result_of(future), True
        future = self._being_read[key] = self._pool.submit(
            Task("html", response.text, self._halvings())
        )
        try:
            with self._backlog.one_more():
                page = await result_of(future)
            packed = self._read[key] = _pack(page)
            self._nbytes += getsizeof(key) + getsizeof(packed)
        except ReadError as error:
            if error.cause in ("error", "crash", "timeout"):
                self._unreadable[key] = error.cause, str(error)[:200]
            raise
        finally:
            del self._being_read[key]
        return page, False

    async def read_field(self, value: str) -> Page:
        """Return the page that the field of an item makes; raises ReadError."""
        with self._backlog.one_more():
            return await result_of(self._pool.submit(Task("field", value, self._halvings())))

    async def read_again(self, response: HtmlResponse) -> Page:
        """Return the page with its text, although its body was seen before; raises ReadError."""
        return await result_of(self._pool.submit(Task("html", response.text)))

    @property
    def nbytes(self) -> int:
        """The memory of what is remembered, in bytes; of unreadable bodies, an estimate."""
        failures = self._unreadable
        of_a_failure = sum(map(getsizeof, next(iter(failures.items()), ())))
        tables = sum(getsizeof(table) for table in (self._read, failures) if table)
        return tables + self._nbytes + len(failures) * of_a_failure


def _pack(page: Page) -> bytes:
    record, seconds = page.record, sum(page.seconds.values())
    sequences = page.sequences.to_bytes() if page.sequences else b""
    content = record.digest or b"", record.tokens, seconds, record.evidence or b""
    language = language_of(page.language).encode()
    return _PAGE.pack(*content, language, len(sequences)) + sequences + (record.sketch or b"")


def _unpack(packed: bytes) -> Page:
    digest, tokens, seconds, evidence, language, size = _PAGE.unpack_from(packed)
    has_text = any(digest)
    end = _PAGE.size + size
    sketch = packed[end:] or None
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
        sequences=Sequences.from_bytes(packed[_PAGE.size : end]) if size else None,
        seconds={"read": seconds},
    )


_PAGE = struct.Struct(f"<16sIf{SIZE_OF_EVIDENCE}s{LONGEST_LANGUAGE}sI")


def _body_key(response: HtmlResponse) -> bytes:
    # With the encoding: equal bytes are another page if the server declares another encoding.
    digest = blake2b(response.encoding.encode() + b"\n", digest_size=16)
    digest.update(response.body)
    return digest.digest()
