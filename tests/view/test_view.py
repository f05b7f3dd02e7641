"""The view against a list of pages: claims, commits and releases in any order."""

from collections import deque
from itertools import islice
from math import inf

import pytest
from cases import each, examples, mixed
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from ledgers import batch_of, page, records_of
from reference import Page, Reference
from texts import ENGLISH, article, edited, replaced

from dedup.evidence import Objection
from dedup.methods import METHODS, SimHash
from dedup.record import Claimed, Committed, PageRecord, Released
from dedup.rule import Decision, Kind, Rule
from dedup.scopes import Scope
from dedup.text import Document
from dedup.view.view import Look, View

TEXTS = [ENGLISH, ENGLISH.upper(), *(replaced(ENGLISH, count) for count in (1, 2, 4, 10, 20))]
TEXTS += [
    ENGLISH + article(1),
    article(1),
    edited(article(1)),
    "word",
    "a few words",
    "A few words!",
]
OF_ITEM = Scope.of("field:sku").name_of("", item={"sku": 7})
SCOPES = ["", "a.com", OF_ITEM]


VALUES = [bytes([value]) * 8 for value in range(1, 4)]
ITEMS = [b"", *VALUES[:2], VALUES[0] + VALUES[1], VALUES[1] + VALUES[2]]


class Pages(Reference):
    """By their numbers, the lowest of which is the oldest."""

    def look(self, record, without=(), below=inf):
        stored = {n: p for n, p in self.stored.items() if n not in without}
        claimed = {n: p for n, p in self.open.items() if n not in without and n < below}
        equal, near = self.matches(record, stored)
        nearest = min(near, key=lambda number: (near[number], number), default=None)
        match = self.rule.judge(record, lambda: min(equal, default=None), lambda: nearest)
        barring = [n for n in claimed if any(self.matches(record, {n: claimed[n]}))]
        return match, min(barring) if barring and match.kind is Kind.NEW else None

    def beyond(self, record, within):
        """The distances within a limit of stored pages that do not match, and their numbers."""
        distances = self.distances(record, self.stored)
        limit = self.method.max_distance
        return [(found, n) for n, found in distances.items() if limit < found <= within]


