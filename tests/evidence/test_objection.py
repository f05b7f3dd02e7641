import pytest
from cases import each

from dedup.evidence import (
    NORMAL,
    Evidence,
    KnownNames,
    Objection,
    Witness,
    digest_of_name,
    digest_of_title,
)  # fmt: skip
from dedup.rule import Rule

PAGE = Evidence(1, b"the view of one.", 1000, b"name", b"head")
OTHER = PAGE._replace(view=b"of another page.")
RULE = Rule()


def said(page, original, is_exact=False, tokens=100, original_tokens=100, rule=RULE, **more):
    witnesses = Witness(tokens, page), Witness(original_tokens, original)
    return rule.objection(*witnesses, is_exact=is_exact, **more)


def test_a_part_may_be_as_short_as_it_likes_but_not_longer_and_not_of_another_name():
    sizes = {"tokens": 100, "original_tokens": 1000}
    assert said(PAGE, OTHER, **sizes) is Objection.SHORTER
    assert said(PAGE, OTHER, finds_parts=True, **sizes) is None
    assert said(PAGE, OTHER, finds_parts=True, tokens=125) is Objection.LONGER
    assert said(PAGE._replace(size=1250), OTHER, finds_parts=True, **sizes) is Objection.LONGER
    assert said(PAGE._replace(coverage=0), OTHER, finds_parts=True, **sizes) is Objection.WEAK
    other_name = PAGE._replace(title=b"x", headline=b"y")
    assert said(other_name, OTHER, finds_parts=True, **sizes) is Objection.TITLE


def test_near_pages_that_begin_with_words_of_their_urls_are_others_if_each_has_one_of_its_own():
    lamp, small, large = (PAGE.with_words([word]).words for word in ("lamp", "small", "large"))
    page, original = PAGE._replace(words=lamp | small), OTHER._replace(words=lamp | large)
    assert said(page, original) is Objection.ADDRESS
    assert said(page, original, is_exact=True) is None
    assert said(page, original, finds_parts=True) is None
    assert said(page, OTHER._replace(words=lamp)) is said(PAGE, original) is None


@pytest.mark.parametrize("is_exact", [True, False])
@pytest.mark.parametrize("coverages", [(0.49, 1), (1, 0.49), (0.49, 0.49)])
def test_a_weak_text_is_no_evidence_on_either_side(is_exact, coverages):
    page, original = (e._replace(coverage=c) for e, c in zip((PAGE, OTHER), coverages, strict=True))
    assert said(page, original, is_exact) is Objection.WEAK


@pytest.mark.parametrize(
    "page", [PAGE._replace(coverage=0), PAGE._replace(title=b"", headline=b"")]
)
def test_equal_texts_and_views_are_evidence_of_their_own(page):
    other = page._replace(title=b"else", headline=b"also")
    assert said(page, other, is_exact=True) is None


@pytest.mark.parametrize("is_exact", [True, False])
def test_a_page_with_much_more_text_is_kept(is_exact):
    assert said(PAGE._replace(size=1250), OTHER, is_exact) is Objection.LONGER
    assert said(PAGE._replace(size=1240), OTHER, is_exact) is None
    assert said(PAGE._replace(size=100), OTHER, is_exact) is None


def test_a_near_duplicate_with_a_main_text_of_another_length_is_kept():
    assert said(PAGE, OTHER, tokens=125) is Objection.LONGER
    assert said(PAGE, OTHER, tokens=124) is None
    assert said(PAGE, OTHER, tokens=81) is None
    assert said(PAGE, OTHER, tokens=80) is Objection.SHORTER


def test_a_text_without_its_page_is_not_objected_to():
    assert said(None, OTHER) is said(PAGE, None) is said(None, None) is None
    weak = PAGE._replace(coverage=0.4)
    assert said(None, weak) is said(weak, None) is Objection.WEAK


@each(
    ("title", "head", "differs"),
    [
        (b"name", b"head", False),
        (b"name", b"else", False),
        (b"else", b"head", True),  # a headline may be that of a kind
        (b"elsehead", b"head", False),
        (b"elsename", b"head", False),
        (b"elsenamemore", b"head", True),  # between them is a section
        (b"elsename", b"else", True),
        (b"else", b"else", True),
        (b"", b"", False),
        (b"", b"else", True),
        (b"else", b"", True),
        (b"", b"head", False),
    ],
)
def test_a_page_is_another_if_its_title_and_its_headline_are(title, head, differs):
    page = PAGE._replace(title=title, headline=head)
    expected = Objection.TITLE if differs else None
    assert said(page, OTHER) is said(OTHER, page) is expected


