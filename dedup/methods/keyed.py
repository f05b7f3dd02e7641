"""Hashes with a secret: nobody else can compute them, or choose texts by their hashes."""

from hashlib import blake2b, scrypt
from typing import TypeVar

import numpy as np

from dedup.arrays import Array
from dedup.methods.base import Method
from dedup.methods.hashing import Hashing, WordHashes
from dedup.text import Document, to_utf8
from dedup.words import Words

LEAST_CHARACTERS = 16

M = TypeVar("M", bound=Method)


class KeyedHashing(Hashing):
    """BLAKE2b hashes with a key derived from a secret.

    Words are hashed directly with the key: an unkeyed hash before that could be made to collide.
    Only the key is stored and sent to other processes, never the secret.
    """

    _person_of_parts = b"part"

    def __init__(self, secret: str) -> None:
        """Derive the key from *secret*, stripped of white space, in about 50 ms and 16 MB.

        Each guess at the secret costs as much to somebody who has sketches or its *secret_digest*.
        Raises ValueError, without the secret in its message, for fewer than 16 characters.
        """
        secret = secret.strip()
        if len(secret) < LEAST_CHARACTERS:
            raise ValueError(f"a secret must have at least {LEAST_CHARACTERS} characters")
        data = to_utf8(secret)
        self._take(scrypt(data, salt=b"scrapy-dedup secret", n=1 << 14, r=8, p=1, dklen=32))

    def _take(self, root: bytes) -> None:
        self._root = root
        self._key = blake2b(root, person=b"features", digest_size=32).digest()
        self.secret_digest = blake2b(root, person=b"identity", digest_size=8).hexdigest()
        self._words = WordHashes(lambda word: int.from_bytes(self._hash(word)))

    def __getstate__(self) -> bytes:
        return self._root

    def __setstate__(self, root: bytes) -> None:
        self._take(root)

    def _hash(self, data: bytes, seed: int = 0) -> bytes:
        salt = seed.to_bytes(8, "little")
        return blake2b(data, digest_size=8, key=self._key, salt=salt).digest()

    def feature_hash(self, feature: str, seed: int = 0) -> int:
        return int.from_bytes(self._hash(feature.encode(), seed))

    def word_counts(self, words: Words) -> tuple[Array, Array, Array]:
        return self._words.count(words)

    def block_hashes(self, words: Words) -> Array:
        tokens = words.tokens()
        known = {token: self._hash(token) for token in set(tokens)}
        return np.frombuffer(b"".join(map(known.__getitem__, tokens)), ">u8").astype(np.uint64)


def with_keyed_hashing(method: M, hashing: KeyedHashing) -> M:
    """Return a copy of *method* that hashes with *hashing*.

    Raises ValueError if that does not change its sketches, because it uses other hash functions.
    """
    with_secret = method.with_hashing(hashing)
    document = Document.from_main_text(_TEXT)
    sketch, other = with_secret.sketch(document), method.sketch(document)
    if not (sketch is None or other is None or method.to_bytes(sketch) != method.to_bytes(other)):
        raise ValueError(
            f"the sketches of {method.name} do not depend on it: a method must hash with "
            "self.hashing"
        )
    return with_secret


# Every built-in method has a sketch of this text.
_TEXT = """\
The museum at the end of the harbour will open its new hall on 14 May, three years after the fire
that destroyed the old one. It was built of oak and slate by craftsmen from the valley, and has
room for 320 visitors. The first exhibition shows the boats of the last century; the second, in
autumn, the letters that fishermen wrote to their families. Is the entrance free? It was before,
and it will be again, the director said: the town has paid for it, and the town shall have it.
"""
