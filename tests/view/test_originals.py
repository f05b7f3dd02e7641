"""Pages that show what they are: the view against a reference that asks every page."""

from contextlib import contextmanager

import pytest
from cases import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from ledgers import crawling
from reference import Page, Reference

from dedup.detector import Detector
from dedup.evidence import NORMAL, Evidence, Objection
from dedup.methods import SimHash
from dedup.record import PageRecord
from dedup.rule import MOST_OBJECTIONS, Kind, Rule
from dedup.scan.reader import Fate
from dedup.scan.record_judge import RecordJudge
from dedup.stores import finished

METHOD = SimHash()
EVIDENCE = st.builds(
    lambda coverage, view, size, title, headline: Evidence(
        coverage, view.to_bytes(16, "little"), size, title, headline
    ).to_bytes(),
    st.sampled_from([0.2, 0.45, 0.6, 1]),
    st.integers(0, 3),
    st.sampled_from([1000, 1200, 2000]),
    st.sampled_from([b"", b"one.", b"two.", b"one.site", b"two.site"]),
    st.sampled_from([b"", b"head"]),
)


VALUES = [bytes([value]) * 8 for value in (1, 2)]
# None says a part of another: a weak page is found by all that its item says, and not by less.
ITEMS = st.sampled_from([VALUES[0], *VALUES])


def records(evidence, items=ITEMS):
    return st.builds(
        lambda content, scope, tokens, evidence, item: PageRecord(
            "",
            scope,
            tokens,
            content.to_bytes(16, "little"),
            METHOD.to_bytes(content),
            evidence,
            item=item,
        ),
        st.sampled_from([0, 1, 3, 0b111111, 0xFFFF << 40]),
        st.sampled_from(["", "", "other"]),
        st.sampled_from([10, 40, 45, 100]),
        evidence,
        items,
    )


def judged(reference, page):
    """Return the kind, the keys that may be named as original, and whether it has to wait."""
    equal, near = reference.matches(page, reference.stored)
    waits = not (equal or near) and any(reference.matches(page, reference.open))
    if page.evidence is not None and not waits:
        reference.names.learn("a", Evidence.from_bytes(page.evidence))
    if equal:
        return Kind.EXACT, equal, False
    if near:
        least = min(near.values())
        return Kind.NEAR, {key for key, own in near.items() if own == least}, False
    return Kind.NEW, set(), waits


@pytest.mark.slow
@pytest.mark.parametrize("demands", [NORMAL, NORMAL._replace(titled_tokens=10**6), None])
@settings(max_examples=examples(300), deadline=None)
@given(
    st.one_of(
        st.lists(st.tuples(records(EVIDENCE), st.integers(0, 3)), max_size=30),
        st.lists(st.tuples(records(st.none() | EVIDENCE), st.integers(0, 3)), max_size=10),
    )
)
def test_a_crawl_says_what_a_reference_says_that_asks_all_pages(demands, pages):
    """Also while claims are open, and after they were released."""
    rule = Rule(20, demands=demands)
    detector, reference, open_claims = Detector(METHOD, rule), Reference(METHOD, rule), []
    for number, (page, fate) in enumerate(pages):
        page = page._replace(key=f"http://a/{number}")
        kind, originals, has_to_wait = judged(reference, page)
        verdict, claim, _ = finished(detector.reserve(page))
        assert (verdict is None) == has_to_wait
        if verdict is None:
            assert claim in open_claims
            continue
        detector.follower.view.learn_names(page)
        assert verdict.kind is kind
        assert not originals or verdict.original in originals
        if not claim:
            continue
        reference.open[page.key] = Page.of(page)
        open_claims.append(claim)
        if verdict.objection and rule.demands:
            assert verdict.original in reference.stored or verdict.original in reference.open
        if fate < 3:
            for ended in open_claims if fate == 2 else [claim]:
                own = reference.open.pop(ended.record.key)
                if fate == 1 and ended is claim:
                    detector.follower.release(ended)
                else:
                    detector.follower.commit(ended)
                    reference.stored[own.record.key] = own
            open_claims = [] if fate == 2 else open_claims[:-1]


