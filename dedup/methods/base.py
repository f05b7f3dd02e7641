"""The interface of a near-duplicate method."""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from itertools import chain
from typing import Any, ClassVar, Self

import numpy as np

from dedup.lexicon import load_lexicon
from dedup.methods.arguments import is_whole
from dedup.methods.fingerprints import Fingerprints, split_bits
from dedup.methods.hashing import PLAIN, Array, Hashing, mix, seeds
from dedup.text import Document


class Method(ABC):
    """Reduces a page to a sketch, and says how far apart two sketches may be to match.

    A sketch is equal in every process and on every platform, so that it can be kept. (It may change
    with characters that a newer Python or regex knows and an older one does not.)

    Every argument of the constructor is an attribute of the same name; together they are its
    `parameters`.
    """

    name: ClassVar[str]
    """The short name that settings, verdicts and reports use."""

    version: ClassVar[int]
    """Changes whenever the sketches of equal texts would."""

    max_distance: float
    """The inclusive threshold: sketches that are no farther apart match."""

    sweep: ClassVar[tuple[str, tuple[Any, ...]]] = ("max_distance", ())
    """The argument that makes the method stricter or looser, and values of it to try."""

    hashing: Hashing = PLAIN
    """What the method has to hash with: with a secret, others cannot choose texts by hashes."""

    def with_hashing(self, hashing: Hashing) -> Self:
        """Return this method with another `hashing`."""
        method = copy(self)
        method.hashing = hashing
        return method

    @property
    def fingerprint_bits(self) -> int:
        """How many bits its fingerprints have; 0 if it makes none."""
        return 0

    @property
    def near_miss_distance(self) -> float:
        """The inclusive distance up to which two pages that do not match are a near miss."""
        limit = self.max_distance
        # Shares are at most 1; others count something.
        return min(1, 2 * limit) if limit < 1 else 2 * limit

    @property
    def parameters(self) -> dict[str, Any]:
        """What, besides name and version, decides which pages match; can be written as JSON."""
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    @property
    def identity(self) -> dict[str, Any]:
        """What decides the sketches: stored ones are comparable if this is equal."""
        identity = {"method": self.name, "version": self.version, **self.parameters}
        identity.pop("max_distance", None)
        if lexicon := identity.get("lexicon"):
            # Wherever its file is.
            identity["lexicon"] = load_lexicon(lexicon).digest
        if self.hashing.secret_digest is not None:
            identity["secret"] = self.hashing.secret_digest
        return identity

    @abstractmethod
    def sketch(self, document: Document) -> Any | None:
        """Return the sketch of *document*, or ``None`` if it has too little content to have one."""

    def sketches(self, documents: Sequence[Document]) -> list[Any | None]:
        """Return the sketch of each of *documents*; a method may know a faster way for many."""
        return [self.sketch(document) for document in documents]

    def weighted_features(self, document: Document) -> Mapping[str, float]:
        """Return the features that the sketch of *document* is made of, with their weights.

        It is what people are shown; parts of a feature may be separated by "\\x01". Empty if there
        are none, and for a method that does not say.
        """
        return {}

    @abstractmethod
    def distance(self, one: Any, other: Any) -> float:
        """Return the distance of two sketches: 0 if equal, above `max_distance` if no match."""

    @abstractmethod
    def to_bytes(self, sketch: Any) -> bytes:
        """Return *sketch* as bytes for storage."""

    @abstractmethod
    def from_bytes(self, data: bytes) -> Any:
        """Return the sketch that `to_bytes` stored."""

    def payload(self, sketch: Any) -> bytes:
        """Return what is needed of *sketch* to compute its distance from others."""
        return self.to_bytes(sketch)

    def distances(self, sketch: Any, payloads: Sequence[bytes]) -> list[float]:
        """Return the distances of *sketch* from others, given by their *payloads*."""
        return [self.distance(sketch, self.from_bytes(data)) for data in payloads]

    def distances_of_pairs(self, ones: Sequence[bytes], others: Sequence[bytes]) -> Array:
        """Return the distance of each of *ones* from its counterpart in *others*, shape (n,).

        Both are payloads; a method whose payload is not the whole sketch overrides this.
        """
        pairs = zip(map(self.from_bytes, ones), map(self.from_bytes, others), strict=True)
        return np.fromiter((self.distance(*pair) for pair in pairs), np.float64, len(ones))


