"""Responses on their way through callback, pipelines and feeds, and what became of them."""

from collections.abc import Callable, Collection, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import count
from time import time
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary, WeakValueDictionary, ref

from scrapy.http import Response

from dedup.claim import Claim
from dedup.item_values import PageOfItem
from dedup.page import Page
from dedup.record import PageRecord, with_digest
from dedup.rule import Kind, Verdict
from dedup.scrapy_plugin.feed import Feed

KNOWN = frozenset([Kind.EXACT, Kind.NEAR, Kind.UNCHANGED, Kind.REPEATED])
"""What is dropped with these verdicts is stored."""
Renew: TypeAlias = Callable[[PageRecord, Mapping[int, Collection[bytes]]], object]
"""Has a page that says less than before take the place of what is stored of it."""
Settled: TypeAlias = Callable[["ResponseState", bool], object]
"""Is told that all is known of what became of a response, and whether anything has failed."""
EndClaim: TypeAlias = Callable[[Claim, bool, Collection[Feed]], object]
"""Ends a claim: whether its content is stored, if the batches that have it are."""


@dataclass(slots=True, eq=False)
class Judgement:
    """The verdict on a page or an item, what was read of it, and the key that stands for it."""

    verdict: Verdict
    page: Page | None = None
    key: str = ""
    record: PageRecord | None = None
    """What stood for the page in the comparison, if there was one."""
    claim: Claim | None = None
    """That on the content of the page, if an item of it is new."""
    size: int = 0
    """The bytes of what was judged."""
    differences: Mapping[str, str] | None = None
    """What the item says and no stored one does, though its page repeats that of one."""

    @property
    def is_known(self) -> bool:
        """Whether the content is stored."""
        return self.verdict.kind in KNOWN


@dataclass(slots=True, eq=False, weakref_slot=True)
class ResponseState:
    """A response on its way: what was read of it, the verdicts on it, and what became of its items.

    The claims of its page are committed when its callback has ended without an exception, even one
    that a middleware has handled, and all of its items have passed the pipelines and the feed
    export, but for those that were dropped on purpose; at least one that the claim is for has to be
    stored. Else they are released. They stay open if nobody tells what became of an item: one copy
    waits for that, and no other. Nobody can say which claim an item is for that was not recognised:
    it is for none. Items in batches are stored with these.
    """

    of: "ref[Response]"
    states: "ResponseStates"
    began: float = field(default_factory=time)
    """When the callback was about to run: Unix time."""
    page: Page | None = None
    """What was read of it."""
    needs_page: bool = False
    """Whether anybody has asked for that."""
    page_of_items: PageOfItem | None = None
    """What the values of its items are held against."""
    judgements: dict[tuple[str | None, bytes], Judgement] = field(default_factory=dict)
    """By where its items are compared, and what they say."""
    counted_as: Judgement | None = None
    """The first one, but that of a new item before those of known ones."""
    is_counted: bool = False
    told_originals: set[str | None] = field(default_factory=set)
    """The pages for which the log has told that it is dropped."""
    said: dict[PageRecord, dict[int, list[bytes]]] = field(default_factory=dict)
    """What was said again of stored pages under its key, by their numbers."""
    skipped: dict[str, Judgement] = field(default_factory=dict)
    """On items of which neither is known, by the reason for that."""
    item_states: "set[ItemState]" = field(default_factory=set)
    """Its items that left for the pipelines, up to ours."""
    claims: list[Claim] = field(default_factory=list)
    """All that were made for it, also those that have ended."""
    open_outputs: int = 0
    unread_outputs: int = 0
    """Outputs of its callback that nobody has read to their ends, as far as that is known."""
    items_under_way: int = 0
    batches: set[Feed] = field(default_factory=set)
    """Those of feeds that have items of it."""
    outcomes: set[tuple[Judgement | None, bool]] = field(default_factory=set)
    """Of its items: what was said of them, if they were recognised, and whether they are stored."""
    leads_on: bool = False
    """Whether its callback has yielded a request."""
    compared: PageRecord | None = None
    links: set[bytes] | None = None
    """Where links of duplicates are not followed: 8 bytes of each that it has led to, and what the
    page is compared by, if it is."""
    new_leads: list[frozenset[Any]] | None = field(default_factory=list)
    """Of each request that leads to a new URL, the parts of URLs without which it would not;
    ``None`` if a request is no plain link."""
    callback_has_failed: bool = False
    """Whether it has raised an exception, handled or not, or was not read to its end."""
    item_has_failed: bool = False

    @property
    def response(self) -> Response | None:
        """The response, while somebody else has it."""
        return self.of()

    @property
    def kinds(self) -> set[Kind | None]:
        """The verdicts on its items that have ended, as far as these were recognised."""
        return {one.verdict.kind if one else None for one, _ in self.outcomes}

    def item_is_judged(
        self, record: PageRecord, verdict: Verdict, claim: Claim | None, number: int | None
    ) -> None:
        """Note the *claim* on an item, or that it says again what stored page *number* says."""
        if claim and claim not in self.claims:
            self.claims.append(claim)
        if verdict.kind is Kind.UNCHANGED and number is not None and verdict.original == record.key:
            of_page = with_digest(record._replace(item=b""))  # as its claim has it
            self.said.setdefault(of_page, {}).setdefault(number, []).append(record.item)

    def output_ends(self, *, failed: bool) -> None:
        """The output of a callback has ended; *failed*: with an exception."""
        self.open_outputs -= 1
        self.callback_has_failed |= failed or self.unread_outputs > 0
        self._settle()

    def item_ends(
        self,
        *,
        stored: bool,
        failed: bool,
        batches: Collection[Feed] = (),
        judgement: Judgement | None = None,
    ) -> None:
        """An item is stored, was dropped (neither), or has failed in a pipeline or the export."""
        self.items_under_way -= 1
        self.batches.update(batches)
        self.outcomes.add((judgement, stored))
        self.item_has_failed |= failed
        self._settle()

    def _settle(self) -> None:
        if self.open_outputs or self.items_under_way:
            return
        has_failed = self.callback_has_failed or self.item_has_failed
        said, self.said = self.said, {}
        open_claims = [claim for claim in self.claims if claim.is_open]
        stored = self._stored_by_claim() if open_claims and not has_failed else {}
        for claim in open_claims:
            if claim in stored:
                of_page = claim.record._replace(item=b"")
                again = said.pop(of_page, {})
                elsewhere = self._stored_elsewhere(of_page)
                claim.items = sorted(stored[claim].union(elsewhere, *again.values()))
                claim.replaces = tuple(sorted({*claim.replaces, *again}))
            self.states.end_claim(claim, claim in stored, self.batches)
        if not (has_failed or self.skipped):
            for record, again in said.items():
                self.states.renew(record, again)
        if self.states.settled:
            self.states.settled(self, has_failed)

    def _stored_by_claim(self) -> dict[Claim, set[bytes]]:
        """Return what the stored items of each claim say."""
        stored: dict[Claim, set[bytes]] = {}
        for judgement, is_stored in self.outcomes:
            if is_stored and judgement and judgement.claim and judgement.record:
                stored.setdefault(judgement.claim, set()).add(judgement.record.item)
        return stored

    def _stored_elsewhere(self, of_page: PageRecord) -> Iterator[bytes]:
        """Yield what was said that items of other pages say, which are stored.

        The next crawl finds the page unchanged in that, too, whatever becomes of the others.
        """
        for judgement in self.judgements.values():
            record = judgement.record if judgement.verdict.is_duplicate else None
            if record and record._replace(item=b"") == of_page:
                yield record.item


