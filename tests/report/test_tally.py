from cases import each

from dedup.report.report import NameCount, NameCounts
from dedup.report.tally import Tally, url_pattern


def test_pages_and_duplicates_are_counted_by_name():
    tally = Tally()
    for name, is_duplicate in (("a", False), ("b", True), ("b", True), ("b", False), ("c", True)):
        tally.add(name, is_duplicate=is_duplicate)
    assert tally.duplicates() == {"b": 2, "c": 1}
    assert tally.counts(2) == NameCounts(3, (NameCount("b", 3, 2), NameCount("a", 1, 0)))


def test_when_there_are_too_many_names_those_with_few_pages_are_forgotten():
    tally = Tally(limit=10)
    for _ in range(5):
        tally.add("large", is_duplicate=False)
    for n in range(100):
        tally.add(f"small {n}", is_duplicate=True)
    assert len(tally._counts) <= 10
    assert tally.counts(1) == NameCounts(101, (NameCount("large", 5, 0),))


@each(
    ("url", "pattern"),
    [
        ("http://a.org", "a.org/"),
        ("http://A.org:80/x", "a.org/*"),
        ("https://a.org/x/y/z/1.PDF", "a.org/x/y/z/*.pdf"),
        ("https://a.org/x/y/z/w/1.PDF", "a.org/x/y/z/…/*.pdf"),
        ("https://a.org/2024/01/a-post/", "a.org/{n}/{n}/a-post/"),
        ("https://a.org/docs/v1.2.3/intro", "a.org/docs/{version}/*"),
        ("https://a.org/i/3f2b8c9d1e0a/x", "a.org/i/{id}/*"),
        ("https://a.org/?b=2&a=1&c=3", "a.org/?a&b&c"),
        ("https://a.org/?b=2&a=1&c=3&d=4", "a.org/?a&b&c&…"),
        ("http://[", ""),
        ("", "/"),
    ],
)
def test_the_pattern_of_a_url(url, pattern):
    assert url_pattern(url) == pattern
