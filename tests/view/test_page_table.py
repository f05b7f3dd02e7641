"""What stored pages show and say, against lists of them: who says all of something?"""

from random import Random
from time import process_time

import numpy as np
import pytest
from cases import mixed

from dedup.claim import Claim
from dedup.detector import Detector
from dedup.evidence import Evidence
from dedup.methods import SimHash
from dedup.record import Claimed, Committed, PageRecord, keys_of, pack_items
from dedup.rule import Kind, Rule
from dedup.stores import finished
from dedup.view.indexes import MOST_EQUAL
from dedup.view.page_table import MANY, PageTable
from dedup.view.view import View


def value(number):
    return Random(number).getrandbits(63).to_bytes(8)  # with the bit of marks, it would be one


def item(*numbers):
    """What an item says that has some values."""
    return b"".join(sorted(map(value, numbers)))


def add(table, number, items, tokens=10, evidence=None):
    """Have a page with some *items* be a stored one."""
    table.add(number, PageRecord("", "", tokens, bytes(16), None, evidence), pack_items(items))


def table_of(*pages):
    """A table that has the items of some pages."""
    table = PageTable({}, has_evidence=True)
    for number, items in enumerate(pages):
        add(table, number, items)
    return table


def test_a_page_of_more_tokens_than_it_can_hold_has_the_most():
    table, evidence = PageTable({}, has_evidence=True), Evidence(1, bytes(8), 1)
    add(table, 1, [b""], 2**40, evidence.to_bytes())
    assert table.witness(1) == (2**32 - 1, evidence)


def test_what_pages_show_takes_no_memory_where_nobody_asks():
    table = PageTable({}, has_evidence=False)
    add(table, 1, [item(*range(20))], 10, Evidence(1, bytes(8), 1).to_bytes())
    assert table.witness(1).evidence is None
    assert table.nbytes == 34 + 20 * 8


def test_a_value_that_two_others_make_up_where_they_meet_is_not_there():
    """Bytes of values that follow one another are no value."""
    table = table_of([b"AAAABBBB" + b"CCCCDDDD"])
    assert not table.says_all(0, frozenset([b"BBBBCCCC"]))
    assert table.says_all(0, frozenset([b"CCCCDDDD"]))


def test_a_page_of_many_items_that_comes_back_says_what_it_says_now():
    many = [item(n, n + 1) for n in range(MANY + 20)]
    table = table_of(many)
    assert table.says_all(0, keys_of(many[7]))
    table.discard(0)
    assert not table.says_all(0, keys_of(many[7]))
    add(table, 0, [item(n, n + 2) for n in range(MANY + 20)])
    assert not table.says_all(0, keys_of(many[7]))
    assert table.says_all(0, keys_of(item(7, 9)))


def test_of_an_open_claim_items_that_come_later_are_asked_too_and_then_those_that_are_stored():
    claim = Claim(Claimed(PageRecord("", "", 10, bytes(16)), 0))
    claim.items = [item(n) for n in range(MANY + 20)]
    table = PageTable(claims := {0: claim}, has_evidence=True)
    assert table.says_all(0, keys_of(item(7)))
    claim.items += [item(1000), item(1001)]
    assert all(table.says_all(0, keys_of(item(n))) for n in (1000, 1001))
    claim.items.remove(item(7))
    del claims[0]
    add(table, 0, claim.items)
    assert not table.says_all(0, keys_of(item(7)))


def test_of_very_many_items_with_the_same_values_the_latest_are_asked():
    items = [item(1)] * 1100 + [item(2)] * 1200 + [item(1, 2)] * 10
    assert table_of(items).says_all(0, keys_of(item(1, 2)))


def test_more_pages_of_many_items_than_are_at_hand_are_told_apart():
    table = table_of(*([item(number, 100 + n) for n in range(MANY + 1)] for number in range(40)))
    for number in [*range(40), *range(40)]:
        assert table.says_all(number, keys_of(item(number, 100)))
        assert not table.says_all(number, keys_of(item(number + 1, 100)))


def page(number, own, text=1, evidence=None):
    digest = text.to_bytes(16, "little")
    return PageRecord(f"http://a/{number}", "", 10, digest, None, evidence, item=own)


