"""How much text the drops of a crawl lose."""

from contextlib import closing

import pytest
from cases import each
from report_of import SETTINGS, dropped_text, exact, lossy, near

from dedup.methods.simhash import SimHash
from dedup.page import PageReader
from dedup.report import Summary
from dedup.report.counts import Counters
from dedup.rule import Kind, Verdict


class Crawl:
    """A crawl that samples its texts: page by page, they are stored or judged."""

    def __init__(self, *, has_past=False, drops=True):
        self.summary = Summary(Counters(), SETTINGS, with_lost_text=True, drops=drops)
        self.summary.events.has_past = has_past
        self.reader = PageReader(str, SimHash(), with_sequences=True)

    def page(self, number, more=""):
        words = [f"w{number}x{place}" for place in range(52)]
        [page] = self.reader.read_texts([" ".join([*words, *more.split()])])
        return page

    def claim(self, number, url, more=""):
        self.summary.claim_begins(number, url, self.page(number, more))

    def store(self, number, url, *, is_stored=True, more=""):
        self.claim(number, url, more)
        self.summary.claim_ends(number, is_stored=is_stored)

    def judge(self, verdict, url, number, more=""):
        self.summary.record(verdict, url, 0, self.page(number, more))

    def result(self):
        with closing(self.summary.events):
            return self.summary.finish().dropped_text


UNCHANGED = Verdict(Kind.UNCHANGED, "simhash", "a", 0)


def test_what_is_stored_is_not_lost():
    crawl = Crawl()
    crawl.store(1, "a")
    crawl.judge(near("a", 1), "b", 1, "two words")
    assert crawl.result() == dropped_text(
        1, 0, 52, round(2 / 52, 6), 0, False, lossy("b", "a", 2, 52)
    )


def test_what_failed_to_be_stored_is_lost():
    crawl = Crawl(drops=False)
    crawl.store(1, "a", is_stored=False)
    crawl.judge(near("a", 1), "b", 1)
    assert crawl.result() == dropped_text(1, 0, 50, 1, 0, True, lossy("b", "a", 50, 50))


def test_an_exact_duplicate_loses_nothing_wherever_its_original_is():
    crawl = Crawl(has_past=True)
    crawl.judge(exact("of an earlier crawl"), "b", 1)
    crawl.judge(near("b", 1), "c", 1, "two words")
    result = crawl.result()
    assert (result.pages, result.pages_of_earlier_crawls, result.share) == (1, 1, 0)


@each("met", ["before", "after", "never"])
def test_a_drop_for_an_earlier_page_is_looked_at_if_that_is_met_at_any_time(met):
    crawl = Crawl(has_past=True)
    if met == "before":
        crawl.judge(UNCHANGED, "a", 1)
    crawl.judge(near("a", 1), "b", 1, "two words")
    if met == "after":
        crawl.judge(UNCHANGED, "a", 1)
    result = crawl.result()
    assert (result.pages, result.pages_of_earlier_crawls) == ((0, 1) if met == "never" else (1, 0))
    assert result.share == (0 if met == "never" else round(2 / 52, 6))


def test_a_page_that_is_met_again_with_a_change_may_have_lost_text():
    crawl = Crawl()
    crawl.store(1, "a")
    crawl.judge(Verdict(Kind.REPEATED, "simhash", "a", 1), "a", 1, "one")
    assert crawl.result().lossiest == [lossy("a", "a", 1, 51)]


def test_verdicts_that_drop_nothing_are_not_counted():
    crawl = Crawl()
    crawl.summary.claim_ends(5, is_stored=True)  # which nobody began
    for kind in (Kind.NEW, Kind.CHANGED, Kind.UNCHANGED, Kind.SKIPPED):
        crawl.judge(Verdict(kind, "simhash"), "a", 1)
    assert crawl.result() == dropped_text(0, 0, 0, 0, 0, False)


def test_where_the_disk_has_no_room_for_sequences_nothing_is_said_of_what_is_lost():
    crawl = Crawl()
    events = crawl.summary.events
    events._database.execute("PRAGMA bulk.max_page_count = 20")  # as a disk of 80 kB
    for number in range(200):
        crawl.judge(near("a", 1), f"{number}", number)
    assert crawl.result() is None
    assert events.failure


@pytest.mark.slow
def test_what_waits_for_its_end_takes_bounded_memory(monkeypatch):
    """As in batches of feeds, which may be open for hours."""
    monkeypatch.setattr("dedup.lost_text.SEQUENCES_OF_A_SAMPLE", 2000)
    crawl = Crawl()
    for number in range(1500):
        crawl.claim(number, f"{number}")
        crawl.judge(near(f"{number}", 1), f"copy {number}", number)
    claimed = crawl.summary._claimed.values()
    assert sum(len(sequences) // 8 for _, sequences in claimed) < 10 * 2000
    for number in range(1500):
        crawl.summary.claim_ends(number, is_stored=True)
    result = crawl.result()
    assert (result.sequences, result.share) == (1500 * 50, 0)
