"""The interface of an index over sketches."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dedup.methods.fingerprints import is_number
from dedup.methods.hashing import Array

Counts = Callable[[int], bool]
"""Says of a page number whether it counts."""


@dataclass(frozen=True, slots=True)
class Match:
    """A stored page within the threshold, and its distance (0 = equal sketches).

    The nearer match is the smaller one; of equally near ones, the older page.
    """

    page: int
    distance: float

    def __lt__(self, other: "Match") -> bool:
        return (self.distance, self.page) < (other.distance, other.page)


LAST_PAGE = 2**32 - 2
"""The highest page number."""


class Index(ABC):
    """Finds the stored page whose sketch is nearest to a given one."""

    loaded_at_once: ClassVar[int] = 1 << 22
    """How many bytes of sketches `add_many` is best given at a time, where there are many.

    Fewer take more time for each; more are in memory twice.
    """

    def __init__(self) -> None:
        self._next_page = 0

    def add(self, sketch: Any, page: int | None = None) -> int:
        """Store *sketch* under the number *page*, by default the next one, and return the number.

        Lower numbers are older pages. Raises ValueError for a number that is not from 0 to
        2**32 - 2, and for what is no sketch; the index is then unchanged. Numbers are not checked
        for repetition.
        """
        number = page_number(page, self._next_page)
        self._store(sketch, number)
        self._next_page = max(self._next_page, number + 1)
        return number

    def add_many(self, sketches: Any, pages: Any = None) -> Array:
        """Store many sketches; return their page numbers, shape (n,), uint32.

        *sketches*: as `Method.to_bytes` gives them, a list or `Packed`; *pages*: a number for each,
        by default the next ones. Raises ValueError as `add` does.
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
        """Forget *page*, which was stored with *sketch*; return False if it was not.

        As fast as a query. Some of the memory is not used again.
        """

    def query(self, sketch: Any, counts: Counts | None = None) -> Match | None:
        """Return the nearest stored page within the threshold, ties to the oldest, or ``None``.

        *counts*: which pages are considered, by default all. It is asked of matches only, the
        nearest one first.
        """
        matches = self.query_all(sketch)
        return next((m for m in matches if counts is None or counts(m.page)), None)

    @abstractmethod
    def query_all(self, sketch: Any) -> list[Match]:
        """Return all stored pages within the threshold, the nearest first, ties by age."""

    @abstractmethod
    def nearest_beyond(
        self, sketches: Iterable[Any], within: float, counts: Counts | None = None
    ) -> Iterator[Match | None]:
        """Yield for each of *sketches* the nearest stored page beyond the threshold.

        It is farther than the threshold and no farther than *within*, ties to the oldest; ``None``
        if there is none. *counts*: as for `query`. Made for a few sketches at the end: each may be
        compared with everything.
        """

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of stored sketches."""

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """The memory that the stored sketches take, in bytes."""


def page_number(page: Any, next_page: int) -> int:
    """Return *page*, or *next_page* if it is ``None``; raises ValueError if that is no number."""
    number = next_page if page is None else page
    if not (is_number(number) and 0 <= number <= LAST_PAGE):
        if page is None:
            raise ValueError("no page number is left: the last one is in use")
        raise ValueError(f"a page must be a number from 0 to {LAST_PAGE}, got {page!r}")
    return int(number)


def page_numbers(pages: Any, next_page: int, count: int) -> Array:
    """Return *count* page numbers, from *next_page* on if *pages* is ``None``, as uint32.

    Raises ValueError if one of them is no page number, or if there are more or fewer.
    """
    if pages is None:
        pages = np.arange(next_page, next_page + count)
    elif not (isinstance(pages, np.ndarray) and pages.dtype.kind in "iu"):
        pages = list(pages)
        if None in pages:
            raise ValueError("a list of pages must have a number for each, got None")
        pages = np.array([page_number(page, 0) for page in pages], np.uint32)
    for page in (pages.min(), pages.max()) if len(pages) else ():
        page_number(page, 0)
    if len(pages) != count:
        raise ValueError(f"{count} sketches need as many pages, got {len(pages)}")
    return pages.astype(np.uint32)  # type: ignore[no-any-return]
