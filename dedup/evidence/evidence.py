"""What a page shows besides its main text, and the bytes that are stored of that."""

from enum import StrEnum
from functools import lru_cache
from hashlib import blake2b
from struct import Struct
from typing import NamedTuple
from unicodedata import normalize

ENOUGH_COVERAGE = 0.5
"""A main text that covers less of its page says too little of it."""


class Evidence(NamedTuple):
    """What a page shows besides its main text.

    *coverage*, from 0 to 1: how much of the page's own text was extracted (see `evidence_of`).
    *view* is the 16-byte digest of the whole text outside of chrome, *size* its length in bytes of
    UTF-8, blanks and ASCII punctuation left out. *title* and *headline* are 4-byte digests of what
    the page calls itself, empty where it has none: equal ones may be equal by chance, which counts
    as if nobody had asked. *is_list*: links or chrome have at least half of the main text.
    """

    coverage: float
    view: bytes
    size: int
    title: bytes = b""
    headline: bytes = b""
    is_list: bool = False

    def to_bytes(self) -> bytes:
        """Return the 29 bytes that are stored; *coverage* is rounded down to whole percents."""
        # What was read of bytes is a little less than its whole percents, as .29 * 100.
        percent = int(self.coverage * 100 + 1e-9)
        first = percent | _LIST if self.is_list else percent
        return _STORED.pack(first, self.view, self.size, self.title, self.headline)

    @staticmethod
    @lru_cache(maxsize=256)
    def from_bytes(data: bytes) -> "Evidence":
        """Return what `to_bytes` was called on; raises struct.error for other lengths."""
        first, view, size, title, headline = _STORED.unpack(data)
        coverage, is_list = (first & ~_LIST) / 100, bool(first & _LIST)
        return Evidence(coverage, view, size, title.rstrip(b"\0"), headline.rstrip(b"\0"), is_list)

    def with_title(self, title: str) -> "Evidence":
        """Return the evidence of a page with another *title*."""
        return self._replace(title=digest_of_name(title))

    @property
    def weakness(self) -> "Weakness | None":
        """Why the main text says too little of its page; ``None`` if it does not."""
        if self.coverage >= ENOUGH_COVERAGE:
            return None
        return Weakness.LINKS if self.is_list else Weakness.LITTLE


_LIST = 0x80
_STORED = Struct("<B16sI4s4s")
SIZE_OF_EVIDENCE = _STORED.size
"""The length of what `Evidence.to_bytes` gives."""
VIEW = slice(1, 17)
"""Where the *view* stands in that."""
NAMES = slice(21, 29)
"""Where *title* and *headline* do, 4 bytes each, with zero bytes for what they have not."""


class Weakness(StrEnum):
    """Why a main text says too little of its page: most of it is links, or most is missing."""

    LINKS = "links"
    LITTLE = "little"


def digest_of_name(name: str) -> bytes:
    """Return the 4-byte digest of *name* without blanks, in lower case; empty if that is empty."""
    visible = "".join(normalize("NFC", name).casefold().translate(_INVISIBLE_IN_NAMES).split())
    if not visible:
        return b""
    # No zero byte, with which it could not be told from none.
    return blake2b(visible.encode("utf-8", "replace"), digest_size=4).digest().replace(b"\0", b"\1")


_INVISIBLE_IN_NAMES = dict.fromkeys(map(ord, "\u00ad\u200b\u200c\u200d\u200e\u200f\ufeff"))
