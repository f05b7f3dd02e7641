from dedup.report.first_pages import FirstPreferred, FirstRevisits
from dedup.report.report import PreferredUrl, PreferredUrls, Revisit, Revisits
from dedup.rule import Kind, Verdict

MOST = 1000


def test_pages_that_an_earlier_crawl_stored_are_listed_by_kind_in_the_order_of_the_crawl():
    first = FirstRevisits()
    for kind, url, distance in (
        (Kind.CHANGED, "b", 0.5),
        (Kind.UNCHANGED, "z", 0),
        (Kind.CHANGED, "a", None),
    ):
        first.add(Verdict(kind, "simhash", distance=distance), url)
    assert first.revisits() == Revisits(
        unchanged=(Revisit("z", 0),), changed=(Revisit("b", 0.5), Revisit("a", None))
    )


def test_no_other_page_is_listed_as_one_of_an_earlier_crawl():
    first = FirstRevisits()
    for kind in set(Kind) - {Kind.UNCHANGED, Kind.CHANGED}:
        first.add(Verdict(kind, "simhash", original="a", distance=0), "b")
    assert first.revisits() == Revisits((), ())


def test_many_pages_of_one_kind_leave_room_for_those_of_the_other():
    first = FirstRevisits()
    for number in range(MOST + 5):
        first.add(Verdict(Kind.UNCHANGED, "simhash", distance=0), str(number))
    first.add(Verdict(Kind.CHANGED, "simhash", distance=1), "changed")
    revisits = first.revisits()
    assert [page.url for page in revisits.unchanged] == [str(number) for number in range(MOST)]
    assert revisits.changed == (Revisit("changed", 1),)


def test_of_the_better_urls_of_a_page_the_last_and_best_is_named():
    first = FirstPreferred()
    for original, url in (("a?x", "a?"), ("b?x", "b"), ("a?x", "a")):
        first.add(original, url)
    assert first.preferred(3) == PreferredUrls(
        3, (PreferredUrl("a?x", "a"), PreferredUrl("b?x", "b"))
    )


def test_when_enough_pages_are_listed_those_still_get_the_best_url():
    first = FirstPreferred()
    for number in range(MOST + 5):
        first.add(f"{number}?x", f"{number}?")
    for number in (0, MOST, MOST + 5):
        first.add(f"{number}?x", f"{number}")
    preferred = first.preferred(MOST + 8)
    assert preferred.duplicates == MOST + 8
    assert len(preferred.first) == MOST
    assert preferred.first[0] == PreferredUrl("0?x", "0")
    assert preferred.first[-1] == PreferredUrl(f"{MOST - 1}?x", f"{MOST - 1}?")
