"""Faults that the suite over whole processes has to find: what a wrong store would do."""

from collections.abc import Callable

from dedup.detector import Detector
from dedup.record import Lost
from dedup.rule import Kind, Verdict
from dedup.stores.shared import SharedStore
from dedup.view.view import View


def look_once() -> None:
    """Claim what the view does not know, without a look at what others claimed meanwhile."""
    View.claims_so_far = property(lambda self: 0, lambda self, count: None)  # type: ignore[assignment,method-assign]


def drop_for_open_claims() -> None:
    """Call a page a duplicate of one that is not stored yet."""
    barred = Detector._barred

    async def drop(self, record, look, earlier):
        reservation = await barred(self, record, look, earlier)
        if look.claim:
            verdict = Verdict(Kind.NEAR, "simhash", look.claim.record.key, 0)
            return reservation._replace(verdict=verdict)
        return reservation

    Detector._barred = drop


def ignore_losses() -> None:
    """Take a commit for published whose claim others have released."""
    exchange = SharedStore.exchange

    async def hear_nothing(self, claims, news):
        return [e for e in await exchange(self, claims, news) if not isinstance(e, Lost)]

    SharedStore.exchange = hear_nothing


def expire_the_living() -> None:
    """Release claims for which one waits, whether their owners have leases or not."""

    async def expire(self, numbers):
        for number in self._pages.open.keys() & set(numbers):
            await self._log.leave(self._pages.open[number].owner, "expired", None, [])

    SharedStore.expire = expire


_ALL = (look_once, drop_for_open_claims, ignore_losses, expire_the_living)
FAULTS: dict[str, Callable[[], None]] = {fault.__name__: fault for fault in _ALL}
