"""What is read of a log from its start, piece by piece, and what is found then by URL."""

from cases import each

from dedup.record import MOST_TOKENS, Claimed, Committed, PageRecord, Released, Stored
from dedup.stores.entries import Entry, from_bytes, to_bytes
from dedup.stores.known_pages import KnownPages


def entries(first, *events):
    numbered = enumerate(events, first)
    return [Entry(n, b"owner678", n, 1, 100.0, event) for n, event in numbered]


def claimed(key="key"):
    return Claimed(PageRecord(key, "", 1, bytes(16)))


def replacing(number, *replaces):
    return Committed(number, None, replaces)


@each(
    ("stored_since", "pieces", "told", "open_claims"),
    [
        (
            0.0,
            [
                [claimed(), Committed(1), claimed(), claimed()],  # 3 and 4 are open
                [Released(4), claimed(), replacing(6, 1), claimed(), Committed(8)],
                [replacing(3, 6), Committed(99), Released(98)],
            ],
            [([1], []), ([6, 8], [1]), ([3], [6])],
            [],
        ),
        # Of a page that is replaced at once, nothing is told.
        (0.0, [[claimed(), Committed(1), claimed(), claimed(), replacing(3, 1)]], [([3], [])], [4]),
        (100.5, [[claimed(), Committed(1)]], [], []),
        (99.5, [[claimed(), Committed(1)]], [([1], [])], []),
    ],
)
def test_pages_are_told_once_they_are_stored_and_replaced_ones_with_those_in_their_place(
    stored_since, pieces, told, open_claims
):
    known, first, found = KnownPages(2, 0, stored_since), 1, []
    for events in pieces:
        if batch := known.read(entries(first, *events)):
            found.append(([page.number for page in batch.pages], batch.replaced))
        first += len(events)
    assert (found, list(known.open)) == (told, open_claims)


async def test_a_page_whose_url_has_the_same_hash_is_not_the_one_of_the_url():
    """The table tells 32 bits of it: of so many URLs, two have the same ones."""
    urls = [f"http://a/{number}" for number in range(200_000)]
    pages = KnownPages(2, 0)
    for number, url in enumerate(urls):
        pages.learn(url, number, 1)
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
    claim = from_bytes(1, to_bytes(Entry(1, bytes(8), 1, 1, 0.0, Claimed(record))))
    [page] = KnownPages(1).read([claim, *entries(2, Committed(1))]).pages
    assert page.record.tokens == MOST_TOKENS
    page.check()
