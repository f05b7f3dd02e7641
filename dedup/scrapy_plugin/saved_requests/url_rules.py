"""URLs that are known to be copies (DEDUP_SKIP_URLS): parts of URLs that change nothing.

Source: as `dedup.url_advice`, but while the crawl runs. What counts is not whether texts are equal,
but whether fetching a page that differs from another in this part alone has led to anything new.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from itertools import islice
from typing import Any, NamedTuple

from scrapy import Request

from dedup.logs import get_logger
from dedup.preference import Copy, clean_url
from dedup.rule import Kind
from dedup.scrapy_plugin.requests import (
    callback_of,
    first_url,
    is_asked_again,
    is_link,
    is_plain_link,
)
from dedup.scrapy_plugin.response_state import KNOWN, ResponseState
from dedup.scrapy_plugin.saved_requests.put_off import PutOffRequests, is_a_test
from dedup.stores.base import Store, UrlRule
from dedup.url_advice.urls import Part, Url, parts_of, without

logger = get_logger(__name__)

ENOUGH = 20
"""So many comparisons on a host without a counterexample make a rule."""
_KINDS = "parameter", "parameters", "slash", "index"
_MOST_PARTS, _MOST_RULES, _MOST_URLS = 12, 10_000, 2_000_000
# Page numbers, ids and languages: the last word of a name, or the value.
_OF_CONTENT = frozenset(
    """
    from hl id ids l lang language locale nr no num number offset p page paged pg pid q query
    search start
    """.split()
)
_BETWEEN_WORDS = re.compile(r"[_.-]|(?<=[a-z])(?=[A-Z])")
_VALUE_OF_CONTENT = re.compile(r"\d{1,9}|[a-z]{2}(?:[-_](?:[a-zA-Z]{2}|[hH]an[st]))?")


_WHOLE = Part("", "", "")


class _Form(NamedTuple):
    """A URL without a *part* of it, or the whole one: 8 bytes stand for that *address*."""

    part: Part
    address: bytes


class _Urls:
    """URLs by their addresses, and by those that they have without a part."""

    def __init__(self) -> None:
        self._parts: dict[bytes, frozenset[Part]] = {}
        self._shared: dict[frozenset[Part], frozenset[Part]] = {}

    def add(self, forms: Iterable[_Form]) -> None:
        """Add a URL, all of whose *forms* these are."""
        for part, address in forms:
            parts = self.parts(address) | {part}
            self._parts[address] = self._shared.setdefault(parts, parts)

    def parts(self, address: bytes) -> frozenset[Part]:
        """Return the parts without which URLs have this *address*: `_WHOLE` if one has it as is."""
        return self._parts.get(address, frozenset())

    def have(self, form: _Form) -> bool:
        """Return whether a URL is there that has the address, as is or without the same part."""
        return not self.parts(form.address).isdisjoint((form.part, _WHOLE))

    def __len__(self) -> int:
        return len(self._parts)


class UrlRules:
    """Learns which parts of URLs change nothing, and holds back requests that differ in them alone.

    A part is compared where two pages were fetched whose URLs are equal but for it. It is no rule,
    nor ever will be, once the later one gives a new item, whichever of them has the part. If that
    has it, all its items repeat stored ones, and it has no link that is new, the part agrees. What
    is held back is put off until the crawl has nothing else to do: then it is sent, unless a page
    that it repeats has come by then, with items. A list stands for no other: a part that means
    nothing to products may choose what it has. In memory: 8 bytes for each URL and part of it, and
    what dicts add to that.
    """

    def __init__(self, store: Store, put_off: PutOffRequests, known: list[UrlRule]) -> None:
        """Create it; *known* are the rules of earlier crawls."""
        self._store = store
        self._put_off = put_off
        self._rules = {Part(rule.kind, rule.host, rule.name): rule for rule in known}
        self._tests: Counter[Part] = Counter()
        self._untested: set[Part] = set()
        # What some page has led to, and what was seen.
        self._leads, self._seen = _Urls(), _Urls()

    @property
    def _has_room(self) -> bool:
        return len(self._leads) + len(self._seen) < _MOST_URLS

    def note_lead(self, request: Request, state: ResponseState) -> None:
        """Note without which parts of URLs the *request* of a page leads to nothing new."""
        url = Url.parse(request.url) if is_plain_link(request) else None
        if url is None:
            state.new_leads = None
            return
        whole, *forms = _forms(url, request)
        if state.new_leads is not None and not self._leads.have(whole):
            known = (form.part for form in forms if self._leads.have(form))
            state.new_leads.append(frozenset(known))
        if self._has_room:  # to follow it once suffices, whatever comes of it
            self._leads.add((whole, *forms))

    def hold_back(self, request: Request) -> bool:
        """Return whether *request*, which is about to be sent, is for a copy by a rule."""
        if not is_link(request) or is_asked_again(request) or request.cookies:
            return False
        url = Url.parse(request.url) if is_plain_link(request) else None
        if url is None:
            return False
        # Its address without the part was asked for, or one with another value was seen.
        whole, *forms = _forms(url, request)
        copies = [form for form in forms if self._is_active(form.part)]
        of_seen = next(filter(self._seen.have, copies), None)
        of_lead = (form for form in copies if _WHOLE in self._leads.parts(form.address))
        form = of_seen or next(of_lead, None)
        if form is None:
            return False
        part = form.part
        if is_a_test(request.url, getattr(self._store, "run", 0)):
            self._note_tests(part, 1)
            return False
        addresses = whole.address, form.address
        if not self._put_off.add(request, _reason(part), "url_rule", *addresses):
            return False
        self._change(part, spared=1)
        self._untested.add(part)
        return True

    def page_settles(self, state: ResponseState, *, failed: bool) -> None:
        """Compare the page of *state* with those that differ from it in a part of the URL."""
        response = state.response
        request = response.request if response is not None else None
        if failed or request is None or not is_plain_link(request):
            return
        if (url := Url.parse(first_url(request))) is None:
            return
        whole, *forms = _forms(url, request)
        if self._seen.have(whole):  # met again, so there is nothing to compare
            return
        if state.outcomes or state.leads_on:
            for form in filter(self._seen.have, forms):
                self._compare(form.part, state, request.url)
        if not state.kinds <= KNOWN:
            for part in self._seen.parts(whole.address):
                self._contradict(part, request.url)
        if state.outcomes and self._has_room:  # else it is a list, or a notice in place of the page
            self._seen.add((whole, *forms))

    def _compare(self, part: Part, state: ResponseState, url: str) -> None:
        """Learn of *part* from a page whose URL differs in it alone from that of an earlier one."""
        kinds, leads = state.kinds, state.new_leads
        leads_on = leads is None or any(part not in known for known in leads)
        if not kinds <= KNOWN or (not kinds and leads_on):
            self._contradict(part, url)
        elif kinds & {Kind.EXACT, Kind.NEAR} and Kind.UNCHANGED not in kinds and not leads_on:
            self._change(part, agreed=1)

    def spider_idles(self) -> None:
        """Before the crawl ends, send what repeats pages that have not come, and test the rules."""
        self._note_sent(self._put_off.send_waiting(self._has_come))
        self._test_rules()

    def _has_come(self, reason: bytes, address: bytes) -> bool:
        return self._seen.have(_Form(_part_of(reason) or _WHOLE, address))

    def _test_rules(self) -> None:
        """Test each rule by requests that it has spared, as often as it was compared to be one.

        Then a part that means something on a quarter of the pages has escaped three times in a
        thousand.
        """
        untested, self._untested = self._untested, set()
        for part in untested:
            if self._is_active(part):
                sent = self._send(part, max(1, ENOUGH - self._tests[part]))
                self._note_tests(part, len(sent))

    def _send(self, part: Part, most: int = -1) -> list[bytes]:
        sent = self._put_off.send(_reason(part), most)
        self._note_sent(sent)
        return sent

    def _note_sent(self, sent: list[bytes]) -> None:
        for reason, number in Counter(sent).items():
            if (part := _part_of(reason)) in self._rules:
                self._change(part, spared=-number)

    def _note_tests(self, part: Part, number: int) -> None:
        self._tests[part] += number
        self._change(part, tests=number)
        self._put_off.count("saved_requests/tests/url-rule", number)

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
        sent = len(self._send(part))
        if not (was_active or sent):
            return
        self._put_off.count("saved_requests/contradictions/url-rule")
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
        best = sorted(shown, key=lambda rule: -rule.spared)[:100]
        return [{**rule._asdict(), "broken": bool(rule.broken)} for rule in best]


def _forms(url: Url, request: Request) -> Iterator[_Form]:
    """Yield the whole *url*, then what it is without its parts."""
    callback = callback_of(request)
    yield _Form(_WHOLE, _digest(url, callback))
    parts = (part for part in parts_of(url) if part.kind in _KINDS and _may_change(part, url))
    for part in islice(parts, _MOST_PARTS):
        yield _Form(part, _digest(without(url, part), callback))


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


def _digest(url: Url, callback: str) -> bytes:
    data = f"{url}\0{callback}".encode("utf-8", "replace")
    return blake2b(data, digest_size=8).digest()


def _reason(part: Part) -> bytes:
    return "\0".join(part).encode("utf-8", "replace")


def _part_of(reason: bytes) -> Part | None:
    names = reason.decode("utf-8", "replace").split("\0")
    return Part(*names) if len(names) == 3 else None
