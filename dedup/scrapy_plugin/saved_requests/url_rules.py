"""URLs that are known to be copies (DEDUP_SKIP_URLS): parts of URLs that change nothing.

Source: as `dedup.url_advice`, but while the crawl runs. What counts is not whether texts are equal,
but whether fetching a page that differs from another in this part alone has led to anything new.
"""

import re
from collections.abc import Iterator
from hashlib import blake2b
from typing import Any

from scrapy import Request

from dedup.logs import get_logger
from dedup.preference import Copy, clean_url
from dedup.rule import Kind
from dedup.scrapy_plugin.plain_requests import is_plain_link
from dedup.scrapy_plugin.response_state import ResponseState
from dedup.scrapy_plugin.saved_requests.leaves import KNOWN, first_url, is_a_test, is_asked_again
from dedup.scrapy_plugin.saved_requests.put_off import PutOffRequests
from dedup.scrapy_plugin.saved_requests.savings import Savings
from dedup.stores.base import Store
from dedup.stores.visits import UrlRule
from dedup.url_advice.urls import Part, Url, parts_of, without

logger = get_logger(__name__)

ENOUGH = 20
"""So many comparisons on a host without a counterexample make a rule."""
_KINDS = "parameter", "parameters", "slash", "index"
_MOST_PARTS, _MOST_RULES, _MOST_URLS = 12, 10_000, 2_000_000
_EXAMPLES = 3
# Page numbers, ids and languages, by their names or their values.
_OF_CONTENT = re.compile(
    r"(?:.*[_.-])?(?:id|ids|pid|nr|no|num|number|page|paged|p|pg|start|offset|from|lang|language"
    r"|locale|hl|l|q|query|search)",
    re.IGNORECASE,
)
_VALUE_OF_CONTENT = re.compile(r"\d{1,9}|[a-z]{2}(?:[-_][a-zA-Z]{2,4})?")


