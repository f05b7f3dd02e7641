import random

import numpy as np
import pytest
import xxhash
from texts import CHINESE, ENGLISH

from dedup.methods import hashing
from dedup.methods.hashing import (
    feature_hash,
    fold,
    mix,
    mix_folded,
    seeds,
    shingle_hashes,
    shingle_hashes_of,
    token_hashes,
)
from dedup.text import tokenise

TOKENS = [*tokenise(ENGLISH.lower()), *tokenise(CHINESE)]


def mixed(value):
    """The finaliser of MurmurHash3, in whole numbers of Python."""
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        value = (value ^ value >> 33) * factor % 2**64
    return value ^ value >> 33


def shingled(tokens, width):
    """The hash of each shingle, by its definition."""
    width = min(width, len(tokens))
    hashes = []
    for start in range(len(tokens) - width + 1 if width else 0):
        value = 0
        for token in tokens[start : start + width]:
            value = mixed(value ^ xxhash.xxh3_64_intdigest(token.encode()))
        hashes.append(value)
    return hashes


def test_numbers_are_mixed_as_defined():
    numbers = [0, 1, 2**33, 2**64 - 1, *(random.Random(n).getrandbits(64) for n in range(50))]
    array = np.array(numbers, np.uint64)
    assert mix(array).tolist() == [mixed(number) for number in numbers]
    assert array.tolist() == numbers
    other = array[::-1].copy()
    assert mix_folded(fold(array) ^ fold(other)).tolist() == mix(array ^ other).tolist()


def test_seeds_differ_and_cannot_be_changed():
    assert len(set(seeds(1000).tolist())) == 1000
    with pytest.raises(ValueError, match="read-only"):
        seeds(10)[0] = 1


@pytest.mark.parametrize("remembered", [1, 3, 1 << 16])
def test_tokens_have_their_feature_hashes_however_many_are_remembered(monkeypatch, remembered):
    monkeypatch.setattr(hashing, "_TOKENS_REMEMBERED", remembered)
    monkeypatch.setattr(hashing, "_TOKEN_DIGESTS", type(hashing._TOKEN_DIGESTS)())
    for tokens in ([], ["one"], ["one", "one"], TOKENS, TOKENS[::-1]):
        assert token_hashes(tokens).tolist() == [feature_hash(token) for token in tokens]
    assert remembered > 3 or len(hashing._TOKEN_DIGESTS) <= remembered


@pytest.mark.parametrize("width", [1, 3, 8])
def test_shingles_of_many_texts_are_those_of_each(width):
    texts = [[], TOKENS[:1], TOKENS[:3], [], TOKENS, TOKENS[5:13], ["a", "a", "a"], []]
    wanted = [shingled(tokens, width) for tokens in texts]
    assert [own.tolist() for own in shingle_hashes_of(texts, width)] == wanted
    assert [shingle_hashes(tokens, width).tolist() for tokens in texts] == wanted
    assert shingle_hashes_of([], width) == []
