"""What becomes of the items of a page: whether it is stored."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from weakref import finalize

from dedup.claims import Claim


@dataclass(slots=True, eq=False)
class _Outcome:
    """The items of one response: how many are on their way, and what became of the others."""

    open_outputs: int = 0
    items_under_way: int = 0
    items_stored: int = 0
    has_failed: bool = False
    claims: list[tuple[Claim, int | None]] = field(default_factory=list)
    """The claims made for the response, and the identity of the item if it was for a single one."""

    @property
    def is_complete(self) -> bool:
        return not (self.open_outputs or self.items_under_way)

    @property
    def is_stored(self) -> bool:
        return self.items_stored > 0 and not self.has_failed


class Outcomes:
    """Ends each claim by what became of the items it was made for.

    The claim of a page is committed when its callback has ended without an exception and all of its
    items have passed the pipelines and the feed export, but for those that were dropped on purpose;
    at least one has to be stored. Else it is released, as when the response is gone and nobody
    tells what became of an item. The claim of a single item (DEDUP_ITEM_FIELD) ends with it; if a
    pipeline replaced the item by another object, with the page.
    """

    def __init__(self, end: Callable[[Claim, bool], object]) -> None:
        """Create it; *end* is called with each claim, and whether what it is for was stored."""
        self._end = end
        self._by_response: dict[int, _Outcome] = {}
        # The item is kept, so that no other one gets its identity.
        self._of_items: dict[int, tuple[Any, Claim]] = {}

    def _of(self, response: Any) -> _Outcome:
        outcome = self._by_response.get(id(response))
        if outcome is None:
            outcome = self._by_response[id(response)] = _Outcome()
            finalize(response, self._response_is_gone, id(response)).atexit = False
        return outcome

    def claimed(self, claim: Claim, response: Any, item: Any = None) -> None:
        """Remember that *claim* was made for *item*, or for all items of *response*."""
        item_id = None if item is None else id(item)
        if item_id is not None:
            self._of_items[item_id] = item, claim
        if response is not None:
            self._of(response).claims.append((claim, item_id))

    def output_begins(self, response: Any) -> None:
        """A callback's output for *response* begins; there may be several of one response."""
        self._of(response).open_outputs += 1

    def item_leaves(self, response: Any) -> None:
        """An item of *response* leaves for the pipelines."""
        self._of(response).items_under_way += 1

    def output_ends(self, response: Any, *, failed: bool) -> None:
        """A callback's output for *response* has ended; *failed*: with an exception."""
        outcome = self._of(response)
        outcome.open_outputs -= 1
        outcome.has_failed |= failed
        self._settle(outcome)

    def item_ends(self, item: Any, response: Any, *, stored: bool, failed: bool = False) -> None:
        """*item* is stored, was dropped (neither), or has failed in a pipeline or the export."""
        _, claim = self._of_items.pop(id(item), (None, None))
        if claim:
            self._end_once(claim, stored)
        outcome = self._by_response.get(id(response))
        if outcome is None:  # from start(), or an errback without a response
            return
        outcome.items_under_way -= 1
        outcome.items_stored += stored
        outcome.has_failed |= failed
        self._settle(outcome)

    def _settle(self, outcome: _Outcome) -> None:
        if not outcome.is_complete:
            return
        self._end_all(outcome, outcome.is_stored)

    def _response_is_gone(self, response_id: int) -> None:
        self._end_all(self._by_response.pop(response_id), False)

    def _end_all(self, outcome: _Outcome, is_stored: bool) -> None:
        claims, outcome.claims = outcome.claims, []
        for claim, item_id in claims:
            # An item that a pipeline replaced by another object ends under that one's identity.
            if item_id is not None and self._of_items.get(item_id, (None, None))[1] is claim:
                del self._of_items[item_id]
            self._end_once(claim, is_stored)

    def _end_once(self, claim: Claim, is_stored: bool) -> None:
        if claim.is_open:
            self._end(claim, is_stored)
