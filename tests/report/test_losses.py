import random

import pytest
from report_of import dropped_text, lossy

from dedup.lost_text import sequences_of
from dedup.report.losses import Losses
from dedup.rule import Kind, Verdict
from dedup.text import Document


def text(number, more=""):
    words = [f"w{number}x{place}" for place in range(52)]
    [sequences] = sequences_of([Document(" ".join([*words, *more.split()]))])
    return sequences


def near(original):
    return Verdict(Kind.NEAR, "simhash", original, 1)


def exact(original):
    return Verdict(Kind.EXACT, "simhash", original, 0)


def store(losses, number, url, *, is_stored=True, more=""):
    losses.claim_begins(number, url, text(number, more))
    losses.claim_ends(number, is_stored=is_stored)


def test_what_is_stored_is_not_lost():
    losses = Losses()
    store(losses, 1, "a")
    losses.page_is_judged(near("a"), "b", text(1, "two words"))
    assert losses.result() == dropped_text(
        1, 0, 52, round(2 / 52, 6), 0, False, lossy("b", "a", 2, 52)
    )


def test_what_failed_to_be_stored_is_lost():
    losses = Losses(drops=False)
    store(losses, 1, "a", is_stored=False)
    losses.page_is_judged(near("a"), "b", text(1))
    assert losses.result() == dropped_text(1, 0, 50, 1, 0, True, lossy("b", "a", 50, 50))


def test_a_claim_that_nobody_began_ends_without_a_trace():
    losses = Losses()
    losses.claim_ends(5, is_stored=True)
    assert losses.result() == dropped_text(0, 0, 0, 0, 0, False)


def test_an_exact_duplicate_loses_nothing_wherever_its_original_is():
    losses = Losses()
    losses.expect_past()
    losses.page_is_judged(exact("of an earlier crawl"), "b", text(1))
    losses.page_is_judged(near("b"), "c", text(1, "two words"))
    result = losses.result()
    assert (result["pages"], result["pages_of_earlier_crawls"], result["share"]) == (1, 1, 0)


@pytest.mark.parametrize("is_first", [True, False])
@pytest.mark.parametrize("is_met", [True, False])
def test_a_drop_for_an_earlier_page_is_looked_at_if_that_is_met_at_any_time(is_first, is_met):
    losses = Losses()
    losses.expect_past()
    unchanged = Verdict(Kind.UNCHANGED, "simhash", "a", 0)
    if is_first and is_met:
        losses.page_is_judged(unchanged, "a", text(1))
    losses.page_is_judged(near("a"), "b", text(1, "two words"))
    if is_met and not is_first:
        losses.page_is_judged(unchanged, "a", text(1))
    result = losses.result()
    assert (result["pages"], result["pages_of_earlier_crawls"]) == ((1, 0) if is_met else (0, 1))
    assert result["share"] == (round(2 / 52, 6) if is_met else 0)


def test_a_page_that_is_met_again_with_a_change_may_have_lost_text():
    losses = Losses()
    store(losses, 1, "a")
    losses.page_is_judged(Verdict(Kind.REPEATED, "simhash", "a", 1), "a", text(1, "one"))
    assert losses.result()["lossiest"] == [lossy("a", "a", 1, 51)]


def test_verdicts_that_drop_nothing_are_not_counted():
    losses = Losses()
    for kind in (Kind.NEW, Kind.CHANGED, Kind.UNCHANGED, Kind.SKIPPED):
        losses.page_is_judged(Verdict(kind, "simhash"), "a", text(1))
    assert losses.result() == dropped_text(0, 0, 0, 0, 0, False)


@pytest.mark.slow
def test_drops_that_wait_for_their_originals_take_bounded_memory():
    losses = Losses(most=10**6)
    losses.expect_past()
    for number in range(12_000):
        losses.page_is_judged(near("a"), f"{number}", text(number))
    waiting = losses._waiting
    assert 1000 < len(waiting) <= 10_000
    assert sum(len(sequences.sample) for _, _, sequences in waiting) <= 8 << 16
    assert losses.result()["pages_of_earlier_crawls"] == 12_000


@pytest.mark.slow
def test_pages_that_are_not_stored_yet_take_bounded_memory_and_the_sample_is_the_same():
    """As in batches of feeds, which may be open for hours."""
    at_once, later = Losses(most=2000), Losses(most=2000)
    for number in range(1000):
        store(at_once, number, f"{number}")
        later.claim_begins(number, f"{number}", text(number))
        assert sum(own.sampled for _, own in later._claimed.values()) <= 2000
    for number in range(1000):
        later.claim_ends(number, is_stored=True)
    for losses in (at_once, later):
        losses.page_is_judged(near("0"), "copy", text(0, "two words " * 99))
    assert later.halvings == at_once.halvings > 3
    assert later.result() == at_once.result()


def test_claims_that_have_ended_leave_room_for_others():
    losses = Losses(most=100)
    for number in range(50):
        store(losses, number, f"{number}", is_stored=False)
    store(losses, 50, "a")
    losses.page_is_judged(near("a"), "b", text(50))
    assert losses.result() == dropped_text(1, 0, 50, 0, 0, False)


@pytest.mark.slow
def test_samples_of_many_pages_stay_small_and_right():
    chance = random.Random(1)
    losses = Losses(most=2000)
    own = 0
    for number in range(1500):
        store(losses, number, f"{number}")
        more = " ".join(f"m{number}y{place}" for place in range(chance.choice([0, 0, 30])))
        own += len(more.split())
        losses.page_is_judged(near(f"{number}"), f"copy {number}", text(number, more))
    result = losses.result()
    assert losses.halvings > 3
    assert result["sequences"] == 1500 * 50 + own
    assert abs(result["share"] - own / result["sequences"]) <= result["error"] < 0.1
    assert len(result["lossiest"]) == 50
