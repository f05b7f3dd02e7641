"""The interface of an index over sketches."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from dedup.arrays import Array, is_number

PageFilter = Callable[[int], bool]
"""A predicate on page numbers: whether a query may return the page."""


@dataclass(frozen=True, slots=True)
class Match:
    """A stored page within the threshold, and its distance (0 = equal sketches).

    Matches compare by distance, then by page: the smallest is the nearest and, on ties, oldest.
    """

    page: int
    distance: float

    def __lt__(self, other: "Match") -> bool:
        return (self.distance, self.page) < (other.distance, other.page)


LAST_PAGE = 2**32 - 2
"""The highest page number."""


class Index(ABC):
    """Finds the stored page whose sketch is nearest to a given one."""

    def __init__(self) -> None:
        self._next_page = 0

    def add(self, sketch: Any, page: int | None = None) -> int:
        """Store *sketch* under the number *page*, by default the next one, and return the number.

        Lower numbers mean older pages; they may be added in any order. Raises ValueError if the
        number is not from 0 to 2**32 - 2 or *sketch* is not a sketch, and leaves the index
        unchanged. Whether a number is already in use is not checked.
        """
        # Not as one of many: a crawl adds each page by itself.
        number = self._next_page if page is None else page
        if not (is_number(number) and 0 <= number <= LAST_PAGE):
            raise _range_error(number)
        number = int(number)
        self._store(sketch, number)
        self._next_page = max(self._next_page, number + 1)
        return number

    def add_many(self, sketches: Any, pages: Any = None) -> Array:
        """Store many sketches; return their page numbers, shape (n,), uint32.

        *sketches*: a list or `Packed` of what `Method.to_bytes` returns. *pages*: one number per
        sketch, by default the next ones. Raises ValueError as `add` does.
        """
        numbers = page_numbers(pages, self._next_page, len(sketches))
        self._store_many(sketches, numbers)
        if len(numbers):
            self._next_page = max(self._next_page, int(numbers.max()) + 1)
        return numbers

    @abstractmethod
    def _store(self, sketch: Any, page: int) -> None: ...

    @abstractmethod
    def _store_many(self, sketches: Any, pages: Array) -> None: ...

    @abstractmethod
    def discard(self, sketch: Any, page: int) -> bool:
        """Remove *page*, which was stored with *sketch*; return False if it was not stored.

        Takes about as long as a query. The memory is used again.
        """

    def query(self, sketch: Any, counts: PageFilter | None = None) -> Match | None:
        """Return the nearest stored page within the threshold, ties to the oldest, or ``None``.

        *counts* says which pages to consider; by default all. It is called once per match, the
        nearest first, until it returns True.
        """
        matches = self.query_all(sketch)
        return next((m for m in matches if counts is None or counts(m.page)), None)

    @abstractmethod
    def query_all(self, sketch: Any) -> list[Match]:
        """Return all stored pages within the threshold, the nearest first, ties by page number."""

    @abstractmethod
    def compare_many(self, sketches: Any) -> Iterator[tuple[Array, Array, Array]]:
        """Yield numbers of *sketches*, pages and distances, in blocks: of all matches, each once.

        Some that are farther may be among them. *sketches*: as of `add_many`.
        """

    @abstractmethod
    def nearest_beyond(
        self, sketches: Iterable[Any], within: float, counts: PageFilter | None = None
    ) -> Iterator[Match | None]:
        """Yield the nearest stored page beyond the threshold for each of *sketches*, or ``None``.

        Its distance is above the threshold and at most *within*; ties go to the oldest page.
        *counts* works as in `query`. Meant for a few sketches at the end of a crawl: each may be
        compared with every stored one.
        """

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of stored sketches."""

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """The memory used by the index, in bytes."""


def page_numbers(pages: Any, next_page: int, count: int) -> Array:
    """Return *pages*, or the *count* numbers from *next_page* if it is ``None``, as uint32.

    Raises ValueError if a number is out of range, or if there are not *count* numbers.
    """
    numbers = np.arange(next_page, next_page + count) if pages is None else np.asarray(pages)
    if len(numbers) != count:
        raise ValueError(f"{count} sketches need {count} pages, got {len(numbers)}")
    is_integer = numbers.dtype.kind in "iu"
    if count and not (is_integer and numbers.min() >= 0 and numbers.max() <= LAST_PAGE):
        raise _range_error(numbers)
    return numbers.astype(np.uint32)


def _range_error(pages: Any) -> ValueError:
    return ValueError(f"pages must be numbers from 0 to {LAST_PAGE}, got {pages!r:.80}")
