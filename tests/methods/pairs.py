"""Sketches of texts, pairs of them, and the oracle of what arrays are mixed to."""

from dedup.search import index_for
from dedup.text import Document

MASK = (1 << 64) - 1


def sketched(method, text):
    """The sketch of a text as bytes, which can be compared, or None."""
    sketch = method.sketch(Document.from_main_text(text))
    return None if sketch is None else method.to_bytes(sketch)


def distance(method, one, other):
    """The distance of two texts."""
    sketches = [method.sketch(Document.from_main_text(text)) for text in (one, other)]
    return method.distance(*sketches)


def matches(method, one, other):
    """Whether two texts are within the threshold."""
    return distance(method, one, other) <= method.max_distance


def found(method, one, other):
    """The distance at which the index finds one sketch by the other, or None."""
    index = index_for(method)
    index.add(one)
    match = index.query(other)
    return match and match.distance


def fmix64(value):
    """The finaliser of MurmurHash3, with whole numbers."""
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53, 1):
        value = (value ^ value >> 33) * factor & MASK
    return value
