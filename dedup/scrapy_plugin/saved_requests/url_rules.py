"""URLs that are known to be copies (DEDUP_SKIP_URLS): parts of URLs that change nothing.

Source: as `dedup.url_advice`, but while the crawl runs. What counts is not whether texts are equal,
but whether fetching a page that differs from another in this part alone has led to anything new.
"""

import re
from collections import Counter
from collections.abc import Iterator
from hashlib import blake2b
from itertools import chain, islice
from typing import Any, NamedTuple

from scrapy import Request

from dedup.logs import get_logger
from dedup.preference import Copy, clean_url
from dedup.rule import Kind
from dedup.scrapy_plugin.plain_requests import first_url, is_link, is_plain_link
from dedup.scrapy_plugin.response_state import ResponseState
from dedup.scrapy_plugin.saved_requests.leaves import (
    KNOWN,
    callback_of,
    is_a_test,
    is_asked_again,
)
from dedup.scrapy_plugin.saved_requests.put_off import LENGTH_OF_PAGE, PutOffRequests
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
# Page numbers, ids and languages: the last word of a name, or the value.
_OF_CONTENT = frozenset(
    """
    from hl id ids l lang language locale nr no num number offset p page paged pg pid q query
    search start
    """.split()
)
_BETWEEN_WORDS = re.compile(r"[_.-]|(?<=[a-z])(?=[A-Z])")
_VALUE_OF_CONTENT = re.compile(r"\d{1,9}|[a-z]{2}(?:[-_](?:[a-zA-Z]{2}|[hH]an[st]))?")


class _Form(NamedTuple):
    """A URL without a *part* of it, or the whole one; 8 bytes stand for it.

    *base* stands for the address that it is then, which may be asked for itself.
    """

    part: Part
    digest: bytes
    base: bytes

    def is_in(self, known: set[bytes]) -> bool:
        """Return whether *known* has this form of a URL, or the address."""
        return self.digest in known or self.base in known


