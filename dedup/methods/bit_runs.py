"""Runs of bits: the pieces into which fingerprints are split."""

Segment = tuple[int, int]
"""A run of bits: the position of its lowest bit, and its width."""


def split_bits(start: int, bits: int, count: int) -> list[Segment]:
    """Return *count* segments of nearly equal width, the wider ones first."""
    segments = []
    for number in range(count):
        width = bits // count + (number < bits % count)
        segments.append((start, width))
        start += width
    return segments
