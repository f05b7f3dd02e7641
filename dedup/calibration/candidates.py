"""Pages -> the pairs that a method finds within a generous distance, by their distance."""

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from dedup.calibration.judgements import Pair
from dedup.index.base import Index
from dedup.methods.base import Method
from dedup.methods.hashing import PLAIN, Hashing
from dedup.search import index_for, order_to_compare
from dedup.text import Document

# Once there are this many pairs, a threshold that adds more than half as many pairs again finds
# mostly pairs that are alike by chance.
_PAGES_PER_PAIR = 20
_FEW_PAIRS = 50


@dataclass(frozen=True)
class Candidates:
    """The pairs that *method* finds, in strata by their distance.

    *strata* maps each threshold to the pairs within it that are not within the one before;
    *max_distance* is the last threshold.
    """

    method: Method
    strata: dict[float, list[Pair]]

    @property
    def max_distance(self) -> float:
        return max(self.strata)

    def pairs_within(self, threshold: float) -> list[Pair]:
        """Return the pairs that are found at *threshold*."""
        nearer = (pairs for most, pairs in self.strata.items() if most <= threshold)
        return list(chain.from_iterable(nearer))


def thresholds_of(kind: type[Method], arguments: Mapping[str, Any]) -> list[float]:
    """Return the thresholds to try: those of the method's `sweep`.

    A *max_distance* among the arguments is the last one. A method without a sweep of thresholds has
    only its own threshold.
    """
    method = kind(**arguments)
    if not _has_thresholds(kind):
        return [method.max_distance]
    values = kind.sweep[1]
    if "max_distance" not in arguments:
        return list(values)
    return [value for value in values if value < method.max_distance] + [method.max_distance]


def _has_thresholds(kind: type[Method]) -> bool:
    name, values = kind.sweep
    return name == "max_distance" and bool(values)


def find_candidates(
    kind: type[Method],
    arguments: Mapping[str, Any],
    documents: Sequence[Document],
    progress: Callable[[], object] = lambda: None,
    hashing: Hashing = PLAIN,
) -> Candidates:
    """Find the pairs of *documents* within a generous distance by the method of the class *kind*.

    That distance is the *max_distance* of the arguments. Otherwise it is the largest one of the
    method's `sweep` before most pairs are alike by chance. *progress* is called for every page;
    *hashing*: see `Method`.
    """
    thresholds = thresholds_of(kind, arguments)
    has_limit = "max_distance" in arguments
    method = _with_threshold(kind, arguments, thresholds[-1]).with_hashing(hashing)
    sketches = [method.sketch(document) for document in documents]
    index = index_for(method)
    strata: list[list[Pair]] = [[] for _ in thresholds]
    order = order_to_compare(method, documents)
    for place, number in enumerate(order):
        if (sketch := sketches[number]) is not None:
            for match in index.query_all(sketch):
                pair = min(match.page, number), max(match.page, number)
                strata[bisect_left(thresholds, match.distance)].append(pair)
            index.add(sketch, number)
        enough = len(strata) if has_limit else count_before_chance(strata, len(documents))
        if enough < len(strata):
            del strata[enough:], thresholds[enough:]
            method = _with_threshold(kind, arguments, thresholds[-1])
            index = _index_of(method, {n: sketches[n] for n in order[: place + 1]})
        progress()
    return Candidates(method, dict(zip(thresholds, strata, strict=True)))


def _with_threshold(kind: type[Method], arguments: Mapping[str, Any], threshold: float) -> Method:
    if not _has_thresholds(kind):
        return kind(**arguments)
    return kind(**{**arguments, "max_distance": threshold})


def _index_of(method: Method, sketches: Mapping[int, Any]) -> Index:
    index = index_for(method)
    for number, sketch in sketches.items():
        if sketch is not None:
            index.add(sketch, number)
    return index


def count_before_chance(strata: Sequence[Sequence[Pair]], pages: int) -> int:
    """Return the number of strata before pairs are mostly alike by chance; at least 1."""
    nearer, enough = 0, max(_FEW_PAIRS, pages / _PAGES_PER_PAIR)
    for number, stratum in enumerate(strata):
        if nearer >= enough and len(stratum) > nearer / 2:
            return number
        nearer += len(stratum)
    return len(strata)