class UrlRules:
    """Learns which parts of URLs change nothing, and holds back requests that differ in them alone.

    A part is compared where two pages were fetched whose URLs are equal but for it. It agrees if
    all items of the later one repeat stored ones and it has no link that is new; it is no rule, nor
    ever will be, once a page gives a new item. Pages without items stand for no others: a part that
    means nothing to products may choose what a list has. In memory: 16 bytes for each URL and part
    of it, and what sets add to that.
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
        self._tests: Counter[Part] = Counter()
        # What has spared requests since it was tested at the end, also before an interruption.
        self._untested = set(filter(None, map(_part_of, put_off.reasons())))
        # URLs, and URLs without a part: what some page has led to, and of what the page was seen.
        self._leads: set[bytes] = set()
        self._seen: set[bytes] = set()
        # URLs that are on their way, or were seen; and those that are not sent as copies of these.
        self._requested: set[bytes] = set()
        self._copies: set[bytes] = set()
        # What is sent to test a rule at the end.
        self._tested_at_end: dict[bytes, Part] = {}
        self._part_to_test: Part | None = None
        self._last_scheduled: tuple[Request | None, bytes | None] = None, None

    def request_is_scheduled(self, request: Request) -> None:
        """Note that *request* is going to be sent."""
        url = Url.parse(request.url) if is_plain_link(request) else None
        if url and self._has_room:
            whole, *forms = _forms(url, request)
            self._leads.update(form.digest for form in (whole, *forms))
            if whole.digest not in self._requested:
                self._requested.add(whole.digest)
                self._last_scheduled = request, whole.digest
            if self._part_to_test:
                self._tested_at_end[whole.digest] = self._part_to_test

    @property
    def _has_room(self) -> bool:
        return len(self._requested) + len(self._leads) + len(self._seen) < _MOST_URLS

    def request_is_dropped(self, request: Request) -> None:
        """The scheduler has refused *request*: one with another callback has its URL."""
        last, new = self._last_scheduled
        if request is last and new:
            self._requested.discard(new)

    def note_lead(self, request: Request, state: ResponseState) -> None:
        """Note without which parts of URLs the *request* of a page leads to nothing new."""
        url = Url.parse(request.url) if is_plain_link(request) else None
        if url is None:
            state.new_leads = None
        elif state.new_leads is not None:
            whole, *forms = _forms(url, request)
            if whole.digest not in self._leads:
                known = (form.part for form in forms if form.is_in(self._leads))
                state.new_leads.append(frozenset(known))
            if self._has_room:  # to follow it once suffices, whatever comes of it
                self._leads.update(form.digest for form in (whole, *forms))

    def hold_back(self, request: Request) -> bool:
        """Return whether *request*, which is about to be sent, is for a copy by a rule."""
        active = list(self._rules_for(request))
        if not active:
            return False
        parts = [form.part for form in active]
        if is_a_test(request.url, getattr(self._store, "run", 0)):
            for part in parts:
                self._note_tests(part, 1)
            return False
        # Unless the page was seen, it waits for that of its address without the part.
        has_come = any(form.is_in(self._seen) or form.base in self._copies for form in active)
        base = None if has_come else active[0].base
        reasons = chain(map(_reason, parts), [base] if base else [])
        if not self._put_off.add(request, reasons, "url_rule"):
            return False
        if url := Url.parse(request.url):
            own = next(_forms(url, request)).digest
            self._put_off.page_comes(own, instead=base)
            if base:
                self._requested.discard(own)
            else:
                self._copies.add(own)
        for part in parts:
            self._change(part, spared=1)
            self._untested.add(part)
            examples = self._examples.setdefault(part, [])
            if len(examples) < _EXAMPLES:
                examples.append(request.url)
        return True

    def _rules_for(self, request: Request) -> Iterator[_Form]:
        """Yield those forms of *request* by which it is a copy."""
        if not is_link(request) or is_asked_again(request):
            return
        url = Url.parse(request.url) if is_plain_link(request) and not request.cookies else None
        for form in islice(_forms(url, request), 1, None) if url else ():
            # Its address without the part was asked for, or one with another value was seen.
            is_known = form.base in self._requested or form.digest in self._seen
            if is_known and self._is_active(form.part):
                yield form

    def page_settles(self, state: ResponseState, *, failed: bool) -> None:
        """Compare the page of *state* with those that differ from it in a part of the URL."""
        response = state.response
        request = response.request if response is not None else None
        if request is None or not is_plain_link(request):
            return
        url = Url.parse(first_url(request))
        if failed or url is None:
            self.request_fails(request)
            return
        whole, *forms = _forms(url, request)
        if whole.digest in self._seen:  # met again, so there is nothing to compare
            return
        tested = self._tested_at_end.pop(whole.digest, None)
        if state.outcomes or state.leads_on:
            for form in forms:
                if form.is_in(self._seen) or form.part == tested:
                    self._compare(form.part, state, request.url)
        if not state.outcomes:  # a list, or a notice in place of the page
            self.request_fails(request)
            return
        self._put_off.page_comes(whole.digest)
        if self._has_room:
            self._seen.update(form.digest for form in (whole, *forms))

    def _compare(self, part: Part, state: ResponseState, url: str) -> None:
        """Learn of *part* from a page whose URL differs in it alone from that of an earlier one."""
        kinds, leads = {kind for kind, _ in state.outcomes}, state.new_leads
        leads_on = leads is None or any(part not in known for known in leads)
        if not kinds <= KNOWN or (not kinds and leads_on):
            self._contradict(part, url)
        elif kinds & {Kind.EXACT, Kind.NEAR} and Kind.UNCHANGED not in kinds and not leads_on:
            self._change(part, agreed=1)

    def spider_idles(self) -> None:
        """Before the crawl ends, send what waits for pages that have not come, and test the rules.

        Each rule as often as it was compared to be one, by requests that it has spared, here and
        there. Then a part that means something on a quarter of the pages has escaped three times in
        a thousand.
        """
        self._note_sent(self._put_off.send_waiting())
        untested, self._untested = self._untested, set()
        for part in untested:
            if self._is_active(part):
                most = max(1, ENOUGH - self._tests[part])
                self._part_to_test = part
                self._note_tests(part, self._send(_reason(part), most))
                self._part_to_test = None
            else:  # what was known of it was lost as the job was interrupted
                self._send(_reason(part))

    def _send(self, reason: bytes, most: int = -1) -> int:
        """Send what was not sent for *reason*, *most* of it; return how many requests."""
        sent = self._put_off.send(reason, most)
        self._note_sent(sent)
        return sent[reason]

    def _note_sent(self, sent: Counter[bytes]) -> None:
        """Note that requests are *sent* after all, by the reasons for which they were not."""
        for reason, number in sent.items():
            part = _part_of(reason)
            if part in self._rules:
                self._change(part, spared=-number)

    def _note_tests(self, part: Part, number: int) -> None:
        self._tests[part] += number
        self._change(part, tests=number)
        for _ in range(number):
            self._savings.request_is_tested("url-rule")

    def request_fails(self, request: Request) -> None:
        """Send what was not sent since *request* was to bring the same: that has failed."""
        url = Url.parse(first_url(request))
        if url and request.method == "GET":
            digest = next(_forms(url, request)).digest
            self._requested.discard(digest)
            self._send(digest)

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
        sent = self._send(_reason(part))
        if not (was_active or sent):
            return
        self._savings.rule_breaks("url-rule")
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


_WHOLE = Part("", "", "")


def _forms(url: Url, request: Request) -> Iterator[_Form]:
    """Yield the whole *url*, then what it is without its parts."""
    callback = callback_of(request)
    digest = _digest(url, _WHOLE, callback)
    yield _Form(_WHOLE, digest, digest)
    parts = (part for part in parts_of(url) if part.kind in _KINDS and _may_change(part, url))
    for part in islice(parts, _MOST_PARTS):
        base = without(url, part)
        yield _Form(part, _digest(base, part, callback), _digest(base, _WHOLE, callback))


def _may_change(part: Part, url: Url) -> bool:
    """Return whether there may be a rule for *part*: no page number, no id and no language."""
    if part.kind not in ("parameter", "parameters"):
        return True
    for pair in url.query:
        name, _, value = pair.partition("=")
        # Of sessions, tracking and print views, whatever their values are.
        if name not in part.names or clean_url(Copy(f"http://a/?{pair}")) > 1:
            continue
        last_word = _BETWEEN_WORDS.split(name)[-1].lower()
        if last_word in _OF_CONTENT or _VALUE_OF_CONTENT.fullmatch(value):
            return False
    return True


def _digest(url: Url, part: Part, callback: str) -> bytes:
    data = f"{url}\0{part}\0{callback}".encode("utf-8", "replace")
    return blake2b(data, digest_size=LENGTH_OF_PAGE).digest()


def _reason(part: Part) -> bytes:
    return "\0".join(part).encode("utf-8", "replace")


def _part_of(reason: bytes) -> Part | None:
    """Return the part of which `_reason` has made *reason*, if it is one."""
    names = reason.decode("utf-8", "replace").split("\0")
    return Part(*names) if len(names) == 3 and len(reason) != LENGTH_OF_PAGE else None
