"""Claims that the log of a store does not have, and how many of them are made at a time."""

from collections.abc import Sequence

from dedup.claim import Claim

_MOST = 1000
"""How many are made at a time: a long outage leaves many."""


class LateClaims:
    """The claims that wait until the log of a store takes them, the oldest first.

    The store could not be reached, has lost them, or gave them to others. They are made with the
    next exchange, or one of the next, unless their pages were not stored.
    """

    def __init__(self) -> None:
        self._claims: list[Claim] = []

    def add(self, claim: Claim) -> None:
        """Have *claim* wait, which the log does not have, or not any more."""
        claim.claimed = claim.claimed._replace(number=-1)
        self._claims.append(claim)

    def next_ones(self) -> list[Claim]:
        """Return those that are made next, without those whose pages were not stored."""
        self._claims = [claim for claim in self._claims if claim.is_open or claim.is_stored]
        return self._claims[:_MOST]

    def remove(self, claims: Sequence[Claim]) -> None:
        """Have *claims*, the next ones, wait no longer: the log has them."""
        del self._claims[: len(claims)]

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
        return sum(claim.is_stored for claim in self._claims)
