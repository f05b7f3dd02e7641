"""Quantiles of durations in bounded memory."""

import math
from collections import Counter
from typing import Any

_STEP = math.log(1.02)


class Quantiles:
    """Counts durations in buckets that are 2 % wide: quantiles are accurate to 1 %."""

    def __init__(self) -> None:
        self._counts: Counter[int] = Counter()
        self.count = 0
        self.sum = 0.0

    def add(self, seconds: float) -> None:
        """Count one duration; what is not above 0 counts as a nanosecond."""
        self._counts[math.floor(math.log(max(seconds, 1e-9)) / _STEP)] += 1
        self.count += 1
        self.sum += seconds

    def quantile(self, share: float) -> float | None:
        """Return the duration that *share* (0 to 1) of all do not exceed; ``None`` without any.

        >>> durations = Quantiles()
        >>> for milliseconds in range(1, 101): durations.add(milliseconds / 1000)
        >>> round(durations.quantile(0.5), 2), round(durations.quantile(0.9), 2)
        (0.05, 0.09)
        """
        seen = 0
        for bucket, count in sorted(self._counts.items()):
            seen += count
            if seen >= share * self.count:
                return math.exp((bucket + 0.5) * _STEP)
        return None

    def as_json(self) -> dict[str, Any]:
        """Return what a report says of a stage."""
        median, p95 = self.quantile(0.5), self.quantile(0.95)
        return {
            "pages": self.count,
            "median": None if median is None else round(median, 6),
            "p95": None if p95 is None else round(p95, 6),
            "sum": round(self.sum, 6),
        }
