"""Links of duplicates that are not followed (DEDUP_FOLLOW_DUPLICATES)."""

from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import blake2b
from urllib.parse import urlsplit

from scrapy import Request
from scrapy.http import Response

from dedup.record import PageRecord
from dedup.scrapy_plugin.bodies import BodyReader, reason_not_to_read
from dedup.scrapy_plugin.notices import Notices
from dedup.scrapy_plugin.requests import callback_of, is_plain_link, request_options
from dedup.scrapy_plugin.response_state import ResponseState
from dedup.scrapy_plugin.settings import DedupSettings
from dedup.workers import ReadError

_OWN_HOST = "page.invalid"
_MOST_LINKS = 500_000
"""So many are kept, and pages among them: some 50 MB. Links of later pages are all followed."""


@dataclass(slots=True, eq=False)
class Links:
    """Says which links are those of a page with the same text, whose callback has ended.

    A list may have one text on all of its pages, which lead to each other. So a link of a copy is
    held back only if the other page has led to the same: with the same path, query, method and
    callback, on its own host if the copy does so, else on the same host.
    """

    settings: DedupSettings
    pages: BodyReader
    notices: Notices
    fingerprint: Callable[[Request], bytes]
    """Its results are equal for requests that ask for the same."""
    _by_text: dict[tuple[str, bytes | None], tuple[PageRecord, set[bytes]]] = field(
        default_factory=dict
    )
    """The first page of each text whose callback has ended, by scope and digest."""
    _links_kept: int = 0

    async def hold_back(self, request: Request, response: Response, state: ResponseState) -> bool:
        """Return whether *request*, a link of *response*, of *state*, is not to be followed.

        One that hands on a value is more than a link: the items that are made with it may differ.
        """
        # Nor is it known what is shown to whom.
        if not is_plain_link(request) or request.cookies:
            return False
        if state.links is None:
            state.compared, state.links = await self._record_of(response, state), set()
        record = state.compared
        if record is None:
            return False
        link = self._link(request, response)
        if original := self._by_text.get((record.scope, record.digest)):
            of_original, links = original[0].witness, original[1]
            objection = self.settings.rule.objection(record.witness, of_original, is_exact=True)
            if link in links and objection is None:
                return True
        state.links.add(link)
        return False

    async def _record_of(self, response: Response, state: ResponseState) -> PageRecord | None:
        """Return the record of the page of *response*, ``None`` if that is not compared."""
        if not (self.settings.enabled and request_options(response.request, self.notices).is_on):
            return None
        if reason_not_to_read(response):
            return None
        try:
            page = await self.pages.read(response, state)
        except ReadError:  # which is told of where its items are judged
            return None
        scope = self.settings.scope.name_of(response.url, page.language)
        if scope is None or self.settings.rule.reason_to_skip(page.record):
            return None
        return page.under(response.url, scope)

    def _link(self, request: Request, response: Response) -> bytes:
        """Return what stands for *request*, a link of *response*: 8 bytes."""
        url = urlsplit(request.url)
        if url.netloc == urlsplit(response.url).netloc:
            url = url._replace(scheme="http", netloc=_OWN_HOST)
        asked = Request(
            url.geturl(), method=request.method, headers=request.headers, meta=request.meta
        )
        callback = callback_of(request).encode("utf-8", "replace")
        return blake2b(self.fingerprint(asked) + callback, digest_size=8).digest()

    def output_ends(self, state: ResponseState) -> None:
        """The output of the callback for the page of *state* has ended."""
        record, links = state.compared, state.links
        if state.callback_has_failed or not record or links is None:
            return
        if self._links_kept < _MOST_LINKS and (record.scope, record.digest) not in self._by_text:
            self._by_text[record.scope, record.digest] = record, links
            self._links_kept += 1 + len(links)