def test_an_equal_long_text_may_have_another_title():
    page = PAGE._replace(title=b"else", headline=b"else")
    assert said(page, OTHER, is_exact=True, tokens=50) is None
    assert said(page, OTHER, is_exact=True, tokens=49) is Objection.TITLE
    strict = Rule(demands=NORMAL._replace(titled_tokens=10**6))
    assert said(page, OTHER, is_exact=True, tokens=50, rule=strict) is Objection.TITLE


def test_an_equal_long_text_is_enough_only_if_it_is_nearly_all_of_its_page():
    page = PAGE._replace(title=b"else", headline=b"else", coverage=0.89)
    assert said(page, OTHER, is_exact=True, tokens=500) is Objection.TITLE
    assert said(page._replace(coverage=0.9), OTHER, is_exact=True, tokens=500) is None
    shows_the_same = page._replace(view=OTHER.view)
    assert said(shows_the_same, OTHER, is_exact=True, tokens=500) is None


def test_a_common_name_says_nothing():
    names = KnownNames(frozenset([b"else", b"head"]), frozenset([b"head"]), frozenset())
    page = PAGE._replace(title=b"elsehead")
    assert said(page, OTHER, names=names) is Objection.TITLE
    assert said(page, OTHER, names=names._replace(common=frozenset())) is None
    assert said(page, OTHER) is None


def test_titles_that_end_with_the_name_of_their_site_or_section_do_not_end_alike():
    names = KnownNames(frozenset([b"else", b"head", b"site"]), frozenset(), frozenset())
    page, other = PAGE._replace(title=b"elsesite"), OTHER._replace(title=b"namesite")
    assert said(page, other, names=names) is None
    assert said(page, other, names=names._replace(common={b"site"})) is Objection.TITLE
    assert said(page, other, names=names._replace(own=names.own - {b"site"})) is Objection.TITLE


def test_a_title_that_the_whole_site_has_says_nothing_alone_and_leaves_it_to_the_headline():
    def asked(headline, other_headline):
        names = KnownNames(frozenset([headline]), frozenset([b"site"]), frozenset())
        page, other = (
            own._replace(title=b"site", headline=head)
            for own, head in ((PAGE, headline), (OTHER, other_headline))
        )
        return said(page, other, names=names)

    assert asked(b"", b"") is None
    assert asked(b"same", b"same") is None
    assert asked(b"one", b"two") is Objection.TITLE


@pytest.mark.parametrize("is_part", [True, False])
def test_a_title_that_eight_pages_have_is_no_name_of_near_duplicates_without_headlines(is_part):
    names = KnownNames(frozenset([b"name"]), frozenset(), frozenset([b"name", b"head"]))
    page, other = PAGE._replace(headline=b""), OTHER._replace(headline=b"")
    assert said(page, other, names=names, finds_parts=is_part) is Objection.TITLE
    assert said(page, other, names=names, is_exact=True, tokens=20) is None
    assert said(PAGE, OTHER, names=names) is None
    assert said(page, other, names=names._replace(shared=frozenset())) is None


@each(
    ("title", "other", "own", "agree"),
    [
        ("Ferry | Town", "Ferry | Town", ["Ferry"], True),
        # The site, or the version, is another, or not named; the name may stand at the end.
        ("Ferry | Town", "Ferry | Archive", ["Ferry"], True),
        ("Town | Ferry", "Ferry – Archive", ["Ferry"], True),
        # What the original has more may tell what it is about.
        ("Ferry", "Ferry | Town", ["Ferry"], False),
        ("Ferry | Town", "Ferry | Timetable | Town", ["Ferry"], False),
        ("Ferry | Town", "Ferry | Archive", ["Ferry", "Town"], False),
        ("Ferry | Town", "Tram | Town", ["Ferry"], False),
    ],
)
def test_titles_agree_in_what_is_the_pages_own(title, other, own, agree):
    names = KnownNames(frozenset(map(digest_of_name, own)), frozenset(), frozenset())
    page, original = (
        shown._replace(title=digest_of_title(of_page), headline=b"")
        for shown, of_page in ((PAGE, title), (OTHER, other))
    )
    assert said(page, original, names=names) is (None if agree else Objection.TITLE)
