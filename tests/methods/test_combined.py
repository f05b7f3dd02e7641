import random

import numpy as np
from cases import each
from pairs import found

from dedup.methods.combined import Combined
from dedup.methods.shingling import Shingling
from dedup.methods.simhash import RandomProjection
from dedup.text import Document


def sketch_with(equal, differing, seed=1):
    """Two sketches with so many equal supershingles and differing bits."""
    generator, chooser = np.random.default_rng(seed), random.Random(seed)
    one, other = generator.integers(0, 1 << 64, (2, 6), np.uint64)
    places = chooser.sample(range(6), equal)
    other[places] = one[places]
    bits = chooser.getrandbits(384)
    flips = sum(1 << bit for bit in chooser.sample(range(384), differing))
    return [
        supershingles.tobytes() + projection.to_bytes(48, "little")
        for supershingles, projection in ((one, bits), (other, bits ^ flips))
    ]


@each(
    ("equal", "differing", "distance"),
    [
        (2, 29, 29),  # 355 bits agree
        (2, 30, None),  # 354 bits agree
        (1, 29, None),
        (1, 0, None),
        (6, 29, 29),
        (6, 30, None),
    ],
)
def test_henzingers_thresholds_are_exact(equal, differing, distance):
    for seed in range(10):
        one, other = sketch_with(equal, differing, seed)
        assert found(Combined(), one, other) == distance


def test_arguments_reach_both_methods():
    method = Combined(10, max_unequal=2, width=3, supershingles=4, minimums=20, bits=64)
    document = Document("the cat sat on the mat and looked at the dog")
    sketch = method.sketch(document)
    shingling = Shingling(2, width=3, supershingles=4, minimums=20)
    supershingles, projection = shingling.sketch(document), RandomProjection(bits=64)
    assert sketch[:32] == shingling.to_bytes(supershingles)
    assert sketch[32:] == projection.to_bytes(projection.sketch(document))
    assert list(method.keys(sketch)) == list(shingling.keys(supershingles))
