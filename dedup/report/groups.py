"""The largest groups of duplicates, in bounded memory."""

from dataclasses import dataclass, field

from dedup.readable_url import readable_url
from dedup.report.report import Copy, Group


@dataclass(slots=True)
class _Copies:
    count: int = 0
    first: list[Copy] = field(default_factory=list)


class Groups:
    """Counts duplicates by original and keeps some of each group.

    A group beyond *limit* makes it forget the smaller half: if one of these grows again, it is
    counted afresh. `forgotten` is how many groups that was.
    """

    def __init__(self, limit: int = 10_000, copies_per_group: int = 20) -> None:
        self._limit = limit
        self._copies_per_group = copies_per_group
        self._copies: dict[str, _Copies] = {}
        self.forgotten = 0

    def add(self, original: str, copy: Copy) -> None:
        """Count *copy* to the group of its *original*."""
        copies = self._copies.get(original)
        if copies is None:
            self._make_room()
            copies = self._copies[original] = _Copies()
        copies.count += 1
        if len(copies.first) < self._copies_per_group:
            copies.first.append(copy)

    def largest(self, count: int) -> tuple[Group, ...]:
        """Return the *count* largest groups, the largest first; the older first among equals."""
        return tuple(map(self._group, self._by_size()[:count]))

    def _group(self, original: str) -> Group:
        copies, readable = self._copies[original], readable_url(original)
        shown = None if readable == original else readable
        return Group(original, copies.count, tuple(copies.first), shown)

    def __len__(self) -> int:
        """Return how many originals had duplicates."""
        return len(self._copies) + self.forgotten

    def _make_room(self) -> None:
        if len(self._copies) >= self._limit:
            originals = self._by_size()[: self._limit // 2]
            self.forgotten += len(self._copies) - len(originals)
            self._copies = {original: self._copies[original] for original in originals}

    def _by_size(self) -> list[str]:
        return sorted(self._copies, key=lambda original: -self._copies[original].count)
