import pytest

from dedup.evidence import Evidence, Names, digest_of_name, digest_of_title

PAGE = Evidence(1, b"the view of one.", 1000, b"name", b"head")


def titled(title, headline=""):
    return PAGE._replace(title=digest_of_title(title), headline=digest_of_name(headline))


def own(names, title, headline=""):
    """Return which of these segments are the page's own."""
    known = names.of("a", titled(title, headline))
    segments = [*title.split(" | "), headline] if headline else title.split(" | ")
    if known is None:
        return segments
    return [segment for segment in segments if digest_of_name(segment) in known.own]


@pytest.mark.parametrize(("share", "is_common"), [(2, True), (3, True), (8, False)])
def test_what_a_quarter_of_the_pages_have_is_common(share, is_common):
    names = Names()
    for number in range(1000):
        title = b"site" if number % share == 0 else b"%4d" % number
        names.learn("a", PAGE._replace(title=title, headline=b""))
    assert names.of("a", PAGE._replace(title=b"site")).common == {*[b"site"] * is_common}


def test_a_segment_of_the_titles_of_a_quarter_of_the_pages_is_common():
    names = Names()
    for number in range(20):
        names.learn("a", titled(f"page {number} | {'Pumps' if number > 16 else 'Chairs'} | Shop"))
    common = names.of("a", titled("page 20 | Pumps | Shop")).common
    assert common == {digest_of_name("Shop")}


def test_what_was_met_at_all_is_common_on_a_site_of_which_little_is_known():
    names = Names()
    for number in range(7):
        names.learn("a", PAGE._replace(title=b"%4d" % number))
    assert names.of("a", PAGE._replace(title=b"   1")).common == {b"   1", b"head"}
    assert names.of("a", PAGE._replace(title=b"   8", headline=b"")).common == frozenset()
    assert names.of("other host", PAGE) is None


def test_what_stands_beside_eight_others_is_not_the_pages_own():
    names = Names()
    for number in range(8):
        assert own(names, "New | Site") == ["New", "Site"]
        names.learn("a", titled(f"page {number} | Site"))
    assert own(names, "New | Site") == ["New"]
    assert own(names, "page 3 | Site") == ["page 3"]
    assert own(names, "Site") == ["Site"], "else it would have none"


def test_a_headline_is_the_pages_own_until_a_quarter_of_the_pages_have_it():
    names = Names()
    for number in range(8):
        assert own(names, "New", "book") == ["New", "book"]
        names.learn("a", titled(f"page {number}", "book"))
    assert own(names, "New", "book") == ["New"]
    for number in range(100):
        names.learn("a", titled(f"part {number}"))
    assert own(names, "New", "book") == ["New", "book"]


def test_of_pages_in_many_versions_nobody_knows_which_segment_is_the_version():
    names = Names()
    for version in range(20):
        for number in range(20):
            names.learn("a", titled(f"page {number} | version {version}"))
    assert own(names, "page 1 | version 1") == ["page 1", "version 1"]


def test_of_too_many_names_the_oldest_are_forgotten():
    names = Names()
    names.most = 9
    for host in "abcd":
        for _ in range(8):
            names.learn(host, PAGE)
    known = [names.of(host, PAGE) is not None for host in "abcd"]
    assert known == [False, True, True, True]


def test_what_eight_pages_have_is_shared_however_many_others_there_are():
    names = Names()
    for number in range(1000):
        names.learn("a", PAGE._replace(title=b"list" if number < 8 else b"%4d" % number))
    page = PAGE._replace(headline=b"")
    assert names.of("a", page._replace(title=b"list")).shared == {b"list"}
    assert names.of("a", page._replace(title=b" 999")).shared == frozenset()
