"""Items -> where they are compared."""

from typing import Any

from scrapy.http import Response

from dedup.extraction import language_of_text
from dedup.page import Page
from dedup.scopes import Scope
from dedup.scrapy_plugin.bodies import reason_not_to_read
from dedup.scrapy_plugin.items import fields_of
from dedup.scrapy_plugin.notices import Notices
from dedup.scrapy_plugin.response_pages import ResponsePages


class ItemScopes:
    """Says where items are compared (DEDUP_SCOPE), ``None`` if that is not known."""

    def __init__(
        self, scope: Scope, max_page_bytes: int, pages: ResponsePages, notices: Notices
    ) -> None:
        self._scope = scope
        self._max_page_bytes = max_page_bytes
        self._pages = pages
        self._notices = notices

    async def of_page(self, item: Any, response: Response) -> str | None:
        """Return the scope of *item* with the page of *response*.

        Raises ReadError if the page cannot be read, which may go better the next time.
        """
        if reason_not_to_read(response, self._max_page_bytes):
            return ""
        language = None
        if self._scope.needs_language:
            language = (await self._pages.read(response)).language
        return self._of(item, response.url, language)

    def of_text(self, item: Any, url: str, text: Page) -> str | None:
        """Return the scope of *item* with a *text* of its own."""
        language = text.language
        if self._scope.needs_language and language is None:  # text does not declare it
            language = language_of_text(text.text or "")
        return self._of(item, url, language)

    def _of(self, item: Any, url: str, language: str | None) -> str | None:
        scope = self._scope
        try:
            name = scope.name_of(url, language, fields_of(item) if scope.needs_item else {})
        except Exception:  # of a function of somebody else's, or a value that is none
            self._notices.count_error("the scope of an item of <%s>", url)
            return None
        if name is None:
            self._notices.tell_once(
                "Items without a value for DEDUP_SCOPE = %r are not compared, and kept. One is of "
                "<%s>",
                scope.name,
                url,
            )
        return name
