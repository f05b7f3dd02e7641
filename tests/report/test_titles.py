"""Titles and headlines of duplicates, and those of their originals."""

from report_of import exact, near, new

from dedup.evidence import Evidence
from dedup.report.report import TitleCounts
from dedup.report.titles import Titles
from dedup.rule import Kind, Verdict


def page(title="", headline=""):
    return Evidence(1.0, b"v" * 16, 100, headline=headline.encode()).with_title(title)


def counts(*records, limit=9):
    titles = Titles(limit)
    for record in records:
        titles.record(*record)
    return titles.counts()


def test_a_title_that_is_written_otherwise_is_the_same():
    assert counts(
        (new(), "a", page("One  story")),
        (exact("a"), "b", page("ONE STORY")),
        (near("a", 2), "c", page("Two")),
    ) == TitleCounts(compared=2, different=1)


def test_a_print_view_has_another_title_and_the_headline_of_its_page():
    assert counts(
        (new(), "a", page("The news", "The news")),
        (exact("a"), "b", page("The news (print)", "The news")),
        (exact("a"), "c", page("Others", "Others")),
    ) == TitleCounts(compared=2, different=1)


def test_only_names_that_are_known_are_compared():
    skipped = Verdict(Kind.SKIPPED, "simhash", reason="empty")
    assert counts(
        (new(), "a", page()), (exact("a"), "b", page("One")),
        (skipped, "c", page("One")), (exact("c"), "d", page("Two")),
        (new(), "e", page("One")), (exact("e"), "f", None),
    ) == TitleCounts(0, 0)  # fmt: skip


def test_no_more_titles_are_remembered_than_the_limit():
    pages = [(new(), str(n), page("One")) for n in range(5)]
    copies = [(exact(str(n)), f"copy of {n}", page("Two")) for n in range(5)]
    assert counts(*pages, *copies, limit=3) == TitleCounts(3, 3)