@pytest.mark.slow
@settings(max_examples=examples(200), deadline=None)
@given(st.lists(records(EVIDENCE, st.just(b"")), max_size=30))
def test_a_scan_says_what_a_crawl_says(pages):
    pages = [page._replace(key=f"http://a/{n}") for n, page in enumerate(pages)]
    detector, rule = Detector(METHOD, Rule(20)), Rule(20)
    verdicts = [detector.judge(page) for page in pages]
    judge = RecordJudge(METHOD, rule, has_pages=True)
    judge.outcome.fates.extend([Fate.NEW] * len(pages))
    judge.judge([(number, page, None) for number, page in enumerate(pages)])
    fates = {Fate.EXACT: Kind.EXACT, Fate.NEAR: Kind.NEAR, Fate.NEW: Kind.NEW}
    assert [fates[fate] for fate in judge.outcome.fates] == [verdict.kind for verdict in verdicts]
    originals = [f"http://a/{number}" for number in judge.outcome.originals]
    assert originals == [v.original for v in verdicts if v.is_duplicate]
    kept = [verdict.objection for verdict in verdicts if verdict.objection]
    assert sum(judge.outcome.objections.values()) == len(kept)


def with_menu(number, view=None):
    """A page of which a menu was extracted, equal to that of all others."""
    view = number if view is None else view
    evidence = Evidence(0.1, view.to_bytes(16, "little"), 1000, b"%04d" % (view % 10_000))
    return PageRecord(f"http://a/{number}", "", 40, bytes(16), bytes(8), evidence.to_bytes())


@contextmanager
def next_crawl(folder, rule, pages):
    """The detector of a crawl after one that has met *pages*."""
    with crawling(folder / "pages.sqlite", {}) as store:
        detector = Detector(METHOD, rule, store=store)
        for page in pages:
            detector.judge(page)
    with crawling(folder / "pages.sqlite", {}) as store:
        detector = Detector(METHOD, rule, store=store)
        finished(detector.follower.load())
        yield detector


def test_copies_of_stored_pages_with_one_menu_are_found_by_the_next_crawl(tmp_path):
    numbers = range(1, MOST_OBJECTIONS + 50)
    with next_crawl(tmp_path, Rule(), map(with_menu, numbers)) as detector:
        for number in numbers:
            verdict = detector.judge(with_menu(10_000 + number, number))
            assert (verdict.kind, verdict.original) == (Kind.EXACT, f"http://a/{number}")
        verdict = detector.judge(with_menu(20_000))
    assert (verdict.kind, verdict.objection) == (Kind.NEW, Objection.WEAK)


def headed(number, title, content):
    """A page of a site that has its own name for all headlines."""
    evidence = Evidence(1, number.to_bytes(16, "little"), 1000, title, b"site")
    sketch, digest = METHOD.to_bytes(content), number.to_bytes(16, "little")
    return PageRecord(f"http://a/{number}", "", 100, digest, sketch, evidence.to_bytes())


@pytest.mark.parametrize("demands", [NORMAL, None])
def test_what_the_titles_of_a_host_share_is_known_from_its_stored_pages(tmp_path, demands):
    stored = [headed(number, b"%04d" % number, 0xFFFF << 5 * number) for number in range(8)]
    with next_crawl(tmp_path, Rule(demands=demands), stored) as detector:
        verdict = detector.judge(headed(100, b"else", 0xFFFF << 10 | 1))
    assert verdict.objection is (Objection.TITLE if demands else None)
    assert verdict.kind is (Kind.NEW if demands else Kind.NEAR)
    assert verdict.original == "http://a/2"


def test_a_page_that_waits_is_met_once():
    """Else it would make its own name a common one."""
    detector = Detector(METHOD)
    first = finished(detector.reserve(headed(0, b"name", 0)))
    for _ in range(9):
        assert finished(detector.reserve(headed(1, b"name", 1))).verdict is None
    detector.follower.view.learn_names(headed(0, b"name", 0))
    detector.follower.commit(first.claim)
    assert detector.judge(headed(1, b"name", 1)).kind is Kind.NEAR
