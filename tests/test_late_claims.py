"""Claims that the log does not have: which are made next, and what a refusal changes."""

import pytest

from dedup.claim import Claim
from dedup.late_claims import LateClaims
from dedup.record import Claimed, PageRecord

REFUSAL = ValueError("it cannot take this")


class Late(LateClaims):
    """With as many claims as are asked for."""

    def __init__(self, number=0):
        self.counts = []
        super().__init__("the store", self.counts.append)
        self.claims = [Claim(Claimed(PageRecord(f"page {place}"))) for place in range(number)]
        for claim in self.claims:
            self.add(claim)


def made(late, refused=()):
    """Have all claims be made by themselves, but those *refused*; return how many at a time."""
    sizes = []
    while claims := late.next_ones():
        sizes.append(len(claims))
        if set(claims) & set(refused):
            late.were_refused(claims, REFUSAL)
        else:
            late.remove(claims)
            late.were_made()
    return sizes


def test_a_claim_that_waits_has_no_number_and_replaces_nothing_once_numbers_are_others():
    late = Late()
    late.add(claim := Claim(Claimed(PageRecord("page"), 7), [3, 4]))
    assert (claim.number, claim.replaces) == (-1, (3, 4))
    late.forget_replaced()
    assert claim.replaces == ()
    assert claim.claimed == Claimed(PageRecord("page"))


def test_a_page_that_was_not_stored_is_claimed_no_more():
    late = Late(3)
    late.claims[0].end()
    late.claims[1].end(is_stored=True)
    assert (bool(late), late.stored) == (True, 1)
    assert late.next_ones() == late.claims[1:]
    late.claims[2].end()
    late.remove(late.next_ones())
    assert (bool(late), late.stored, late.next_ones()) == (False, 0, [])


def test_a_thousand_are_made_at_a_time_the_oldest_first():
    late = Late(2500)
    assert late.those_with_others() == late.next_ones() == late.claims[:1000]
    assert made(late) == [1000, 1000, 500]


@pytest.mark.parametrize("number", [1, 2, 1000])
def test_none_travel_with_others_from_a_refusal_until_none_are_left(number):
    late = Late(number)
    late.others_were_refused()
    assert late.those_with_others() == []
    assert made(late) == [min(number, 500)] * (number // 500 or 1)
    late.add(late.claims[0])
    assert late.those_with_others() == late.claims[:1]


def test_what_is_refused_alone_is_given_up_and_all_others_are_made(caplog):
    late = Late(8)
    refused = late.claims[5], late.claims[6]
    for claim in late.claims:
        claim.end(is_stored=True)
    # Halved until one is refused alone, doubled whenever some are made.
    assert made(late, refused) == [8, 4, 4, 2, 1, 2, 1, 1, 1]
    assert (bool(late), late.stored) == (False, 2)
    assert late.counts == ["claims/refused"] * 2
    assert caplog.messages == [
        "the store refuses <page 5>, which is kept, and not remembered there: it cannot take this"
    ]
    late.add(late.claims[0])
    assert late.those_with_others() == late.claims[:1]
