from contextlib import closing

import pytest
from ledgers import publish
from report_of import near, new
from texts import ENGLISH, article, replaced

from dedup.detector import Detector
from dedup.methods import SimHash
from dedup.methods.containment import Containment
from dedup.page import PageReader
from dedup.record import MARK
from dedup.rule import Kind, Rule
from dedup.stores import SqliteStore, finished

TEXT = article(1)


@pytest.fixture
def detector():
    return Detector(SimHash())


def page(text, key="", scope=""):
    return PageReader(lambda html: html, SimHash()).read_html(text).record.under(key, scope)


@pytest.mark.parametrize(("min_tokens", "verdict"), [(3, near("one", 0)), (4, new())])
def test_a_stored_page_is_as_short_as_it_was(tmp_path, min_tokens, verdict):
    identity = {"method": "simhash"}
    for text, expected in (("Page not found", new()), ("Page: not found!", verdict)):
        with closing(SqliteStore(tmp_path / "pages.sqlite", identity)) as ledger:
            finished(ledger.join("test"))
            detector = Detector(SimHash(), Rule(min_tokens=min_tokens), store=ledger)
            finished(detector.follower.load())
            key = "other" if len(detector) else "one"
            assert detector.judge(page(text, key)) == expected
            publish(ledger)


@pytest.mark.parametrize("several_a_key", [False, True])
def test_a_page_is_dropped_for_one_that_contains_it_but_never_the_reverse(several_a_key):
    method = Containment()
    reader = PageReader(lambda html: html, method)
    part, whole = (reader.read_html(text).record for text in (TEXT, f"{ENGLISH} {TEXT}"))
    for first, then, kind in ((whole, part, Kind.NEAR), (part, whole, Kind.NEW)):
        detector = Detector(method, several_a_key=several_a_key)
        assert detector.judge(first.under("first", "")).kind is Kind.NEW
        verdict = detector.judge(then.under("then", ""))
        assert verdict.kind is kind
        assert verdict.original == ("first" if kind is Kind.NEAR else None)


def test_where_a_page_is_met_again_main_texts_in_items_count_as_a_whole(detector):
    value, *wholes = (bytes([first]) * 8 for first in (1, MARK | 1, MARK | 2, MARK | 3))
    one, two, three = (page(TEXT, "a")._replace(item=value + whole) for whole in wholes)
    judged = [detector.judge(record).kind for record in (one, two, one, two)]
    assert judged == [Kind.NEW, Kind.NEW, Kind.REPEATED, Kind.REPEATED]
    assert detector.judge(three.under("b")).kind is Kind.EXACT


def test_judging_without_claims_does_not_wait(detector):
    finished(detector.reserve(page(TEXT, "a")))
    with pytest.raises(RuntimeError, match="being stored"):
        detector.judge(page(TEXT, "b"))


def test_whether_a_page_would_be_new_is_asked_without_a_claim(detector):
    known = page(TEXT, "a")
    assert finished(detector.is_new(known))
    assert finished(detector.is_new(known))
    assert detector.judge(known) == new()
    assert not finished(detector.is_new(page(replaced(TEXT, 1), "b")))
    assert not finished(detector.is_new(page("", "c")))
    finished(detector.reserve(page(ENGLISH, "d")))
    assert not finished(detector.is_new(page(ENGLISH, "e")))
