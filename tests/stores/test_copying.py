"""Every log becomes a ledger, and every ledger a log."""

import shutil
from pathlib import Path

import pytest
from ledgers import add, crawling, publish, query, record
from test_log import IDENTITY
from test_log import joined as taking_part

from dedup.evidence import SIZE_OF_EVIDENCE
from dedup.record import unpack_items
from dedup.stores import copying
from dedup.stores.base import DuplicateNote, HistoryChangedError, StoreDownError
from dedup.stores.copying import check_target, copy_to_ledger, copy_to_log
from dedup.stores.ledger_file import LedgerError, LedgerInUseError
from dedup.stores.log import Found, Joined
from dedup.stores.reader import LedgerReader


def page(number, key=None, scope=""):
    return record(number, key, scope)._replace(evidence=bytes(range(SIZE_OF_EVIDENCE)))


def note(key, number, at=5.0):
    return DuplicateNote(key, number, "near-duplicate", 2.0, at)


def tables_of(path):
    """What matters of the pages that count: all but their numbers and when they were stored."""
    with LedgerReader(path) as reader:
        pages = list(reader.pages())
        urls = {page.number: page.record.key for page in pages}
        return {
            "identity": reader.identity,
            "pages": [page.record for page in pages],
            "items": [unpack_items(page.items) for page in pages],
            "duplicates": sorted(
                (urls[n.number], *n._replace(number=0)) for n in reader.duplicates()
            ),
        }


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    """Have a hundredth of the rows be read and told at once, so that as few are enough."""
    monkeypatch.setattr(copying, "_ROWS_AT_ONCE", 10)


@pytest.fixture
def ledger(crawled, tmp_path):
    """A ledger with all that moves, and with pages that do not count any more."""
    return Path(shutil.copy(crawled, tmp_path))


@pytest.fixture(scope="session")
def crawled(tmp_path_factory):
    path = tmp_path_factory.mktemp("ledger") / "crawled.sqlite"
    items = [None, (b"",), (b"a value!", b"", b"another!"), (b"a value!another!",)]
    with crawling(path, IDENTITY) as store:
        numbers = [add(store, page(number), items=items[number % 4]) for number in range(1, 26)]
        add(store, page(9001, "http://a/1", "a scope"), replaces=[numbers[0]])
        add(store, page(9002)._replace(sketch=None, evidence=None, item=b"a value!"))
        publish(store)
        store.note_duplicate("http://a/copy", numbers[4], "exact-duplicate", 0.0)
        store.note_duplicate("http://a/of-the-past", numbers[0], "exact-duplicate", 0.0)
        store.note_difference("http://a/7", numbers[4], ["price", "offer.stock"])
    return path


async def test_a_ledger_has_what_the_processes_of_a_fleet_have_stored(place, path):
    one, other = [await taking_part(place, spider=name) for name in ("one", "other")]
    [a, b] = await one.store(page(1), page(2, scope="a scope")._replace(item=b"a value!"))
    [c] = await other.store(page(3, "http://a/1"), items=(b"another!", b""), replaces=(a,))
    await other.claim(page(4))  # nobody knows yet whether it is stored
    released = await other.claim(page(5))
    await other.exchange(
        releases=released,
        duplicates=[note("http://a/copy", b), note("http://a/of-the-past", a)],
    )
    await one.leave("finished", {"pages": {"judged": 2}}, [("http://a/2", "T", "x")])

    await copy_to_ledger(place.log(), path)

    with LedgerReader(path) as reader:
        assert reader.identity == IDENTITY
        pages = [(p.number, p.record) for p in reader.pages()]
        assert pages == [(b, page(2, scope="a scope")), (c, page(3, "http://a/1"))]
        assert [unpack_items(p.items) for p in reader.pages()] == [
            [b"a value!"],
            [b"another!", b""],
        ]
        assert {p.crawl for p in reader.pages()} == {1}
        assert list(reader.duplicates()) == [note("http://a/copy", b)]
        crawls = [(c.id, c.run, c.spider, c.reason, c.report) for c in reader.crawls()]
        assert crawls == [
            (1, 1, "one", "finished", {"pages": {"judged": 2}}),
            (2, 1, "other", None, None),
        ]
        assert reader.crawls()[0].started <= reader.crawls()[0].finished
        # What was replaced is known as far as the log knows it.
        versions = {v.number: v.ended is not None for v in reader.versions("http://a/1")}
        assert versions in ({a: True, c: False}, {c: False})