class KeyMethod(Method):
    """A method whose matches share a block key: always, or as likely as the method says."""

    key_bits: ClassVar[int] = 64

    candidates_per_key: ClassVar[int | None] = None
    """How many pages under one key are compared, the latest ones; ``None``: all."""

    @abstractmethod
    def keys(self, sketch: Any) -> Iterable[int]:
        """Return the block keys of *sketch*, each a number of `key_bits` bits.

        Sketches without a key in common are not compared, so they do not match.
        """

    def keys_of_many(self, sketches: Sequence[bytes]) -> tuple[Array, Array, list[bytes]]:
        """Return the keys of all *sketches* in a row, how many each has, and the payloads.

        *sketches*: as `to_bytes` gives them. The keys have the shape (n,), uint64; each key of a
        sketch is there once. Raises ValueError for bytes that are no sketch.
        """
        decoded = [self.from_bytes(sketch) for sketch in sketches]
        keys = [list(dict.fromkeys(self.keys(sketch))) for sketch in decoded]
        counts = np.fromiter(map(len, keys), np.int64, len(keys))
        flat = np.fromiter(chain.from_iterable(keys), np.uint64, int(counts.sum()))
        return flat, counts, [self.payload(sketch) for sketch in decoded]


class FingerprintMethod(KeyMethod):
    """A method whose sketch is a fingerprint of *bits* bits, compared by Hamming distance.

    Its keys are the blocks of the fingerprint: so many that two fingerprints within the threshold
    have at least one of them equal.
    """

    bits: int = 64
    max_distance: int

    def __init__(self, max_distance: int = 3) -> None:
        """Create the method with the inclusive threshold *max_distance*, from 0 to *bits* - 1.

        Raises ValueError if *max_distance* is outside that range.
        """
        if not (is_whole(max_distance) and 0 <= max_distance < self.bits):
            raise ValueError(
                f"max_distance must be from 0 to {self.bits - 1}, got {max_distance!r}"
            )
        self.max_distance = max_distance

    @property
    def fingerprint_bits(self) -> int:
        return self.bits

    @property
    def near_miss_distance(self) -> int:
        return max(16, 2 * self.max_distance)

    @abstractmethod
    def sketch(self, document: Document) -> int | None: ...

    def keys(self, sketch: int) -> Iterable[int]:
        keys, _, _ = self.keys_of_many([self.to_bytes(sketch)])
        return keys.tolist()  # type: ignore[no-any-return]

    def keys_of_many(self, sketches: Sequence[bytes]) -> tuple[Array, Array, list[bytes]]:
        prints = Fingerprints(self.bits)
        rows = prints.from_bytes(as_rows(sketches, -(-self.bits // 8)))
        blocks = split_bits(0, self.bits, max(self.max_distance + 1, prints.words))
        values = np.stack([prints.bits_of(rows, *block) for block in blocks], axis=1)
        keys = mix(values ^ seeds(len(blocks)))
        return keys.reshape(-1), np.full(len(rows), len(blocks)), list(sketches)

    def distance(self, one: int, other: int) -> int:
        return (one ^ other).bit_count()

    def distances_of_pairs(self, ones: Sequence[bytes], others: Sequence[bytes]) -> Array:
        size = -(-self.bits // 8)
        differing = np.bitwise_count(as_rows(ones, size) ^ as_rows(others, size))
        return differing.sum(axis=1, dtype=np.int64)  # type: ignore[no-any-return]

    def to_bytes(self, sketch: int) -> bytes:
        return sketch.to_bytes(-(-self.bits // 8), "little")

    def from_bytes(self, data: bytes) -> int:
        return int.from_bytes(data, "little")


def as_rows(values: Sequence[bytes], size: int) -> Array:
    """Return byte strings as the rows of an array, shape (n, size), uint8.

    Raises ValueError if one of them has not *size* bytes.
    """
    if set(map(len, values)) - {size}:
        raise ValueError(f"not all of {len(values)} sketches have {size} bytes")
    return np.frombuffer(b"".join(values), np.uint8).reshape(-1, size)
