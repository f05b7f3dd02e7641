"""Claims: who waits for one is called when it ends, or when nobody is to wait any longer."""

from dedup.claim import Claim
from dedup.record import Claimed, PageRecord


def test_one_that_is_put_off_stays_open_and_lets_nobody_wait():
    claim, calls = Claim(Claimed(PageRecord("key"))), []
    claim.when_ended(lambda: calls.append("early"))
    claim.put_off("too late")
    claim.when_ended(lambda: calls.append("late"))
    assert (calls, claim.is_open, claim.is_awaited) == (["early", "late"], True, False)
    claim.end(is_stored=True)
    assert (calls, claim.is_open, claim.is_stored) == (["early", "late"], False, True)