def row(number, *without):
    """What a row of a page says: some values that many rows have, and some that few have."""
    values = [5_000_000, 6_000_000 + number % 9, 7_000_000 + number // 3, 8_000_000 + number]
    return item(*(value for place, value in enumerate(values) if place not in without))


def stored_pages(counts):
    """A view with pages of one text, of so many items each."""
    view, start = View(SimHash(), Rule()), 0
    for number, count in enumerate(counts):
        rows = tuple(row(n) for n in range(start, start + count))
        view.apply([Claimed(page(number, rows[0]), number), Committed(number, rows)])
        start += count
    return view


@pytest.mark.parametrize("counts", [[1000], [1] * 200, [100] * 6])
def test_of_many_items_each_copy_is_found_also_if_it_lacks_a_value(counts):
    view = stored_pages(counts)
    for number in range(0, sum(counts), 7):
        for without in ((), (0,), (1,), (2,), (0, 1), (0, 2)):
            look = view.look(page(9999, row(number, *without)))
            assert look.decision.kind is Kind.EXACT, (number, without)
        [own] = [n for n, last in enumerate(np.cumsum(counts)) if number < last][:1]
        assert view.look(page(9999, row(number, 1))).decision.match.page == own
    for number in range(0, sum(counts), 50):
        changed = row(number, 3) + value(9_000_000)
        assert view.look(page(9999, changed)).is_of_new_page


def test_claims_on_one_of_many_pages_of_a_text_are_waited_for():
    view = stored_pages([1] * 400)
    assert view.look(page(9999, row(500))).is_of_new_page
    claim = view.claim(Claimed(page(500, row(500)), 500))
    assert view.look(page(9999, row(500))).claim is claim
    assert view.look(page(9999, row(501))).claim is None
    view.release(claim)
    look = view.look(page(9999, row(500)))
    assert (look.decision.kind, look.claim) == (Kind.NEW, None)
    view.claim(Claimed(page(501, row(501)), 501))
    view.apply([Committed(501, (row(501), row(502)))])
    for number in (501, 502):
        assert view.look(page(9999, row(number))).decision.match.page == 501


def is_linear(of_size, few=500):
    """Whether four times as much takes less than ten times as long: by the square it were 16."""
    return any(of_size(4 * few) < 10 * of_size(few) for _ in range(3))


def with_menu(number, view):
    """A page of which only a menu was extracted, the same as of all others."""
    shown = Evidence(0.1, view.to_bytes(16, "little"), 1000)
    return page(number, b"", evidence=shown.to_bytes())


@pytest.mark.slow
def test_many_pages_of_one_menu_are_as_they_show_and_take_time_by_their_number():
    def seconds(pages):
        detector, start = Detector(SimHash()), process_time()
        for number in range(pages):
            assert detector.judge(with_menu(number, number)).kind is Kind.NEW
        for number in range(pages):
            verdict = detector.judge(with_menu(pages + number, number))
            assert (verdict.kind, verdict.original) == (Kind.EXACT, f"http://a/{number}")
        return process_time() - start

    assert is_linear(seconds)


def test_of_very_many_pages_of_one_text_those_that_say_the_same_are_found():
    """And of the latest those that say more: others are kept, which loses nothing."""
    view = stored_pages([1] * 600)
    for number in range(0, 600, 7):
        look = view.look(page(9999, row(number)))
        assert (look.decision.kind, look.decision.match.page) == (Kind.EXACT, number)
        is_of_latest = number >= 600 - MOST_EQUAL
        assert view.look(page(9999, row(number, 1))).is_of_new_page is not is_of_latest
    assert view.look(page(9999, row(700))).is_of_new_page


def seconds_of_looks(counts, of):
    view = stored_pages(counts)
    rows = [of(number) for number in range(sum(counts))]
    start = process_time()
    for own in rows:
        view.look(page(9999, own))
    return process_time() - start


@pytest.mark.slow
@pytest.mark.parametrize(
    ("of", "places"),
    mixed(
        [row, lambda n: row(n, n % 3), lambda n: row(n, 3) + value(n + 9_000_000)],
        [lambda rows: [1] * rows, lambda rows: [rows]],
    ),
)
def test_two_copies_of_many_rows_take_time_by_their_number(places, of):
    """Equal ones, those that lack a value, and those that have another one."""
    seconds_of_looks([100], of)
    # More than those that are found without an index.
    assert is_linear(lambda rows: seconds_of_looks(places(rows), of), 300)


@pytest.mark.slow
@pytest.mark.parametrize("is_new", [False, True])
def test_the_items_of_a_page_take_time_by_their_number(is_new):
    """As they are claimed: none of them is compared with the others of its own page."""

    def seconds(rows):
        detector = Detector(SimHash())
        records = [page(1, row(number)) for number in range(rows)]
        other = [page(2, row(number)) for number in range(rows)]
        start, claim = process_time(), None
        for record in records:
            claim = finished(detector.reserve(record, own=[claim] if claim else [])).claim
        if not is_new:
            detector.follower.commit(claim)
            kinds = {detector.judge(record).kind for record in other}
            assert kinds == {Kind.EXACT}
        return process_time() - start

    assert is_linear(seconds)
