"""Claims that the log does not have: which are made next."""

from dedup.claim import Claim
from dedup.late_claims import LateClaims
from dedup.record import Claimed, PageRecord


def claims_of(late, number):
    """Have so many claims wait, and return them."""
    claims = [Claim(Claimed(PageRecord(f"page {place}"))) for place in range(number)]
    for claim in claims:
        late.add(claim)
    return claims


def test_a_claim_that_waits_has_no_number_and_replaces_nothing_once_numbers_are_others():
    late = LateClaims()
    late.add(claim := Claim(Claimed(PageRecord("page"), 7), [3, 4]))
    assert (claim.number, claim.replaces) == (-1, (3, 4))
    late.forget_replaced()
    assert claim.replaces == ()
    assert claim.claimed == Claimed(PageRecord("page"))


def test_a_page_that_was_not_stored_is_claimed_no_more():
    late = LateClaims()
    first, second, third = claims_of(late, 3)
    first.end()
    second.end(is_stored=True)
    assert (bool(late), late.stored) == (True, 1)
    assert late.next_ones() == [second, third]
    third.end()
    late.remove(late.next_ones())
    assert (bool(late), late.stored, late.next_ones()) == (False, 0, [])


def test_a_thousand_are_made_at_a_time_the_oldest_first():
    late = LateClaims()
    claims = claims_of(late, 2500)
    assert late.next_ones() == claims[:1000]
    late.remove(late.next_ones())
    assert late.next_ones() == claims[1000:2000]
