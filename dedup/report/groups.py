"""The largest groups of duplicates, in bounded memory."""

from dataclasses import dataclass, field

from dedup.rule import Verdict


@dataclass
class Group:
    """An original, how many duplicates of it were met, and the first of them with the verdicts."""

    original: str
    duplicates: int = 0
    first: list[tuple[str, Verdict]] = field(default_factory=list)


class Groups:
    """Counts duplicates by original and keeps some URLs of each.

    When *limit* groups are exceeded, the smaller half is forgotten: a group that grows again after
    that is counted from where it restarts, as `forgotten` says.
    """

    def __init__(self, limit: int = 10_000, urls_per_group: int = 20) -> None:
        self._limit = limit
        self._urls_per_group = urls_per_group
        self._groups: dict[str, Group] = {}
        self.forgotten = 0

    def add(self, verdict: Verdict, url: str) -> None:
        """Count the page at *url* to the group of its *verdict*, which must name an original."""
        original = verdict.original
        if original is None:
            raise ValueError(f"a duplicate's verdict was expected, got {verdict}")
        group = self._groups.get(original)
        if group is None:
            self._make_room()
            group = self._groups[original] = Group(original)
        group.duplicates += 1
        if len(group.first) < self._urls_per_group:
            group.first.append((url, verdict))

    def largest(self, count: int) -> list[Group]:
        """Return the *count* largest groups, the largest first; the older first among equals."""
        return sorted(self._groups.values(), key=lambda group: -group.duplicates)[:count]

    def __len__(self) -> int:
        """Return how many originals had duplicates."""
        return len(self._groups) + self.forgotten

    def _make_room(self) -> None:
        if len(self._groups) < self._limit:
            return
        kept = self.largest(self._limit // 2)
        self.forgotten += len(self._groups) - len(kept)
        self._groups = {group.original: group for group in kept}
