"""Which pairs of a long run are compared, of sketches that are not fingerprints."""

from collections.abc import Sequence

from dedup.methods.base import Components, FeatureSets, KeyMethod
from dedup.spark.pairs.components import pairs_by_components
from dedup.spark.pairs.features import pairs_by_features
from dedup.spark.pairs.pairs import Pairs, pairs_of_leaders
from dedup.spark.pairs.sieve import Sieve


class Candidates:
    """The pairs of a run that may match, as far as components or features of its sketches tell."""

    def __init__(
        self,
        size: int,
        components: Components | None = None,
        features: FeatureSets | None = None,
    ) -> None:
        self._size = size
        self._components = components
        self._sieve = None if components is None else Sieve.of(components)
        self._features = features

    @classmethod
    def of_sketches(cls, method: KeyMethod, payloads: Sequence[bytes]) -> "Candidates":
        """Return those of the sketches that *method* has made."""
        return cls(len(payloads), method.components(payloads), method.feature_sets(payloads))

    @property
    def are_sorted_fast(self) -> bool:
        """Whether `of_all` takes less time than to compare a few members with all others."""
        return self._features is not None

    def leaders_at_once(self, pairs: int) -> int:
        """Return of how many members there are about so many *pairs*, one or more.

        A sieve leaves few of them, and takes less time for several leaders at once.
        """
        return max(1, (pairs if self._sieve is None else 8 * pairs) // self._size)

    def of_leaders(self, first: int, last: int) -> Pairs:
        """Return the pairs of each member from *first* to before *last* with all later ones."""
        if self._sieve is not None:
            return self._sieve.pairs_of_leaders(first, last)
        return pairs_of_leaders(first, last, self._size)

    def of_all(self, first: int, most: int) -> Pairs | None:
        """Return the pairs from *first* on, each once; ``None`` if they are over *most*.

        ``None``, too, where nothing tells which they are, or where that is no shorter way.
        """
        if self._components is not None and self._sieve is not None:
            return pairs_by_components(self._components, self._sieve, first, most)
        if self._features is not None:
            return pairs_by_features(self._features, first, most)
        return None