@dataclass(slots=True, eq=False, weakref_slot=True)
class ItemState:
    """An item on its way. The reference to the item keeps its identity from being reused."""

    item: Any
    state: ResponseState | None = None
    judgement: Judgement | None = None
    claim: Claim | None = None
    """That of the item alone (DEDUP_ITEM_FIELD)."""
    has_ended: bool = False


class ResponseStates:
    """The states of all responses, and the items that left these.

    Nothing can be attached to every kind of item, so an item is known by its identity from the
    spider middleware to the first pipeline, and from there on by the context in which the pipelines
    and the signals of its end run, whatever object a pipeline replaces it by. One object may be
    yielded several times, also by several pages; it is met in the order of its yields. All that is
    kept of a response goes with it, but for the open claims of items of which nobody tells what
    became.
    """

    def __init__(self, end_claim: EndClaim, renew: Renew) -> None:
        """Create it; *end_claim* is called with each claim, *renew* for pages that say less."""
        self.end_claim = end_claim
        self.renew = renew
        self.settled: Settled | None = None
        """What the states tell that all is known of them."""
        self._states: WeakKeyDictionary[Response, ResponseState] = WeakKeyDictionary()
        # By the identity of the item, in the order of their yields; the responses keep them.
        self._item_states: dict[int, WeakValueDictionary[int, ItemState]] = {}
        self._count = count()
        self._passing: ContextVar[ItemState | None] = ContextVar("dedup item", default=None)

    def of(self, response: Response) -> ResponseState:
        """Return the state of *response*, which begins with the first call."""
        state = self._states.get(response)
        if state is None:
            state = self._states[response] = ResponseState(ref(response), self)
        return state

    def item_leaves(self, item: Any, state: ResponseState, judgement: Judgement | None) -> None:
        """*item* leaves for the pipelines, with what was said of it or its page."""
        item_state = ItemState(item, state, judgement)
        state.item_states.add(item_state)
        same = self._item_states.setdefault(id(item), WeakValueDictionary())
        same[next(self._count)] = item_state
        state.items_under_way += 1

    def item_arrives(self, item: Any) -> ItemState:
        """*item* is in the first pipeline: return what was remembered of it, if anything was."""
        same = self._item_states.get(id(item), WeakValueDictionary())
        number, item_state = next(iter(same.items()), (None, ItemState(item)))
        if number is not None:
            del same[number]
        if not same:
            self._item_states.pop(id(item), None)
        if item_state.state:
            item_state.state.item_states.discard(item_state)
        self._passing.set(item_state)
        return item_state

    def item_ends(
        self, response: Any, *, stored: bool, failed: bool = False, batches: Collection[Feed] = ()
    ) -> None:
        """The item of this context, of *response*, is stored, was dropped or has failed.

        If it is stored, it is with *batches* of feeds.
        """
        state = self._states.get(response) if isinstance(response, Response) else None
        item_state, judgement = self._passing.get(), None
        if item_state and not item_state.has_ended and item_state.state in (None, state):
            item_state.has_ended = True
            judgement = item_state.judgement
            if item_state.claim:
                self.end_claim(item_state.claim, stored, batches)
        if state:  # else it is from start(), or from an errback without a response
            state.item_ends(stored=stored, failed=failed, batches=batches, judgement=judgement)
