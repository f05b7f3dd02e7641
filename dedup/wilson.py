"""The bounds of a share of which a sample is known."""

from math import sqrt

_Z2 = 1.96**2


def wilson(share: float, count: float) -> tuple[float, float]:
    """Return the 95 % bounds of a share, 0 to 1, that *count* cases of a sample have.

    >>> [round(bound, 2) for bound in wilson(1.0, 5)], wilson(0.5, 0), wilson(0.5, float("inf"))
    ([0.57, 1.0], (0.0, 1.0), (0.5, 0.5))

    Source: Wilson, "Probable Inference", JASA 22, 1927.
    """
    if not count:
        return 0.0, 1.0
    middle = share + _Z2 / (2 * count)
    margin = sqrt(_Z2 * (share * (1 - share) + _Z2 / (4 * count)) / count)
    whole = 1 + _Z2 / count
    return max(0.0, (middle - margin) / whole), min(1.0, (middle + margin) / whole)
