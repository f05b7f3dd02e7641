"""What a process knows of the stored pages of a log beside what it compares: by URL and number."""

from collections.abc import Awaitable, Callable, Iterable, Mapping

from dedup.record import PageRecord
from dedup.stores.base import Stored
from dedup.stores.shared.columns import Claims
from dedup.stores.shared.url_table import UrlTable

_PAGES_AT_HAND = 10_000
_KEYS_AT_HAND = 16


class KnownPages:
    """Finds the pages that were stored before under a URL, and keeps some records at hand.

    These are the pages of other runs, and those of the own one that were there when the process
    began, or its job that goes on: a run lasts as long as any process takes part.
    """

    def __init__(
        self,
        run: int,
        position: int,
        fetch: Callable[[Iterable[int]], Awaitable[Mapping[int, PageRecord]]],
    ) -> None:
        """Create it without pages; *fetch* returns records by number.

        *run* is the own one, of which pages up to *position* were stored before.
        """
        self._run, self._position = run, position
        self._fetch = fetch
        self._urls = UrlTable()
        # Pages in that table that do not count any more.
        self._replaced: set[int] = set()
        self._records: dict[int, PageRecord] = {}
        self.preferred: dict[int, str] = {}
        """The better keys of pages, by number."""
        # What was looked up by key: a page may have thousands of items.
        self._earlier: dict[str, list[Stored]] = {}

    def begin_run(self, run: int, position: int) -> None:
        """Have *run* be the own one, from *position* on."""
        self._run, self._position, self._earlier = run, position, {}

    def learn(self, claims: Claims) -> None:
        """Take note of stored pages, and of those whose place they take."""
        self.replace(claims.records.replaced)
        self._urls.add_many(claims.urls, claims.numbers, claims.runs)

    def learn_url(self, key: str, number: int, run: int) -> None:
        """Have page *number* found by *key*, as one that *run* has stored, or met there."""
        self._urls.add(key, number, run)
        if self._is_earlier(number, run):
            self._earlier = {}

    def _is_earlier(self, number: int, run: int) -> bool:
        # By the number, which is the position of the claim: what was committed only after the
        # process began counts as earlier, too. In doubt a page has changed, and is stored.
        return run != self._run or number <= self._position

    def prefer(self, key: str, number: int, run: int) -> None:
        """Have *key*, under which *run* has met page *number*, be the better one."""
        self.preferred[number] = key
        self.learn_url(key, number, run)

    def replace(self, numbers: Iterable[int]) -> None:
        """Have the pages *numbers* not count any more."""
        self._replaced.update(numbers)

    async def earlier(self, key: str) -> list[Stored]:
        """Return what was stored before under *key*, or if that is the better one."""
        at_hand = self._earlier  # another one when it is out of date
        if key not in at_hand:
            found = self._urls.pages(key)
            numbers = dict.fromkeys(page[0] for page in found if self._is_earlier(*page))
            counting = [number for number in numbers if number not in self._replaced]
            records = await self._fetch(counting) if counting else {}
            stored = [
                Stored(number, records[number])
                for number in counting
                if key in (records[number].key, self.preferred.get(number))
            ]
            if not stored:
                return []
            if len(at_hand) >= _KEYS_AT_HAND:
                del at_hand[next(iter(at_hand))]
            at_hand[key] = stored
        return at_hand[key]

    def record(self, number: int) -> PageRecord | None:
        """Return the record of page *number*, if it is at hand."""
        return self._records.get(number)

    def keep(self, records: Mapping[int, PageRecord]) -> None:
        """Have *records* at hand for a while."""
        self._records |= records
        while len(self._records) > _PAGES_AT_HAND:
            del self._records[next(iter(self._records))]

    @property
    def nbytes(self) -> int:
        """The memory that it takes, in bytes; an estimate."""
        return self._urls.nbytes + 500 * len(self._records)
