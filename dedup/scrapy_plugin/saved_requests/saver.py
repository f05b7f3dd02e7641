"""What the middlewares ask of a request: whether it need be sent, and what has come of it."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from scrapy import Request, signals
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response

from dedup.report.summary import Summary
from dedup.scrapy_plugin.notices import Notices
from dedup.scrapy_plugin.requests import note_link
from dedup.scrapy_plugin.response_state import ResponseState
from dedup.scrapy_plugin.saved_requests.leaves import NOT_MODIFIED, Leaves
from dedup.scrapy_plugin.saved_requests.put_off import PutOffRequests
from dedup.scrapy_plugin.saved_requests.url_rules import UrlRules
from dedup.scrapy_plugin.settings import DedupSettings
from dedup.stores import SqliteStore, Store

if TYPE_CHECKING:
    from scrapy.crawler import Crawler


class RequestSaver:
    """Has leaves and URL rules, as far as they are asked for; in doubt, a request is sent."""

    def __init__(
        self,
        settings: DedupSettings,
        crawler: "Crawler",
        store: Store,
        summary: Summary,
        notices: Notices,
        page_is_unchanged: Callable[[str], object],
    ) -> None:
        """Create it; *page_is_unchanged* is called with the URL of each page answered by 304."""
        self._notices = notices
        self._leaves: Leaves | None = None
        self._rules: UrlRules | None = None
        put_off = self._put_off = PutOffRequests(crawler, settings.job, summary.count)
        known = []
        if isinstance(store, SqliteStore):
            store.remember_requests()
            known = [rule for rule in store.url_rules() if rule.kind != NOT_MODIFIED]
            if settings.revisits.need_leaves:
                self._leaves = Leaves(crawler, settings.revisits, store, put_off, page_is_unchanged)
        if settings.skip_urls:
            rules = self._rules = UrlRules(store, put_off, known)
            crawler.signals.connect(rules.spider_idles, signals.spider_idle)
        summary.saved_requests = self.figures

    def hold_back(self, request: Request, state: ResponseState) -> bool:
        """Return whether *request*, one of the page of *state*, is not to be scheduled."""
        note_link(request)
        if self._rules:
            self._rules.note_lead(request, state)
        return self._leaves is not None and self._leaves.hold_back(request)

    def request_leaves(self, request: Request) -> None:
        """Raise IgnoreRequest if *request* need not be sent; else it may ask for changes only."""
        is_held_back = False
        try:
            is_held_back = self._rules is not None and self._rules.hold_back(request)
            if self._leaves and not is_held_back:
                self._leaves.ask(request)
        except Exception:
            self._notices.count_error("the request of <%s>", request.url)
        if is_held_back:
            request.errback = None  # nothing has failed
            raise IgnoreRequest("what it asks for is known")

    def response_arrives(self, request: Request, response: Response) -> Request | Response:
        """Return *response*, or what takes its place."""
        return self._leaves.answer(request, response) if self._leaves else response

    def page_settles(self, state: ResponseState, failed: bool) -> None:
        """Learn from the page of *state*, of which all is known; *failed*: something has."""
        try:
            if self._leaves:
                self._leaves.page_settles(state, failed=failed)
            if self._rules:
                self._rules.page_settles(state, failed=failed)
        except Exception:
            self._notices.count_error("what %s leads to", repr(state.response))

    def figures(self) -> dict[str, Any]:
        """Return what a report says of saved requests."""
        rules = self._rules.figures() if self._rules else []
        return {"reasons": dict(self._put_off.saved), "rules": rules}

    def close(self, reason: str) -> None:
        """Forget what was put off, unless a job goes on after the *reason* of the crawl's end."""
        self._put_off.close(has_finished=reason == "finished")
