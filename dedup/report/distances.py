"""How many pages are at which distance: whole numbers of bits, or shares in hundredths."""

import math
from collections.abc import Mapping


def round_up(distance: float) -> float:
    """Return *distance* rounded up to a hundredth.

    >>> round_up(3), round_up(0.123)
    (3.0, 0.13)
    """
    return math.ceil(100 * distance) / 100


def sort_distances(counts: Mapping[float, int]) -> dict[float, int]:
    """Return *counts* in the order of their distances, whole ones as integers.

    >>> sort_distances({3.0: 1, 0.5: 2})
    {0.5: 2, 3: 1}
    """
    return {int(key) if key == int(key) else key: counts[key] for key in sorted(counts)}
