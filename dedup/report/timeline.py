"""Which kinds of pages came when in a crawl."""


class Timeline:
    """Counts kinds of pages in the order in which they come, in at most *limit* buckets.

    All buckets but the last hold `width` pages; when there are too many, neighbours are merged.
    """

    def __init__(self, kinds: int, limit: int = 60) -> None:
        """Create it for kinds 0 to *kinds* - 1; *limit* must be even."""
        self._kinds = kinds
        self._limit = limit
        self.width = 1
        self.buckets: list[list[int]] = []

    def add(self, kind: int) -> None:
        """Count one page."""
        if not self.buckets or sum(self.buckets[-1]) >= self.width:
            if len(self.buckets) == self._limit:
                pairs = zip(self.buckets[::2], self.buckets[1::2], strict=True)
                self.buckets = [[a + b for a, b in zip(*pair, strict=True)] for pair in pairs]
                self.width *= 2
            self.buckets.append([0] * self._kinds)
        self.buckets[-1][kind] += 1
