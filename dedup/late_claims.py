"""Claims that the log of a store does not have, and how many of them are made at a time."""

from collections.abc import Callable, Sequence

from dedup.claim import Claim
from dedup.logs import get_logger

logger = get_logger(__name__)

_MOST = 1000
"""How many are made at a time: a long outage leaves many."""


class LateClaims:
    """The claims that wait until the log of a store takes them, the oldest first.

    The store could not be reached, has lost them, or gave them to others. They are made with the
    next exchange, or one of the next, unless their pages were not stored.

    If the store refuses claims, new ones are sent without late ones. These are then made by
    themselves, in ever smaller batches; one that is refused alone is given up: its page is stored,
    and not remembered.
    """

    def __init__(self, store: str, count: Callable[[str], object]) -> None:
        """Create it without claims; *store* is its name for the log, *count* as for `Follower`."""
        self._store = store
        self._count = count
        self._claims: list[Claim] = []
        # As many as are made at a time: fewer, from a refusal until there are none left.
        self._at_a_time = _MOST
        self._given_up: list[Claim] = []

    def add(self, claim: Claim) -> None:
        """Have *claim* wait, which the log does not have, or not any more."""
        claim.claimed = claim.claimed._replace(number=-1)
        self._claims.append(claim)

    def those_with_others(self) -> list[Claim]:
        """Return those that are sent with new claims: the next ones, if none was refused."""
        return self.next_ones() if self._at_a_time == _MOST else []

    def next_ones(self) -> list[Claim]:
        """Return those that are made next, without those whose pages were not stored."""
        self._claims = [claim for claim in self._claims if claim.is_open or claim.is_stored]
        return self._claims[: self._at_a_time]

    def remove(self, claims: Sequence[Claim]) -> None:
        """Have *claims*, the next ones, wait no longer: the log has them."""
        del self._claims[: len(claims)]

    def others_were_refused(self) -> None:
        """Send no more late claims together with new ones: the store has refused such claims."""
        self._at_a_time = min(self._at_a_time, _MOST // 2)

    def were_refused(self, claims: Sequence[Claim], error: Exception) -> None:
        """Have fewer than *claims* be made the next time; one alone is given up."""
        self._at_a_time = max(len(claims) // 2, 1)
        if len(claims) == 1:
            self._give_up(claims[0], error)
        self._have_all_made_if_none_are_left()

    def were_made(self) -> None:
        """Have more be made the next time."""
        if self._at_a_time < _MOST:
            self._at_a_time = min(2 * self._at_a_time, _MOST // 2)
        self._have_all_made_if_none_are_left()

    def _have_all_made_if_none_are_left(self) -> None:
        if not self._claims:
            self._at_a_time = _MOST

    def _give_up(self, claim: Claim, error: Exception) -> None:
        self._claims.remove(claim)
        self._count("claims/refused")
        if not self._given_up:
            logger.warning(
                "%s refuses <%s>, which is kept, and not remembered there: %s",
                self._store, claim.record.key, error,
            )  # fmt: skip
        self._given_up.append(claim)

    def forget_replaced(self) -> None:
        """Have the claims replace nothing: those numbers may be those of other pages now."""
        for claim in self._claims:
            claim.replaces = ()

    def __bool__(self) -> bool:
        """Whether any are to be made."""
        return any(claim.is_open or claim.is_stored for claim in self._claims)

    @property
    def stored(self) -> int:
        """The number of stored pages that the log does not have."""
        return sum(claim.is_stored for claim in (*self._claims, *self._given_up))
