"""Page numbers by a digest."""

from collections.abc import Sequence

import numpy as np

from dedup.index.key_table import KeyTable

_MOST_LATEST = 256
_MOST_FOUND = 1024


class DigestTable:
    """A multimap from digests to page numbers: 8 bytes for each but the latest.

    What it finds may have another digest, and may be gone: whoever asks looks at the pages.
    """

    def __init__(self) -> None:
        self._table = KeyTable()
        # To add many at once takes less time; and what comes and goes leaves nothing behind.
        self._latest: dict[bytes, list[int]] = {}
        self._count = 0

    def add(self, digest: bytes, number: int) -> None:
        self._latest.setdefault(digest, []).append(number)
        self._count += 1
        if self._count == _MOST_LATEST:
            entries = [(digest, n) for digest, numbers in self._latest.items() for n in numbers]
            self._latest, self._count = {}, 0
            self.add_many(*zip(*entries, strict=True))

    def add_many(self, digests: Sequence[bytes], numbers: Sequence[int]) -> None:
        keys = np.frombuffer(b"".join([digest[:8] for digest in digests]), "<u8")
        self._table.add(keys, np.array(numbers, np.uint64))

    def discard(self, digest: bytes, number: int) -> None:
        """Forget page *number*, if it is one of the latest: as seldom as others go."""
        numbers = self._latest.get(digest, [])
        if number in numbers:
            numbers.remove(number)
            self._count -= 1
            if not numbers:
                del self._latest[digest]

    def find(self, digest: bytes, most: int = _MOST_FOUND) -> list[int]:
        """Return the pages that may have *digest*, by number; at least the latest *most*."""
        others = self._table.find_one(int.from_bytes(digest[:8], "little"), most)
        return sorted([*self._latest.get(digest, ()), *others])

    @property
    def nbytes(self) -> int:
        """The memory that it takes, in bytes; estimated for the latest."""
        return self._table.nbytes + 250 * self._count