class AnyOrder(RuleBasedStateMachine):
    """Numbers are those of a log that others write, too: most rise, some come late."""

    method = SimHash()
    contents = tuple(map(page, (0, 1, 3, 0b111111, 0b1111111, 0xFFFF << 40)))

    def __init__(self):
        super().__init__()
        rule = Rule(20)
        self.view = View(self.method, rule)
        self.oracle = Pages(self.method, rule)
        self.claims = {}
        self.late = []
        self.next = 0
        self.called = []
        self.expected = []
        self.waiting = {}

    records = st.builds(
        lambda *chosen: chosen,
        st.integers(0, 99),
        st.sampled_from(SCOPES),
        st.sampled_from([False, False, False, True]),
        st.sampled_from(ITEMS),
    )

    def record(self, chosen):
        place, scope, is_short, item = chosen
        record = self.contents[place % len(self.contents)]
        record = record._replace(key="key", scope=scope, item=item)
        return record._replace(tokens=5) if is_short else record

    @rule(chosen=records, without=st.sets(st.integers(0, 20), max_size=3))
    def look(self, chosen, without):
        record, nbytes = self.record(chosen), self.view.nbytes
        for below in (inf, self.next, self.next // 2, 0):
            expected, barring = self.oracle.look(record, without, below)
            for _ in range(2):
                decision, claim, *_ = self.view.look(record, without, below)
                assert decision.kind is expected.kind
                assert decision.match is None or decision.match.page == expected.match
                assert (claim and claim.number) == barring
        assert self.view.nbytes == nbytes

    @rule(chosen=records, is_late=st.booleans())
    def claim(self, chosen, is_late):
        if is_late and self.late:
            number = self.late.pop()
        else:
            number, self.next = self.next, self.next + 1
        record = self.record(chosen)
        [claim] = self.view.apply([Claimed(record, number)])
        assert (claim.is_open, claim.number, claim.record) == (True, number, record)
        self.claims[number] = claim
        self.oracle.open[number] = Page.of(record)

    @rule()
    def others_claim_what_is_told_later(self):
        self.late.append(self.next)
        self.next += 1

    @precondition(lambda self: self.claims)
    @rule(place=st.integers(0, 99))
    def wait(self, place):
        number = sorted(self.claims)[place % len(self.claims)]
        waiter = number, len(self.waiting.setdefault(number, []))
        self.waiting[number].append(waiter)
        self.claims[number].when_ended(lambda: self.called.append(waiter))

    @precondition(lambda self: self.claims)
    @rule(
        place=st.integers(0, 99),
        is_stored=st.booleans(),
        replaces=st.none() | st.integers(0, 20),
        items=st.none() | st.lists(st.sampled_from(ITEMS), max_size=3).map(tuple),
    )
    def end(self, place, is_stored, replaces, items):
        number = sorted(self.claims)[place % len(self.claims)]
        claim = self.claims.pop(number)
        own = self.oracle.open.pop(number)
        self.expected += self.waiting.pop(number, [])
        if is_stored:
            replaced = (replaces,) if replaces in self.oracle.stored else ()
            self.view.apply([Committed(number, items, replaced)])
            self.oracle.stored[number] = own if items is None else own._replace(items=items)
            assert self.view.items_of(number) == list(self.oracle.stored[number].items)
            for gone in replaced:
                del self.oracle.stored[gone]
                assert self.view.has_ended(gone)
        else:
            self.view.apply([Released(number)])
        assert not claim.is_open
        claim.when_ended(lambda: self.called.append("at once"))
        self.expected.append("at once")

    @precondition(lambda self: not self.claims)
    @rule(
        chosen=st.lists(records, min_size=1, max_size=40),
        several=st.integers(1, 9),
        replaced=st.integers(0, 99),  # some are stored too long ago to be read
    )
    def load(self, chosen, several, replaced):
        for start in range(0, len(chosen), several):
            pages = dict(enumerate(map(self.record, chosen[start : start + several]), self.next))
            gone = [] if replaced in pages else [replaced]
            self.next += len(pages)
            self.view.load(batch_of(pages, gone))
            if self.oracle.stored.pop(*gone or [None], None):
                assert self.view.has_ended(replaced)
            self.oracle.stored |= {n: Page.of(record) for n, record in pages.items()}
            for number, record in pages.items():
                assert self.view.items_of(number) == [record.item]

    @precondition(lambda self: self.method.name == "simhash")
    @rule(chosen=records, within=st.integers(4, 40))
    def nearest_beyond(self, chosen, within):
        record = self.record(chosen)
        beyond = self.oracle.beyond(record, within)
        [found] = self.view.nearest_beyond([record], record.scope, within)
        assert (found and (found.distance, found.page)) == min(beyond, default=None)

    @invariant()
    def it_counts_what_is_stored_and_calls_who_waits_in_order(self):
        assert len(self.view) == len(self.oracle.stored)
        assert len(self.view._claims) == len(self.claims)
        assert self.called == self.expected


def of_texts(name):
    """The machine over texts, with a method."""
    method = METHODS[name]()
    contents = records_of(TEXTS, method)
    machine = type("AnyOrder", (AnyOrder,), {"method": method, "contents": contents})
    machine.TestCase.settings = settings(
        max_examples=examples(40), stateful_step_count=40, deadline=None
    )
    return pytest.mark.slow(machine.TestCase)


AnyOrder.TestCase.settings = settings(
    max_examples=examples(100), stateful_step_count=50, deadline=None
)
TestAnyOrder = pytest.mark.slow(AnyOrder.TestCase)
TestAnyOrderOfSimhash = of_texts("simhash")
TestAnyOrderOfVerified = of_texts("verified")
TestAnyOrderOfContainment = of_texts("containment")
TestAnyOrderOfSpotsigs = of_texts("spotsigs")
TestAnyOrderOfExact = of_texts("exact")


def claimed(view, number, record=None):
    return view.claim(Claimed(record or page(0), number))


def test_a_claim_bars_what_one_of_its_items_says_and_no_other():
    view = View(SimHash(), Rule())
    claim = claimed(view, 0, page(0, item=VALUES[0] + VALUES[1]))
    assert view.look(page(1, item=VALUES[1])).claim is claim
    assert view.look(page(1, item=VALUES[2])) == Look(
        Decision(Kind.NEW), None, Objection.ITEM, claim.number
    )
    claim.items.append(VALUES[2])
    assert view.look(page(1, item=VALUES[2])).claim is claim
    claim.items.remove(VALUES[2])
    view.commit(claim)
    assert view.look(page(1, item=VALUES[1])).decision.match.page == 0
    assert view.look(page(1, item=VALUES[1] + VALUES[2])).objection is Objection.ITEM


def test_who_is_called_may_claim_at_once():
    view, claims = View(SimHash(), Rule()), []
    first = claimed(view, 0)
    first.when_ended(lambda: claims.append(claimed(view, 1)))
    first.when_ended(lambda: claims.append(view.look(page(1))[1]))
    view.release(first)
    assert claims[0] is claims[1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "scope"), mixed(["simhash", "verified", "spotsigs", "exact", "minhash"], ["", OF_ITEM])
)
def test_released_claims_leave_no_memory_behind(name, scope, monkeypatch):
    """However many different ones there were: only a few at a time."""
    monkeypatch.setattr("dedup.index.hamming._SHORTEST_TAIL", 30)
    monkeypatch.setattr("dedup.index.sorted_table._SCANNED", 1.0)
    method, claims = METHODS[name](), deque()
    view, texts = View(method, Rule()), [article(n).replace(". ", ". Is ") for n in range(50)]
    sketches = [method.to_bytes(method.sketch(Document(text.lower()))) for text in texts]
    for number in range(10_000):
        record = PageRecord("", scope, 100, number.to_bytes(16, "little"), sketches[number % 50])
        claims.append(claimed(view, number, record))
        if len(claims) > 40:
            view.release(claims.popleft())
        if number == 5_000:
            before = view.nbytes
    assert view.nbytes <= before * 1.1 + 4_096
    for claim in claims:
        view.release(claim)
    assert len(view) == len(view._claims) == 0


