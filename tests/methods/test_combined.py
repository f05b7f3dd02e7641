import math
import random
from itertools import product

import numpy as np
import pytest
from cases import each
from pairs import found

from dedup.methods import METHODS
from dedup.methods.combined import Combined, CombinedSketch
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
    return CombinedSketch(one, bits), CombinedSketch(other, bits ^ flips)


def edited_texts(seed):
    """Texts of 400 words that share much: changed here and there, or in one word often used."""
    chooser = random.Random(seed)
    words = [f"word{min(int(chooser.expovariate(0.01)), 300)}" for _ in range(400)]
    for changes in (0, 0, 1, 1, 2, 2, 3, 4, 8, 20, 100):
        copy = list(words)
        for place in chooser.sample(range(400), changes):
            copy[place] = f"changed{chooser.randrange(10**6)}"
        yield " ".join(copy)
        frequent = f"flood{chooser.randrange(10**6)} " * 10 * changes
        yield " ".join(copy) + " " + frequent


@each(
    ("equal", "differing", "distance"),
    [
        (2, 29, 29),  # 355 bits agree
        (2, 30, None),  # 354 bits agree
        (1, 29, None),
        (1, 0, None),
        (0, 0, None),
        (2, 0, 0),
        (6, 29, 29),
        (6, 30, None),
    ],
)
def test_henzingers_thresholds_are_exact(equal, differing, distance):
    for seed in range(10):
        one, other = sketch_with(equal, differing, seed)
        assert found(Combined(), one, other) == distance


@each(
    ("equal", "differing", "distance"),
    [(6, 0, 0), (2, 7, 7), (3, 384, 384), (1, 7, math.inf), (0, 0, math.inf)],
)
def test_the_distance_is_of_bits_if_enough_supershingles_are_equal(equal, differing, distance):
    one, other = sketch_with(equal, differing)
    assert Combined().distance(one, other) == Combined().distance(other, one) == distance
    assert Combined().distance(one, one) == 0


def test_a_match_is_a_match_of_both_methods():
    """Among texts that match by one of them only, by both and by none."""
    combined, shingling, projection = Combined(), Shingling(), RandomProjection(29)
    seen = set()
    for seed in range(3):
        sketches = [combined.sketch(Document(text)) for text in edited_texts(seed)]
        for one, other in product(sketches, repeat=2):
            by_shingles = shingling.distance(one.supershingles, other.supershingles) <= 4
            by_bits = projection.distance(one.projection, other.projection) <= 29
            assert (combined.distance(one, other) <= 29) == (by_shingles and by_bits)
            seen.add((by_shingles, by_bits))
    assert seen == {(True, True), (True, False), (False, True), (False, False)}


@pytest.mark.parametrize("text", ["word", "two words", "a rose is a rose is a rose is a flower"])
def test_a_sketch_is_the_sketches_of_both_methods(text):
    document, combined = Document(text), Combined()
    shingling, projection = Shingling(), RandomProjection()
    sketch = combined.sketch(document)
    assert sketch.supershingles.tolist() == shingling.sketch(document).tolist()
    assert sketch.projection == projection.sketch(document)
    assert list(combined.keys(sketch)) == list(shingling.keys(sketch.supershingles))
    assert combined.to_bytes(sketch) == (
        shingling.to_bytes(sketch.supershingles) + projection.to_bytes(sketch.projection)
    )


def test_arguments_reach_both_methods():
    method = Combined(10, max_unequal=2, width=3, supershingles=4, minimums=20, bits=64)
    document = Document("the cat sat on the mat and looked at the dog")
    sketch = method.sketch(document)
    shingling = Shingling(2, width=3, supershingles=4, minimums=20)
    assert sketch.supershingles.tolist() == shingling.sketch(document).tolist()
    assert sketch.projection == RandomProjection(bits=64).sketch(document)
    assert list(method.keys(sketch)) == list(shingling.keys(sketch.supershingles))
    assert method.parameters == {
        "max_distance": 10,
        "max_unequal": 2,
        "width": 3,
        "supershingles": 4,
        "minimums": 20,
        "bits": 64,
    }


def test_its_defaults_are_those_of_the_methods_it_is_made_of():
    combined, shingling = Combined().parameters, METHODS["shingling"]().parameters
    assert combined["max_unequal"] == shingling.pop("max_distance")
    assert shingling.items() <= combined.items()
    assert combined["bits"] == METHODS["random-projection"]().bits