class UrlRules:
    """Learns which parts of URLs change nothing, and holds back requests that differ in them alone.

    A part is compared where two pages were fetched whose URLs are equal but for it. It agrees if
    all items of the later one repeat stored ones and it has no link that is new; it is no rule, nor
    ever will be, once a page gives a new item. In memory: 8 bytes for each URL and part of it, and
    what a set adds to that.
    """

    def __init__(
        self, store: Store, put_off: PutOffRequests, savings: Savings, known: list[UrlRule]
    ) -> None:
        """Create it; *known* are the rules of earlier crawls."""
        self._store = store
        self._put_off = put_off
        self._savings = savings
        self._rules = {Part(rule.kind, rule.host, rule.name): rule for rule in known}
        self._examples: dict[Part, list[str]] = {}
        # What was asked for, and of what the page was seen: URLs, and URLs without a part.
        self._requested: set[bytes] = set()
        self._seen: set[bytes] = set()

    def request_is_scheduled(self, request: Request) -> None:
        """Note that *request* is going to be sent."""
        url = Url.parse(request.url) if is_plain_link(request) else None
        if url and len(self._requested) + len(self._seen) < _MOST_URLS:
            self._requested.update(digest for _, digest in self._forms(url, request))

    def hold_back(self, request: Request, state: ResponseState) -> bool:
        """Return whether *request*, one of the page of *state*, is for a copy by a rule.

        Notes for which parts of the page's own URL the request leads to something new.
        """
        if request.method != "GET" or not is_plain_link(request):
            state.new_leads = None
            return False
        url = Url.parse(request.url)
        if url is None:
            state.new_leads = None
            return False
        forms = dict(self._forms(url, request))
        known = {part for part, digest in forms.items() if digest in self._requested}
        if None not in known and state.new_leads is not None:
            # A link without the part is new whatever that is.
            state.new_leads.append(frozenset(part for part in known if part))
        if is_asked_again(request) or request.cookies or None in known:
            return False
        active = [part for part in known if part and self._is_active(part)]
        if not active:
            return False
        name = f"{url}"
        if is_a_test(name, getattr(self._store, "run", 0)):
            for part in active:
                self._change(part, tests=1)
            self._savings.request_is_tested("url-rule")
            return False
        reasons = [*map(_reason, active), *(forms[part] for part in active)]
        if not self._put_off.add(request, reasons):
            return False
        for part in active:
            self._change(part, spared=1)
            examples = self._examples.setdefault(part, [])
            if len(examples) < _EXAMPLES:
                examples.append(request.url)
        self._savings.request_is_saved(request, "url_rule")
        return True

    def page_settles(self, state: ResponseState, *, failed: bool) -> None:
        """Compare the page of *state* with those that differ from it in a part of the URL."""
        response = state.response
        if response is None or response.request is None or not is_plain_link(response.request):
            return
        if failed:
            self.request_fails(response.request)
            return
        request = response.request
        url = Url.parse(first_url(request))
        if url is None:
            return
        kinds = {kind for kind, _ in state.outcomes}
        is_new = not kinds <= KNOWN
        is_copy = bool(kinds & {Kind.EXACT, Kind.NEAR}) and Kind.UNCHANGED not in kinds
        leads = state.new_leads
        for part, digest in self._forms(url, request):
            if part is None:
                continue
            if digest in self._seen:
                leads_on = leads is None or any(part not in known for known in leads)
                if is_new or (not kinds and leads_on):
                    self._contradict(part, request.url)
                elif is_copy and not leads_on:
                    self._change(part, agreed=1)
            elif len(self._requested) + len(self._seen) < _MOST_URLS:
                self._seen.add(digest)

    def request_fails(self, request: Request) -> None:
        """Send what was not sent since *request* was to bring the same: that has failed."""
        url = Url.parse(first_url(request))
        if url is None or request.method != "GET":
            return
        for _, digest in self._forms(url, request):
            self._requested.discard(digest)
            self._put_off.send(digest)

    def _forms(self, url: Url, request: Request) -> Iterator[tuple[Part | None, bytes]]:
        """Yield the parts of *url*, each with what stands for it without the part: 8 bytes.

        First ``None``, with what stands for the whole URL.
        """
        callback = f"{getattr(request.callback, '__qualname__', '')} {request.meta.get('rule')}"
        yield None, _digest(url, None, callback)
        if not (url.query or url.path != "/"):
            return
        parts = (part for part in parts_of(url) if part.kind in _KINDS and _may_change(part, url))
        for number, part in enumerate(parts):
            if number == _MOST_PARTS:
                return
            yield part, _digest(without(url, part), part, callback)

    def _is_active(self, part: Part) -> bool:
        rule = self._rules.get(part)
        return rule is not None and rule.agreed >= ENOUGH and not rule.broken

    def _change(self, part: Part, **by: int) -> UrlRule | None:
        """Add to the figures of the rule for *part*; ``None`` if there are too many."""
        rule = self._rules.get(part)
        if rule is None:
            if len(self._rules) >= _MOST_RULES:
                return None
            rule = UrlRule(*part)
        changes = {name: getattr(rule, name) + number for name, number in by.items()}
        rule = self._rules[part] = rule._replace(**changes)
        self._store.note_url_rule(rule)
        return rule

    def _contradict(self, part: Part, url: str) -> None:
        """The page at *url* is not the same without *part*: that is no rule from here on."""
        was_active = self._is_active(part)
        self._change(part, broken=1)
        if not was_active:
            return
        self._savings.rule_breaks("url-rule")
        sent = self._put_off.send(_reason(part))
        logger.warning(
            "The %s %r of URLs on %s changes the content after all, here <%s>: %d requests that "
            "were not sent for it are sent now", part.kind, part.name, part.host, url, sent,
        )  # fmt: skip

    def figures(self) -> list[dict[str, Any]]:
        """Return the rules that have spared requests, or were broken, the best first."""
        shown = [
            rule for part, rule in self._rules.items()
            if rule.spared or self._is_active(part) or (rule.broken and rule.agreed >= ENOUGH)
        ]  # fmt: skip
        return [
            {
                **rule._asdict(),
                "broken": bool(rule.broken),
                "examples": self._examples.get(Part(rule.kind, rule.host, rule.name), []),
            }
            for rule in sorted(shown, key=lambda rule: -rule.spared)[:100]
        ]


def _may_change(part: Part, url: Url) -> bool:
    """Return whether there may be a rule for *part*: no page number, no id and no language."""
    if part.kind not in ("parameter", "parameters"):
        return True
    values = dict(pair.partition("=")[::2] for pair in url.query)
    for name in part.names:
        # Of sessions, tracking and print views, whatever their values are.
        if clean_url(Copy(f"http://a/?{name}={values.get(name, '')}")) > 1:
            continue
        if _OF_CONTENT.fullmatch(name) or _VALUE_OF_CONTENT.fullmatch(values.get(name, "")):
            return False
    return True


def _digest(url: Url, part: Part | None, callback: str) -> bytes:
    data = f"{url}\0{part}\0{callback}".encode("utf-8", "replace")
    return blake2b(data, digest_size=8).digest()


def _reason(part: Part) -> bytes:
    return "\0".join(part).encode("utf-8", "replace")
