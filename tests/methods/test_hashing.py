import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import chain

import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st
from pairs import fmix64
from texts import CHINESE, ENGLISH

from dedup.methods import hashing
from dedup.methods.hashing import PLAIN, WordHashes, seeds
from dedup.methods.shingles import shingle_hashes, shingle_hashes_of
from dedup.text import Document, tokenise
from dedup.words import Words

TOKENS = [*tokenise(ENGLISH.lower()), *tokenise(CHINESE)]


def block_hash(token):
    """The hash of a token by its blocks of 8 bytes."""
    data = token.encode()
    if len(data) > 32:
        return PLAIN.feature_hash(token)
    value = 0
    for start in range(0, len(data), 8):
        value = fmix64(value ^ int.from_bytes(data[start : start + 8], "little"))
    return value


def shingled(tokens, width):
    """The hash of each shingle, by its definition."""
    width = min(width, len(tokens))
    hashes = []
    for start in range(len(tokens) - width + 1 if width else 0):
        value = 0
        for token in tokens[start : start + width]:
            value = fmix64(value ^ block_hash(token))
        hashes.append(value)
    return hashes


def test_seeds_differ_and_cannot_be_changed():
    assert len(set(seeds(1000).tolist())) == 1000
    with pytest.raises(ValueError, match="read-only"):
        seeds(10)[0] = 1


# At the borders of blocks, and words that have more of these than are hashed so.
LONG = [letter * count for letter in "xé" for count in (8, 9, 16, 17, 32, 33, 99)]
WORDS = st.sampled_from(["a", "b", "北京", *LONG, *TOKENS[:9]])


@pytest.mark.parametrize("bits", [1, 3, 17])
@given(st.lists(st.lists(st.lists(WORDS, max_size=20), max_size=4), max_size=4))
def test_the_different_words_of_each_text_are_counted_whatever_is_remembered(bits, batches):
    known = hashing._PLACE_BITS
    hashing._PLACE_BITS = bits
    try:
        counted = WordHashes(xxhash.xxh3_64_intdigest)
        for texts in batches:
            words = Words([" ".join(tokens).encode() for tokens in texts])
            hashes, frequencies, counts = counted.count(words)
            found = list(zip(hashes.tolist(), frequencies.tolist(), strict=True))
            for tokens, count in zip(texts, counts.tolist(), strict=True):
                own, found = found[:count], found[count:]
                wanted = {PLAIN.feature_hash(token): n for token, n in Counter(tokens).items()}
                assert (dict(own), len(own)) == (wanted, len(wanted))
            assert not found
    finally:
        hashing._PLACE_BITS = known


def test_threads_that_count_words_do_not_mix_them_up():
    counted = WordHashes(xxhash.xxh3_64_intdigest)
    texts = [[f"{n * step}" for n in range(5000)] for step in (1, 3, 7, 11)]

    def hashes_of(tokens):
        words = Words([" ".join(tokens).encode()])
        return [set(counted.count(words)[0].tolist()) for _ in range(20)]

    with ThreadPoolExecutor(4) as threads:
        for tokens, found in zip(texts, threads.map(hashes_of, texts), strict=True):
            assert found == [{PLAIN.feature_hash(token) for token in tokens}] * 20


def test_a_word_without_end_takes_no_time():
    start = time.process_time()
    PLAIN.block_hashes(Words([b"x" * 10_000_000]))
    assert time.process_time() - start < 5


@pytest.mark.parametrize("width", [1, 3, 8])
def test_shingles_of_many_texts_are_those_of_each(width):
    texts = [[], TOKENS[:1], TOKENS[:3], [], TOKENS, TOKENS[5:13], LONG, ["a", "a", "a"], []]
    documents = [Document(" ".join(tokens)) for tokens in texts]
    wanted = [shingled(document.tokens, width) for document in documents]
    hashes, counts = shingle_hashes_of(documents, width)
    assert (hashes.tolist(), counts.tolist()) == (
        list(chain(*wanted)),
        list(map(len, wanted)),
    )
    assert [shingle_hashes(document.tokens, width).tolist() for document in documents] == wanted
    assert len(shingle_hashes_of([], width)[0]) == 0
