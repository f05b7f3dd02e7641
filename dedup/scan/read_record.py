"""What is left of a record of a file once it was read, and what may become of it."""

from enum import IntEnum
from typing import NamedTuple

from dedup.lost_text import Sequences
from dedup.record import PageRecord
from dedup.rule import Kind

_JUDGED = Kind.EXACT, Kind.NEAR, Kind.NEW, Kind.SKIPPED


class Fate(IntEnum):
    """What became of a record; those from `NEW` on are kept."""

    BAD = 0
    EXACT = 1
    NEAR = 2
    NEW = 3
    EMPTY = 4
    UNREAD = 5
    NO_SCOPE = 6

    @property
    def verdict(self) -> str:
        """What Spark calls it: a value of `Kind` where it was judged."""
        kinds = ["bad", *_JUDGED, "unread", "without-scope"]
        return str(kinds[self])


COUNTED = {
    "exact_duplicates": Fate.EXACT, "near_duplicates": Fate.NEAR, "kept_empty": Fate.EMPTY,
    "kept_unread": Fate.UNREAD, "kept_without_scope": Fate.NO_SCOPE, "bad": Fate.BAD,
}  # fmt: skip
"""The fates that figures count, by the names that they have there."""


class ReadRecord(NamedTuple):
    """What is left of a record of a file once it was read, without its text.

    *page* is what is judged; its key is "" if the record has none (*has_key*). *has_field* says
    whether there was a text at all, *length* how many characters of main text. A bad record
    (*error*) has nothing else. An *unread* one, whose text could not be found out for the reason
    given, has no digest. *sequences* are those of the text, where that was read; *canonical* is the
    URL that the page names as its canonical one, if that is known.
    """

    page: PageRecord = PageRecord()
    has_key: bool = False
    date: float | None = None
    has_field: bool = False
    length: int = 0
    error: str | None = None
    unread: str | None = None
    has_scope: bool = True
    sequences: Sequences | None = None
    canonical: str | None = None

    @property
    def fate(self) -> Fate:
        """What becomes of it before it is judged; `NEW` if it has to be."""
        if self.error is not None:
            return Fate.BAD
        if self.unread is not None:
            return Fate.UNREAD
        return Fate.NEW if self.has_scope else Fate.NO_SCOPE

    @property
    def fields(self) -> list[str]:
        """Those of "text", "key", "date" and "scope" that it has."""
        is_there = {
            "text": self.has_field, "key": self.has_key, "date": self.date is not None,
            "scope": self.has_scope,
        }  # fmt: skip
        return [name for name, there in is_there.items() if there]