async def test_a_ledger_goes_into_a_log_and_back(place, ledger, path):
    assert await copy_to_log(ledger, place.log()) == 26
    await copy_to_ledger(place.log(), path)
    before, after = tables_of(ledger), tables_of(path)
    assert len(before["pages"]) == 26
    assert [b"a value!", b"", b"another!"] in before["items"]
    assert all(before.values())
    assert after == before
    # What was moved is of an earlier run.
    assert await place.log().open() == Found(IDENTITY, False)
    process = await taking_part(place)
    assert process.joined == Joined(2, False, False, process.joined.position)
    assert (await process.store(page(9003)))[0] > 26


async def test_a_ledger_that_is_damaged_is_told(place, ledger):
    query(ledger, "UPDATE pages SET evidence = x'00' WHERE id = 24")
    with pytest.raises(LedgerError, match="page 24 has a value of a wrong type") as caught:
        await copy_to_log(ledger, place.log(), name="what it is called")
    assert "what it is called" in str(caught.value)
    assert not (await place.log().open()).is_in_use


async def test_what_holds_pages_or_is_in_use_is_refused(place, ledger):
    process = await taking_part(place)
    await process.store(page(1, "http://a/of-another-crawl"))
    with pytest.raises(LedgerInUseError, match="is in use: wait for the end of its crawls"):
        await copy_to_log(ledger, place.log())
    await process.leave()
    for refused in check_target(place.log()), copy_to_log(ledger, place.log()):
        with pytest.raises(LedgerError, match="is not empty: name another store"):
            await refused


def with_step(log, turn, step):
    """Have *step* be done before *log* answers a request."""
    exchange = log.exchange

    async def exchange_and_do(request):
        answer = await exchange(request)
        if request.turn == turn:
            await step()
        return answer

    log.exchange = exchange_and_do
    return log


async def test_a_crawl_that_begins_meanwhile_ends_the_move(place, ledger):
    others = []

    async def join():
        others.append(await taking_part(place))

    with pytest.raises(LedgerInUseError, match="is in use"):
        await copy_to_log(ledger, with_step(place.log(), 1, join))
    [other] = others
    await other.follow()
    kinds = [type(entry.event).__name__ for entry in other.followed]
    assert sorted(kinds) == ["Claimed"] * 10 + ["Released"] * 10


@pytest.mark.parametrize("turn", [1, 4])
async def test_what_fails_leaves_a_store_that_knows_less(turn, place, ledger, path):
    async def fail():
        raise StoreDownError("it did not answer")

    with pytest.raises(LedgerError, match="did not answer"):
        await copy_to_log(ledger, with_step(place.log(), turn, fail))
    await copy_to_ledger(place.log(), path)
    with LedgerReader(path) as reader:
        pages = [page.record for page in reader.pages()]
    with LedgerReader(ledger) as reader:
        assert pages == [page.record for page in reader.pages()][: len(pages)]
    assert not (await place.log().open()).is_in_use


async def test_a_reset_meanwhile_is_noticed(place, path):
    process = await taking_part(place)
    await process.store(page(1))
    await process.leave()
    log = place.log()
    snapshot = log.snapshot

    async def then_reset():
        async for piece in snapshot():
            yield piece
        other = await taking_part(place, reset=True, spider="another")
        await other.store(page(2))

    log.snapshot = then_reset
    with pytest.raises(HistoryChangedError, match="was reset while it was read: try it again"):
        await copy_to_ledger(log, path)
    assert not path.exists()


async def test_a_run_that_begins_meanwhile_has_its_crawl(place, path):
    first = await taking_part(place)
    await first.leave()
    log = place.log()
    snapshot = log.snapshot

    async def later_snapshot():
        later = await taking_part(place, spider="later")
        await later.store(page(1))
        async for piece in snapshot():
            yield piece

    log.snapshot = later_snapshot
    await copy_to_ledger(log, path)
    with LedgerReader(path) as reader:
        spiders = {crawl.id: crawl.spider for crawl in reader.crawls()}
        assert [spiders[p.crawl] for p in reader.pages()] == ["later"]
