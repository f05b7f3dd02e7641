"""The course of a response and its items through Scrapy: what the components tell, in order."""

from collections.abc import Awaitable
from inspect import isawaitable
from typing import Any

from scrapy import Request, Spider
from scrapy.http import Response

from dedup.report.summary import Summary
from dedup.scrapy_plugin.canonicals import Canonicals
from dedup.scrapy_plugin.feeds import Exported, Feeds
from dedup.scrapy_plugin.judging import Judge
from dedup.scrapy_plugin.links import Links
from dedup.scrapy_plugin.notices import Notices
from dedup.scrapy_plugin.settings.crawl import DedupSettings
from dedup.scrapy_plugin.visits import Visits


class Course:
    """Passes on to each part what happens to a response and its items, in this order."""

    def __init__(
        self,
        settings: DedupSettings,
        visits: Visits,
        judge: Judge,
        links: Links | None,
        canonicals: Canonicals | None,
        feeds: Feeds,
        summary: Summary,
        notices: Notices,
    ) -> None:
        self._settings = settings
        self._visits = visits
        self._judge = judge
        self._links = links
        self._canonicals = canonicals
        self._feeds = feeds
        self._summary = summary
        self._notices = notices

    def callback_begins(self, response: Response) -> None:
        """The callback of *response* is about to run."""
        if self._canonicals:
            self._canonicals.response_arrives(response)
        self._visits.of(response)

    def callback_output_begins(self, response: Response) -> None:
        """What the callback of *response* has to give begins to be read."""
        self._visits.of(response).unread_outputs += 1

    def callback_output_ends(self, response: Response) -> None:
        """What the callback of *response* has to give was read to its end."""
        self._visits.of(response).unread_outputs -= 1

    def callback_raises(self, response: Response) -> None:
        """The callback of *response* has raised an exception, which a middleware may handle."""
        self._visits.of(response).callback_raises()

    def exception_is_unhandled(self, response: Response) -> None:
        """Nobody has handled an exception of the callback of *response*."""
        self._request_ends(response.request)

    def output_begins(self, response: Response) -> None:
        """A callback's output for *response* begins; there may be several of one response."""
        self._visits.of(response).output_begins()

    async def request_leaves(self, request: Request, response: Response) -> bool:
        """Return whether *request*, which *response* has led to, goes on: it may be held back."""
        try:
            if self._links and await self._links.hold_back(request, response):
                self._summary.count("links_held_back")
                return False
        except Exception:
            self._notices.count_error("the links of <%s>", response.url)
        return True

    async def item_leaves(self, item: Any, response: Response) -> None:
        """*item* of *response* leaves for the pipelines; its page is judged before."""
        judgement = None if self._settings.item_field else await self._judge.of_page(item, response)
        self._request_ends(response.request)
        self._visits.item_leaves(item, self._visits.of(response), judgement)

    def output_ends(self, response: Response, *, failed: bool) -> None:
        """A callback's output for *response* has ended; *failed*: with an exception."""
        visit = self._visits.of(response)
        if visit.unread_outputs and not failed and not visit.callback_has_failed:
            self._notices.tell_once(
                "A spider middleware does not read all that a callback yields, here of <%s>: such "
                "pages are stored and not remembered, so their copies are stored, too",
                response.url,
            )
        self._judge.output_ends(visit)
        visit.output_ends(failed=failed)
        if self._links:
            self._links.output_ends(response, failed=visit.callback_has_failed)
        self._request_ends(response.request)

    def request_comes(self, request: Request, is_accepted: bool) -> None:
        """*request* has come to the scheduler, which takes it, or filters it."""
        if self._links:
            self._links.request_comes(request)
        if self._canonicals:
            self._canonicals.request_comes(request, is_accepted=is_accepted)

    def request_fails(self, request: Request) -> None:
        """There is no response to *request*: not allowed, or not to be had."""
        self._request_ends(request)

    def _request_ends(self, request: Request | None) -> None:
        if self._canonicals:
            self._canonicals.request_ends(request)

    def item_scraped(self, item: Any, response: Any, spider: Spider) -> Awaitable[None] | None:
        """*item* has passed the pipelines; return what is to be awaited until it is exported."""
        try:
            exported = self._feeds.export(item, spider)
        except BaseException:
            self._visits.item_ends(response, stored=False, failed=True)
            raise
        if isawaitable(exported):
            return self._await_export(exported, response)
        self._item_is_exported(exported, response)
        return None

    async def _await_export(self, exporting: Awaitable[Exported], response: Any) -> None:
        try:
            exported = await exporting
        except BaseException:
            self._visits.item_ends(response, stored=False, failed=True)
            raise
        self._item_is_exported(exported, response)

    def _item_is_exported(self, batches: Exported, response: Any) -> None:
        waits_for_feeds = self._settings.commit == "stored"
        self._visits.item_ends(
            response,
            stored=batches is not None,
            batches=batches if batches and waits_for_feeds else (),
        )

    def item_dropped(self, response: Any) -> None:
        self._visits.item_ends(response, stored=False)

    def item_error(self, response: Any) -> None:
        self._visits.item_ends(response, stored=False, failed=True)
