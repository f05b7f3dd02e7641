"""Titles of duplicates, and those of their originals."""

from cases import each
from report_of import exact, near, new

from dedup.report.report import TitleCounts
from dedup.report.titles import Titles
from dedup.rule import Kind, Verdict


def counts(*records, limit=9):
    titles = Titles(limit)
    for record in records:
        titles.record(*record)
    return titles.counts()


def test_a_title_that_is_written_otherwise_is_the_same():
    assert counts(
        (new(), "a", "One  story"), (exact("a"), "b", "ONE STORY"), (near("a", 2), "c", "Two")
    ) == TitleCounts(compared=2, different=1)


@each(
    ("one", "other", "different"),
    [
        ("Tea – The Lantern", "Tea | Reading Room", 0),
        ("清明前的七天 – 青溪灯火", "清明前的七天", 0),
        ("Tea - The Lantern", "Rice - The Lantern", 1),
        ("Tea-room", "Tea-time", 1),
        ("| Tea", "| Rice", 1),
        ("–", "|", 1),
    ],
)
def test_the_name_of_a_site_is_no_part_of_a_title(one, other, different):
    assert counts((new(), "a", one), (exact("a"), "b", other)) == TitleCounts(1, different)


def test_only_titles_that_are_known_are_compared():
    skipped = Verdict(Kind.SKIPPED, "simhash", reason="empty")
    assert counts(
        (new(), "a", None), (exact("a"), "b", "One"),
        (skipped, "c", "One"), (exact("c"), "d", "Two"),
        (new(), "e", "One"), (exact("e"), "f", None),
    ) == TitleCounts(0, 0)  # fmt: skip


def test_no_more_titles_are_remembered_than_the_limit():
    pages = [(new(), str(n), "One") for n in range(5)]
    copies = [(exact(str(n)), f"copy of {n}", "Two") for n in range(5)]
    assert counts(*pages, *copies, limit=3) == TitleCounts(3, 3)
