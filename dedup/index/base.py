"""The interface of an index over sketches."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


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


def checked_page(page: Any, next_page: int) -> int:
    """Return *page*, or *next_page* if it is ``None``; raises ValueError if that is no number."""
    number = next_page if page is None else page
    is_number = isinstance(number, int | np.integer) and not isinstance(number, bool)
    if not (is_number and 0 <= number <= LAST_PAGE):
        if page is None:
            raise ValueError("no page number is left: the last one is in use")
        raise ValueError(f"a page must be a number from 0 to {LAST_PAGE}, got {page!r}")
    return int(number)


def check_pages(pages: Sequence[int]) -> None:
    """Raise ValueError if one of *pages* is no page number."""
    if len(pages):
        checked_page(min(pages), 0)
        checked_page(max(pages), 0)


class Index(ABC):
    """Finds the stored page whose sketch is nearest to a given one."""

    @abstractmethod
    def add(self, sketch: Any, page: int | None = None) -> int:
        """Store *sketch* under the number *page*, by default the next one, and return the number.

        Lower numbers are older pages.
        """

    @abstractmethod
    def query(self, sketch: Any) -> Match | None:
        """Return the nearest stored page within the threshold, ties to the oldest, or ``None``."""

    @abstractmethod
    def query_all(self, sketch: Any) -> list[Match]:
        """Return all stored pages within the threshold, the nearest first, ties by age."""

    @abstractmethod
    def nearest_beyond(self, sketches: Iterable[Any], within: float) -> Iterator[Match | None]:
        """Yield for each of *sketches* the nearest stored page beyond the threshold.

        It is farther than the threshold and no farther than *within*, ties to the oldest; ``None``
        if there is none. Made for a few sketches at the end: each may be compared with everything.
        """

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of stored sketches."""

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """The memory that the stored sketches take, in bytes."""
