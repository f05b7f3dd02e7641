"""A view that is loaded knows what one knows that was told of each page."""

from math import inf

import pytest
from cases import each, examples
from hypothesis import given, settings
from hypothesis import strategies as st
from ledgers import batch_of, records_of
from texts import ENGLISH, article, replaced

from dedup.evidence import Evidence
from dedup.methods import METHODS
from dedup.record import Claimed, Committed, PageRecord, Released, unpack_items
from dedup.rule import Rule
from dedup.scopes import Scope
from dedup.stores.entries import Entry
from dedup.stores.known_pages import KnownPages
from dedup.view.view import View

# Alike to some degree; some have no sketch.
TEXTS = [ENGLISH, *(replaced(ENGLISH, count) for count in (1, 4, 12)), ENGLISH + article(1)]
TEXTS += [article(1), replaced(article(1), 3), article(2), "a few words", "word"]
SCOPES = ["", "", "a.com", Scope.of("field:sku").name_of("", item={"sku": 7}), "é"]
VALUES = [bytes([value]) * 8 for value in (1, 2, 3)]
ITEMS = [b"", *VALUES, VALUES[0] + VALUES[1]]
EVIDENCE = [None, None] + [
    Evidence(coverage, bytes([view]) * 16, 500, title, b"headline").to_bytes()
    for coverage, view, title in [(1, 1, b"one"), (1, 2, b"two"), (1, 1, b"two"), (0.2, 3, b"one")]
]


def histories(method):
    """Pages: the record, the place of the one that it replaces, whether it is stored, its items."""
    record = st.builds(
        lambda page, scope, evidence, url, item: page._replace(
            scope=scope, evidence=evidence, key=url, item=item
        ),
        st.sampled_from(records_of(TEXTS, method)),
        st.sampled_from(SCOPES),
        st.sampled_from(EVIDENCE),
        st.sampled_from([f"http://{name}/é/{number}" for name in "ab" for number in range(3)]),
        st.sampled_from(ITEMS),
    )
    items = st.none() | st.lists(st.sampled_from(ITEMS), max_size=3).map(tuple)
    page = st.tuples(record, st.none() | st.integers(0, 30), st.integers(0, 3).map(bool), items)
    return st.lists(page, min_size=1, max_size=30)


class Told:
    """A view that is told of each page, and what it was told."""

    def __init__(self, method):
        self.view = View(method, Rule())
        self.records = {}
        self._stored = []

    def claim(self, number, record):
        claimed = Claimed(record, number)
        self.records[number] = record
        self.view.apply([claimed])
        return claimed

    def end(self, claimed, old, is_stored, items):
        """Have its page stored, or not; return the event.

        It takes the place of a stored one, if there are any, each of them once.
        """
        replaces = ()
        if is_stored and old is not None and self._stored:
            replaces = (self._stored.pop(old % len(self._stored)),)
        number = claimed.number
        event = Committed(number, items, replaces) if is_stored else Released(number)
        self.view.apply([event])
        if is_stored:
            self._stored.append(claimed.number)
        return event


def of_log(history, told, size, chooser):
    """The pages that are read of a log, some entries at a time."""
    entries, open_claims = [], []

    def append(event):
        entries.append(Entry(len(entries) + 1, b"ownerown", 1, 1, 100.0, event))

    def end(most):
        chooser.shuffle(open_claims)
        while len(open_claims) > most:
            append(told.end(*open_claims.pop()))

    for record, *ending in history:
        claimed = told.claim(len(entries) + 1, record)
        append(claimed)
        open_claims.append((claimed, *ending))
        end(chooser.randrange(4))
    end(0)
    known = KnownPages(1)
    for start in range(0, len(entries), size):
        if batch := known.read(entries[start : start + size]):
            yield batch


def check(method, batches, told):
    """Have a view loaded, and compare all that it knows with what it was told of each page."""
    view, loaded = View(method, Rule()), []
    for batch in batches:
        for number, record, items in batch.pages:
            assert unpack_items(items) == told.view.items_of(number)
            assert record._replace(item=b"") == told.records[number]._replace(item=b"")
            loaded.append(number)
        view.load(batch)
    assert len(view) == len(told.view)
    for number in loaded:
        record = told.records[number]
        told.view.learn_names(record)
        assert view.has_ended(number) == told.view.has_ended(number)
        assert view._pages.witness(number) == told.view._pages.witness(number)
        assert view.items_of(number) == told.view.items_of(number)
    assert list(view._names._met.items()) == list(told.view._names._met.items())
    for record in told.records.values():
        for asked in (record, record._replace(digest=b"another digest!!"), record.under("b")):
            for evidence, item in zip(EVIDENCE[1:], ITEMS, strict=True):
                page = asked._replace(evidence=evidence, item=item)
                for older_than in (inf, max(loaded, default=0)):
                    look = view.look(page, (), older_than)
                    expected = told.view.look(page, (), older_than)
                    # Which of several pages an objection names is no promise.
                    assert look[:2] == expected[:2]
                    assert (look.objection is None) == (expected.objection is None)
    sketched = [record for record in told.records.values() if record.sketch is not None]
    for scope in SCOPES:
        assert list(view.nearest_beyond(sketched, scope, 30)) == list(
            told.view.nearest_beyond(sketched, scope, 30)
        )


METHODS_TO_LOAD = ["simhash", "verified", "spotsigs", "exact", "i-match"]


@pytest.mark.slow
@pytest.mark.parametrize("name", METHODS_TO_LOAD)
def test_a_log_is_loaded_as_if_each_page_had_been_told(name):
    method = METHODS[name]()

    @settings(max_examples=examples(60), deadline=None)
    @given(histories(method), st.integers(1, 40), st.randoms(use_true_random=False))
    def look(history, size, chooser):
        told = Told(method)
        check(method, list(of_log(history, told, size, chooser)), told)

    look()


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


def test_what_was_replaced_and_is_not_loaded_does_not_count_less_than_nothing():
    """It was stored too long ago to be read."""
    view = View(METHODS["simhash"](), Rule())
    view.load(batch_of({8: PageRecord("http://a/", "", 0, bytes(16))}, replaced=[7]))
    assert len(view) == 1
