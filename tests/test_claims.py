"""Claims in any order, against the rule written out."""

import random

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from dedup.detector import Detector
from dedup.methods import SimHash
from dedup.record import PageRecord
from dedup.rule import Kind
from dedup.stores import finished

CONTENTS = [0b0000, 0b0001, 0b0011, 0b111111, 0b1111111, 1 << 40]


def page(content, key="a", scope="", tokens=100):
    sketch = SimHash().to_bytes(content)
    return PageRecord(key, scope, tokens, content.to_bytes(16, "little"), sketch)


def content_of(claim):
    return SimHash().from_bytes(claim.record.sketch)


def reserve(detector, record):
    return finished(detector.reserve(record))


class AnyOrder(RuleBasedStateMachine):
    """Pages are reserved, committed and released; a list of each kind is the oracle."""

    def __init__(self):
        super().__init__()
        self.detector = Detector(SimHash(2))
        self.stored = []
        self.open = []
        self.waiting = []
        self.count = 0

    def near(self, content, others):
        return [other for other in others if (content ^ other).bit_count() <= 2]

    @rule(content=st.sampled_from(CONTENTS))
    def reserve(self, content):
        self.count += 1
        verdict, claim = reserve(self.detector, page(content, f"page {self.count}"))
        if self.near(content, self.stored):
            assert verdict.is_duplicate
            assert claim is None
        elif self.near(content, map(content_of, self.open)):
            assert verdict is None
            assert claim in self.open
            claim.when_ended(lambda: self.waiting.remove(content))
            self.waiting.append(content)
        else:
            assert verdict.kind is Kind.NEW
            self.open.append(claim)

    @precondition(lambda self: self.open)
    @rule(seed=st.integers(0, 99), is_stored=st.booleans())
    def end(self, seed, is_stored):
        claim = self.open.pop(random.Random(seed).randrange(len(self.open)))
        if is_stored:
            self.stored.append(content_of(claim))
            self.detector.commit(claim)
        else:
            self.detector.release(claim)
        assert not claim.is_open

    @invariant()
    def nobody_waits_without_an_open_claim_and_no_two_stored_are_near(self):
        assert self.detector._view.open_claims == len(self.open)
        assert len(self.detector) == len(self.stored)
        for content in self.waiting:
            assert self.near(
                content, [SimHash().from_bytes(claim.record.sketch) for claim in self.open]
            )
        for place, content in enumerate(self.stored):
            assert not self.near(content, self.stored[:place])


AnyOrder.TestCase.settings = settings(max_examples=100, stateful_step_count=40, deadline=None)
TestAnyOrder = pytest.mark.slow(AnyOrder.TestCase)


def test_who_waits_is_called_in_order_and_at_once_when_it_is_over():
    detector, called = Detector(SimHash()), []
    _, claim = reserve(detector, page(0, "a"))
    for number in range(3):
        claim.when_ended(lambda number=number: called.append(number))
    detector.release(claim)
    claim.when_ended(lambda: called.append("late"))
    assert called == [0, 1, 2, "late"]


def test_short_pages_are_claimed_for_equal_ones_only():
    detector = Detector(SimHash())
    _, short = reserve(detector, page(0, "short", tokens=5))
    assert reserve(detector, page(0, "equal", tokens=5)).claim is short
    assert reserve(detector, page(1, "near and short", tokens=5)).verdict.kind is Kind.NEW
    assert reserve(detector, page(2, "near and long")).verdict.kind is Kind.NEW


def test_scopes_do_not_bar_one_another():
    detector = Detector(SimHash())
    reserve(detector, page(0, "a", "one"))
    assert reserve(detector, page(0, "b", "other")).verdict.kind is Kind.NEW


def test_judging_without_claims_does_not_wait():
    detector = Detector(SimHash())
    reserve(detector, page(0, "a"))
    with pytest.raises(RuntimeError, match="being stored"):
        detector.judge(page(0, "b"))
