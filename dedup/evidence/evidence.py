"""What a page shows besides its main text, and the bytes that are stored of that."""

import re
from collections.abc import Iterable
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

    *coverage*, from 0 to 1: how much of the page's own text was extracted (see `VisibleText`).
    *view* is the `digest_of_view` of the whole text outside of chrome, *size* its length in bytes
    of UTF-8, blanks and ASCII punctuation left out. *title* and *headline* are what the page calls
    itself, as `digest_of_title` and `digest_of_name` give it, empty where it has none: equal ones
    may be equal by chance, which counts as if nobody had asked. *is_list*: links or chrome have at
    least half of the main text. *words* has a bit of 64 for each word of the page's URL with which
    its main text begins; 0 where nobody knows them.
    """

    coverage: float
    view: bytes
    size: int
    title: bytes = b""
    headline: bytes = b""
    is_list: bool = False
    words: int = 0

    def to_bytes(self) -> bytes:
        """Return the 37 bytes that are stored; *coverage* is rounded down to whole percents."""
        # What was read of bytes is a little less than its whole percents, as .29 * 100.
        percent = int(self.coverage * 100 + 1e-9)
        first = percent | _LIST if self.is_list else percent
        return _STORED.pack(first, self.view, self.words, self.size, self.title, self.headline)

    @staticmethod
    @lru_cache(maxsize=256)
    def from_bytes(data: bytes) -> "Evidence":
        """Return what `to_bytes` was called on; raises struct.error for other lengths."""
        first, view, words, size, title, headline = _STORED.unpack(data)
        coverage, is_list = (first & ~_LIST) / 100, bool(first & _LIST)
        names = title.rstrip(b"\0"), headline.rstrip(b"\0")
        return Evidence(coverage, view, size, *names, is_list, words)

    def with_title(self, title: str) -> "Evidence":
        """Return the evidence of a page with another *title*."""
        return self._replace(title=digest_of_title(title))

    def with_words(self, words: Iterable[str]) -> "Evidence":
        """Return the evidence of a page whose main text begins with *words* of its URL."""
        digests = (blake2b(word.encode(), digest_size=1).digest() for word in words)
        bits = {1 << (digest[0] % 64) for digest in digests}
        return self._replace(words=sum(bits))

    @property
    def weakness(self) -> "Weakness | None":
        """Why the main text says too little of its page; ``None`` if it does not."""
        if self.coverage >= ENOUGH_COVERAGE:
            return None
        return Weakness.LINKS if self.is_list else Weakness.LITTLE


_LIST = 0x80
_SIZE_OF_SEGMENT = 4
_MOST_SEGMENTS = 3
_SIZE_OF_VIEW = 8
_STORED = Struct(f"<B{_SIZE_OF_VIEW}sQI{_SIZE_OF_SEGMENT * _MOST_SEGMENTS}s{_SIZE_OF_SEGMENT}s")
SIZE_OF_EVIDENCE = _STORED.size
"""The length of what `Evidence.to_bytes` gives."""
VIEW = slice(1, 1 + _SIZE_OF_VIEW)
"""Where the *view* stands in that."""


class Weakness(StrEnum):
    """Why a main text says too little of its page: most of it is links, or most is missing."""

    LINKS = "links"
    LITTLE = "little"


def digest_of_view(text: bytes) -> bytes:
    """Return the 8 bytes that stand for all that a page shows."""
    # Cut from 16 bytes, as older ledgers are at their upgrade.
    return blake2b(text, digest_size=16).digest()[:_SIZE_OF_VIEW]


def segments_of(digest: bytes) -> list[bytes]:
    """Return the segments of what `digest_of_title` or `digest_of_name` gave."""
    starts = range(0, len(digest), _SIZE_OF_SEGMENT)
    return [digest[start : start + _SIZE_OF_SEGMENT] for start in starts]


def digest_of_title(title: str) -> bytes:
    """Return the `digest_of_name` of each segment of *title*, up to three; empty if that is empty.

    A segment ends at a bar, at another separator between blanks, or at a bracket after one, in
    Chinese also at a dash or an underscore without blanks; but no number is one of its own:
    editions of one page differ by it. In the middle, all are one.
    """
    segments: list[str] = []
    for part in _BETWEEN_SEGMENTS.split(title):
        if segments and not any(map(str.isalpha, part)):
            segments[-1] += part
        else:
            segments.append(part)
    first, *middle = segments
    last = middle.pop() if middle else ""
    return b"".join(digest_of_name(part) for part in (first, "".join(middle), last) if part)


def split_title(title: str) -> tuple[str, str]:
    """Return the first segment of *title*, and the rest, which begins with the separator."""
    end = separator.start() if (separator := _BETWEEN_SEGMENTS.search(title)) else len(title)
    return title[:end], title[end:]


# As those between the name of a page, of its section and of its site; after a sign of Chinese,
# Japanese or Korean, without blanks.
_BETWEEN_SEGMENTS = re.compile(
    r"\s[-\u2013\u2014|·•«»\u2039\u203a:~/]+\s|[|\uff5c\u4e28]|\s[(\[]"
    r"|(?<=[\u3001-\u9fff\uac00-\ud7af\uff01-\uff60\u2026])[-_\u2013\u2014]+"
)


def digest_of_name(name: str) -> bytes:
    """Return the 4-byte digest of *name* without blanks, in lower case; empty if that is empty."""
    if not name.isascii():
        name = normalize("NFC", name).translate(_INVISIBLE_IN_NAMES)
    visible = "".join(name.casefold().split())
    if not visible:
        return b""
    # No zero byte, with which it could not be told from none.
    digest = blake2b(visible.encode("utf-8", "replace"), digest_size=_SIZE_OF_SEGMENT).digest()
    return digest.replace(b"\0", b"\1")


_INVISIBLE_IN_NAMES = dict.fromkeys(map(ord, "\u00ad\u200b\u200c\u200d\u200e\u200f\ufeff"))
