"""The pages of responses and of items' fields: no body is read twice."""

import contextlib
import marshal
from collections import Counter
from concurrent.futures import Future
from dataclasses import replace
from hashlib import blake2b
from time import perf_counter

from scrapy import Request
from scrapy.http import HtmlResponse, Response

from dedup.page import Page, PageReader, page_of_bytes
from dedup.record import PageRecord
from dedup.report.summary import Summary
from dedup.scopes import language as language_of
from dedup.scrapy_plugin import limits
from dedup.scrapy_plugin.awaiting import result_of
from dedup.scrapy_plugin.requests import callback_of
from dedup.scrapy_plugin.response_state import ResponseState, ResponseStates
from dedup.workers import Pool, ReadError

_ENOUGH = 10
"""Pages in a row that were needed; a page that is not is read in vain."""


def reason_not_to_read(response: Response) -> str | None:
    """Return the reason why *response* is not read, ``None`` if it is."""
    if not 200 <= response.status < 300:
        return "status"
    if not response.body:
        return "empty"
    if len(response.body) > limits.MAX_PAGE_BYTES:
        return "too_big"
    return None


class BodyReader:
    """Reads the pages of responses and of items' fields, but no body twice.

    It remembers what a verdict needs of each body (some 180 bytes, and its numbers). A body that
    comes again is left out of the estimate of lost text, and is read again if somebody needs its
    text.

    Where callbacks had items of many pages before, it reads the next ones before these run. Once a
    callback runs, Scrapy starts CONCURRENT_ITEMS tasks for its output. If that waits for its page
    to be read, each task waits with it, which takes a millisecond more a page, and 180 kB. What
    waits here still counts as one of the concurrent requests, so the download slows down by itself.
    """

    def __init__(self, pool: Pool, summary: Summary, states: ResponseStates) -> None:
        self._pool = pool
        self._summary = summary
        self._states = states
        # By body, the packed page, or the cause and message of a failure.
        self._read: dict[bytes, bytes | tuple[str, str]] = {}
        self._being_read: dict[bytes, Future[Page]] = {}
        # By callback, of which a spider has few.
        self._needed_in_a_row: Counter[str] = Counter()

    async def read(self, response: Response, state: ResponseState) -> Page:
        """Return the page of *response*, without its text if its body was seen before.

        Raises ReadError if the page cannot be read, now or when its body was first seen.
        """
        state.needs_page = True
        return state.page or await self._read_once(response, state)

    async def response_arrives(self, request: Request, response: Response) -> None:
        """Read the page if the callback of *request* has needed those of all that came before."""
        if self._needed_in_a_row[callback_of(request)] >= _ENOUGH and _is_readable(response):
            with contextlib.suppress(Exception):  # which `read` meets again, with somebody to tell
                await self._read_once(response, self._states.of(response))

    def output_ends(self, request: Request, response: Response, state: ResponseState) -> None:
        """The callback of *request* has come to its end."""
        if _is_readable(response):
            if state.needs_page:
                self._needed_in_a_row[callback_of(request)] += 1
            else:
                del self._needed_in_a_row[callback_of(request)]

    async def _read_once(self, response: Response, state: ResponseState) -> Page:
        if not isinstance(response, HtmlResponse):
            state.page = page_of_bytes(response.body)
            return state.page
        key = _body_key(response)
        known = self._read.get(key)
        if isinstance(known, tuple):
            raise ReadError(*known)
        page = _unpack(known) if known else None
        if being_read := self._being_read.get(key):
            page = await result_of(being_read)
        if page:
            state.page = page
            self._summary.count("bodies_repeated", 1)
            self._summary.count("seconds_saved", sum(page.seconds.values()))
            return page
        start = perf_counter()
        future = self._being_read[key] = self._pool.submit(PageReader.read_html, response.text)
        try:
            page = state.page = await self._result(future, start)
            self._read[key] = _pack(page)
        except ReadError as error:
            if error.cause in ("error", "crash", "timeout"):
                self._read[key] = error.cause, str(error)[:200]
            raise
        finally:
            del self._being_read[key]
        return page

    async def _result(self, future: "Future[Page]", start: float) -> Page:
        page = await result_of(future)
        for stage, seconds in page.seconds.items():
            self._summary.record_time(stage, seconds)
        waited = perf_counter() - start
        self._summary.record_time("waiting", waited - sum(page.seconds.values()))
        return page

    async def read_with_text(self, response: Response, state: ResponseState) -> Page:
        """Return the page of *response* with its text, which is not kept of a body seen before.

        Raises ReadError. What is no HTML has none.
        """
        page = await self.read(response, state)
        if page.text is None and isinstance(response, HtmlResponse):
            self._summary.count("bodies_read_again", 1)
            future = self._pool.submit(PageReader.read_html, response.text)
            again = await result_of(future)
            # The sequences of its text were counted when it was read first.
            page = state.page = replace(again, sequences=None)
        return page

    async def read_field(self, value: str) -> Page:
        """Return the page that the field of an item makes; raises ReadError."""
        start = perf_counter()
        return await self._result(self._pool.submit(PageReader.read_field, value), start)


def _is_readable(response: Response) -> bool:
    is_html = isinstance(response, HtmlResponse)
    return is_html and not reason_not_to_read(response)


def _pack(page: Page) -> bytes:
    record, language = page.record, language_of(page.language)
    content = record.tokens, record.digest, record.sketch, record.evidence
    seconds = sum(page.seconds.values())
    return marshal.dumps((content, language, page.canonical, page.numbers, seconds))


def _unpack(packed: bytes) -> Page:
    (tokens, digest, sketch, evidence), *others = marshal.loads(packed)
    language, canonical, numbers, seconds = others
    record = PageRecord(tokens=tokens, digest=digest, sketch=sketch, evidence=evidence)
    text = None if digest else ""
    return Page(
        record, text, None, language or None, canonical, None, numbers, seconds={"read": seconds}
    )


def _body_key(response: HtmlResponse) -> bytes:
    # With the encoding: equal bytes are another page if the server declares another encoding.
    digest = blake2b(response.encoding.encode() + b"\n", digest_size=16)
    digest.update(response.body)
    return digest.digest()
