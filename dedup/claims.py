"""Claims: pages that are on their way into the store, and may not get there."""

from collections.abc import Callable, Sequence

from dedup.methods import Method
from dedup.page import Page


class Claim:
    """A reservation of a content for one page, open until it is committed or released.

    *replaces*: the numbers of stored pages whose place it takes when it is committed.
    """

    def __init__(
        self, key: str, page: Page, scope: str, *, is_short: bool, replaces: Sequence[int] = ()
    ) -> None:
        self.key = key
        self.page = page
        self.scope = scope
        self.is_short = is_short
        self.replaces = replaces
        self.is_open = True
        self._waiting: list[Callable[[], object]] = []

    def when_ended(self, callback: Callable[[], object]) -> None:
        """Have *callback* called when the claim is committed or released; now if it has been."""
        if self.is_open:
            self._waiting.append(callback)
        else:
            callback()

    def end(self) -> None:
        """Close the claim and call who waits, the first one first."""
        self.is_open = False
        waiting, self._waiting = self._waiting, []
        for callback in waiting:
            callback()


class OpenClaims:
    """The open claims of one scope, which are few: each page is compared with all of them."""

    def __init__(self, method: Method) -> None:
        self._method = method
        # In the order in which they were made; a dictionary forgets one at once.
        self._claims: dict[Claim, None] = {}

    def add(self, claim: Claim) -> None:
        self._claims[claim] = None

    def remove(self, claim: Claim) -> None:
        del self._claims[claim]

    def near(self, page: Page, *, is_short: bool) -> Claim | None:
        """Return the oldest claim on an equal or near content, or ``None``.

        Short pages can only be equal.
        """
        distance, most = self._method.distance, self._method.max_distance
        for claim in self._claims:
            if claim.page.digest == page.digest:
                return claim
            if is_short or claim.is_short:
                continue
            if distance(page.sketch, claim.page.sketch) <= most:
                return claim
        return None

    def __len__(self) -> int:
        return len(self._claims)
