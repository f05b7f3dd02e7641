import random

import pytest
from texts import article

from dedup.methods import METHODS
from dedup.methods.containment import Containment
from dedup.methods.minhash import MinHash
from dedup.text import Document
from dedup.view.indexes import ScopeIndex

# By the last two, much is near that shares no key.
CASES = [*(kind() for kind in METHODS.values()), MinHash(80, bands=10, rows=10), Containment(0.9)]


def sketches(method, chooser, count):
    """Return sketches of texts that have more or less in common."""
    words = article(1, 150).split()
    texts = []
    for _ in range(count):
        first = chooser.randrange(100)
        own = chooser.sample(words, chooser.randrange(1, 40))
        part = words[first : first + chooser.randrange(20, 50)]
        texts.append(" ".join(f"the {word}" for word in chooser.sample([*part, *own], len(own))))
        texts.append(" ".join(part + own))
    made = [method.sketch(Document(text.lower())) for text in texts]
    return [sketch for sketch in made if sketch is not None]


@pytest.mark.parametrize("method", CASES, ids=lambda method: f"{method.name}-{method.max_distance}")
def test_few_sketches_without_an_index_give_the_answers_of_an_index(method):
    for seed in range(2):
        chooser = random.Random(seed)
        made = sketches(method, chooser, 15)
        few, many = ScopeIndex(method), ScopeIndex(method)
        assert len(many.index) == 0  # from now on, it has one
        for number, sketch in enumerate(made):
            asked = [other.query(sketch, lambda page: page % 3 < 2) for other in (few, many)]
            assert asked[0] == asked[1]
            few.add(sketch, number)
            many.add(sketch, number)
        assert few.has_room_for(1)
