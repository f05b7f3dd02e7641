"""What is read of a log from its start, piece by piece, and what is found then by URL."""

from ledgers import numbers_in

from dedup.record import MOST_TOKENS, Claimed, Committed, PageRecord, Preferred, Released, Stored
from dedup.stores.entries import Entry, from_bytes, to_bytes
from dedup.stores.known_pages import KnownPages, Replay


def entries(first, *events):
    numbered = enumerate(events, first)
    return [Entry(n, b"owner678", n, 1, 100.0, event) for n, event in numbered]


def claimed(key="key"):
    return Claimed(PageRecord(key, "", 1, bytes(16)))


def replacing(number, *replaces):
    return Committed(number, None, replaces)


def replay_of(*events):
    replay = Replay(KnownPages(2, 0))
    replay.add(entries(1, *events))
    return replay


def test_what_is_replaced_is_told_with_the_next_pages_however_late_they_come():
    replay = replay_of(claimed(), Committed(1))
    batch = replay.take()
    assert (numbers_in(batch), batch.replaced) == ([1], [])
    replay.add(entries(3, claimed(), claimed(), replacing(4, 1)))
    assert replay.take() is None, "page 3 is open"
    batch = replay.take(is_end=True)
    assert (numbers_in(batch), batch.replaced) == ([4], [1])


def test_pages_are_given_on_by_number_when_none_before_them_is_open():
    replay = replay_of(claimed(), Committed(1), claimed(), claimed(), Released(4))
    assert numbers_in(replay.take()) == [1]
    assert replay.take() is None, "page 3 is open"
    replay.add(entries(6, Committed(3), claimed(), Committed(7), claimed(), claimed()))
    replay.add(entries(11, Committed(10)))
    assert numbers_in(replay.take()) == [3, 7]
    assert replay.take() is None, "page 9 is open"
    assert numbers_in(replay.take(is_end=True)) == [10]
    assert replay.take(is_end=True) is None
    assert list(replay.open) == [9]
    assert replay.last_entry == Entry(11, b"owner678", 11, 1, 100.0, Committed(10))


def test_what_is_replaced_or_released_behind_an_open_claim_is_forgotten():
    replay = replay_of(claimed(), claimed("gone"), claimed("released"))
    replay.add(entries(4, Committed(2), Released(3), claimed(), replacing(6, 2)))
    assert list(replay.open) == [1]
    batch = replay.take(is_end=True)
    assert (numbers_in(batch), batch.replaced) == ([6], [])


async def test_what_is_given_on_is_found_by_its_url_and_by_the_better_one():
    replay = replay_of(claimed("a"), Committed(1), Preferred(1, "b"), claimed("c"))
    replay.take()
    records = {1: PageRecord("a")}

    async def fetch(numbers):
        return {number: records[number] for number in numbers}

    found = {key: await replay.pages.earlier(key, fetch) for key in "abc"}
    assert found == {"a": [Stored(1, records[1])], "b": [Stored(1, records[1])], "c": []}


async def test_a_page_whose_url_has_the_same_hash_is_not_the_one_of_the_url():
    """The table tells 32 bits of it: of so many URLs, two have the same ones."""
    urls = [f"http://a/{number}" for number in range(200_000)]
    pages = KnownPages(2, 0)
    pages.learn_urls([(url, number, 1) for number, url in enumerate(urls)])
    wrong = []

    async def fetch(numbers):
        wrong.extend(numbers[1:])
        return {number: PageRecord(urls[number]) for number in numbers}

    for number, url in enumerate(urls):
        assert await pages.earlier(url, fetch) == [Stored(number, PageRecord(url))]
        if wrong:
            return
    raise AssertionError("no two hashes are equal, so this shows nothing")


def test_more_tokens_than_any_page_has_are_as_many_as_a_record_can_say():
    """What a hostile log says does not make a page a short one."""
    record = PageRecord("http://a/", "", 2**64 - 1, bytes(16))
    replay = Replay(KnownPages(1, 0))
    replay.add([from_bytes(1, to_bytes(Entry(1, bytes(8), 1, 1, 0.0, Claimed(record))))])
    replay.add(entries(2, Committed(1)))
    [page] = replay.take().pages
    assert page.record.tokens == MOST_TOKENS
    page.check()


async def test_all_pages_of_a_url_are_found():
    urls = [f"https://example.com/{number % 70}" for number in range(300)]
    pages = KnownPages(2, 0)
    for number, url in enumerate(urls):
        pages.learn_urls([(url, number, number % 3)])

    async def fetch(numbers):
        return {number: PageRecord(urls[number]) for number in numbers}

    found = {url: await pages.earlier(url, fetch) for url in [*urls, "https://example.com/none"]}
    assert {url: [number for number, *_ in stored] for url, stored in found.items()} == {
        url: [n for n, other in enumerate(urls) if other == url and (n % 3 != 2 or n == 0)]
        for url in found
    }
