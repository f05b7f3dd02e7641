"""Which sketches may match, since they agree in some of their components."""

import numpy as np

from dedup.arrays import Array
from dedup.methods.base import Components
from dedup.methods.hashing import mix
from dedup.spark.pairs.pairs import SHORT, DistinctPairs, Pairs, all_pairs, runs_of
from dedup.spark.pairs.sieve import Sieve

_SAMPLE = 256
# To sort a row takes as long as to compare it so often.
_PAIRS_TO_SORT = 8


def pairs_by_components(
    components: Components, sieve: Sieve, first: int, most: int
) -> Pairs | None:
    """Return the pairs that *sieve* leaves of all from *first* on, each once.

    Of one more piece of the components than may differ, those that match agree in one: only what
    does is compared. What agrees is split so again, as long as that spares three quarters of the
    pairs. Returns ``None`` if there are over *most*, or if it would not spare so many of all.
    """
    values = components.values
    found = DistinctPairs(most)
    long = [np.arange(first, len(values))]
    while long and not found.are_too_many:
        members = long.pop()
        pieces = _pieces(values[members], components.most)
        if pieces is None:
            if len(members) == len(values) - first:
                return None
            found.add(sieve.of_members(members).pairs_of_all(), members)
            continue
        for order, starts, ends in pieces:
            own = members[order]
            is_long = ends - starts > SHORT
            long += [
                own[start:end] for start, end in zip(starts[is_long], ends[is_long], strict=True)
            ]
            pairs = all_pairs(starts[~is_long], ends[~is_long])
            found.add(sieve.sift(Pairs(*(own[side] for side in part))) for part in pairs)
    return found.pairs()


def _pieces(rows: Array, max_differing: int) -> list[tuple[Array, Array, Array]] | None:
    """Return orders and runs of *rows* as `_parts` does; ``None`` if they spare too few pairs."""
    places = np.flatnonzero((rows != rows[0]).any(axis=0))
    if len(places) <= max_differing:
        return None
    # What hardly differs says little: each piece has some of what differs much.
    sample = np.sort(rows[:: -(-len(rows) // _SAMPLE)][:, places], axis=0)
    places = places[np.argsort((sample[1:] != sample[:-1]).sum(axis=0), kind="stable")]
    left = len(rows) ** 2 // 4
    pieces = []
    for piece in range(max_differing + 1):
        keys = np.zeros(len(rows), np.uint64)
        for place in places[piece :: max_differing + 1]:
            # Unequal keys are equal by chance at most, which costs time only.
            keys = mix(keys ^ rows[:, place])
        order, starts, ends = runs_of(keys)
        left -= int(((ends - starts) ** 2).sum()) + _PAIRS_TO_SORT * len(rows)
        if left < 0:
            return None
        pieces.append((order, starts, ends))
    return pieces