@pytest.mark.parametrize("of", [str, '["{}.html"]'.format, 'item ["{}"]'.format])
def test_a_scope_of_one_page_takes_little_whatever_told_it(of):
    view = View(SimHash(), Rule())
    for number in range(1000):
        view.commit(claimed(view, number, page(number << 20, scope=of(number))))
    assert view.nbytes < 300_000


@pytest.mark.parametrize("scope", ["", "a.com", OF_ITEM])
@pytest.mark.parametrize("counts", [(3,), (20, 20), (20, 60), (60, 3), (20, 5, 20, 60)])
def test_a_scope_is_loaded_in_pieces_of_any_size(scope, counts):
    pages = [page(number << 20, scope=scope) for number in range(sum(counts))]
    view, numbered, pieces = View(SimHash(), Rule()), iter(enumerate(pages)), []
    for count in counts:
        pieces.append(batch_of(dict(islice(numbered, count))))
    for piece in pieces:
        view.load(piece)
    assert len(view) == len(pages)
    for number, stored in enumerate(pages):
        found = view.look(stored._replace(digest=bytes(15) + b"x")).decision.match
        assert (found.page, found.distance) == (number, 0)
        assert view.look(stored).decision.kind is Kind.EXACT


@pytest.mark.parametrize("name", sorted(set(METHODS) - {"i-match"}))
@pytest.mark.parametrize("count", [4, 100])
@each("change", [lambda data: data[:-1], lambda data: data + b"x", lambda _: b""])
def test_a_stored_sketch_of_another_length_is_refused(name, count, change):
    method = METHODS[name]()
    good = records_of(TEXTS[:1], method)[0]
    wrong = good._replace(sketch=change(good.sketch))
    pages = [good, good._replace(sketch=None), wrong, *[good] * (count - 3)]
    with pytest.raises(ValueError, match=r"sketch|bytes"):
        View(method, Rule()).load(batch_of(dict(enumerate(pages, 1))))
