"""Stored pages that are just no near-duplicates of others: near misses."""

from collections.abc import Iterator, Sequence

from dedup.evidence import Objection
from dedup.methods.base import Method
from dedup.record import PageRecord
from dedup.stores import Store
from dedup.view.view import View


class Neighbours:
    """Finds for pages the nearest stored ones that are just no match."""

    def __init__(self, method: Method, store: Store, view: View) -> None:
        """Create it for the pages of *store*, which *view* knows."""
        self.distance = method.near_miss_distance
        """The inclusive distance up to which a page that is no match is a near miss."""
        self._store = store
        self._view = view

    def of(
        self, records: Sequence[PageRecord], scope: str
    ) -> Iterator[tuple[str, float, Objection | None] | None]:
        """Yield for each record the nearest near miss in *scope*: its key and distance.

        And what would speak against a drop if it were within the threshold.

        ``None`` if there is none. What is found beyond the threshold depends on the index: all with
        fingerprints, else a part.
        """
        matches = self._view.nearest_beyond(records, scope, self.distance)
        for record, match in zip(records, matches, strict=True):
            if match is None:
                yield None
            else:
                key = self._store.key(match.page)
                yield key, match.distance, self._view.objection_to(record, match.page)

    async def fetch(self, records: Sequence[PageRecord], scope: str) -> None:
        """Have the keys at hand that `of` gives.

        Raises StoreDownError if a shared store cannot be asked now.
        """
        if self._store.is_shared:
            matches = self._view.nearest_beyond(records, scope, self.distance)
            await self._store.pages({match.page for match in matches if match})
