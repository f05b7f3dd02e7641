"""The interface of a near-duplicate method."""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from itertools import chain
from typing import Any, ClassVar, Self

import numpy as np

from dedup.lexicon import load_lexicon
from dedup.methods.hashing import PLAIN, Array, Hashing
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


class FingerprintMethod(Method):
    """A method whose sketch is a fingerprint of *bits* bits, compared by Hamming distance."""

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

    @abstractmethod
    def sketch(self, document: Document) -> int | None: ...

    def distance(self, one: int, other: int) -> int:
        return (one ^ other).bit_count()

    def to_bytes(self, sketch: int) -> bytes:
        return sketch.to_bytes(-(-self.bits // 8), "little")

    def from_bytes(self, data: bytes) -> int:
        return int.from_bytes(data, "little")


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

    def kept(self, sketch: Any) -> bytes:
        """Return what an index keeps of *sketch*, to tell the distance of others from it."""
        return self.to_bytes(sketch)

    def distances(self, sketch: Any, kept: Sequence[bytes]) -> list[float]:
        """Return the distances of *sketch* from others, of which there is what `kept` gave."""
        return [self.distance(sketch, self.from_bytes(data)) for data in kept]

    def split(self, sketches: Sequence[bytes]) -> tuple[Array, Array, list[bytes]]:
        """Return the keys of many sketches, of each in turn, how many each has, and what is `kept`.

        *sketches*: as `to_bytes` gave them. The keys have the shape (n,), uint64; a sketch has each
        of its keys once. Raises ValueError for bytes that are no sketch.
        """
        decoded = [self.from_bytes(sketch) for sketch in sketches]
        keys = [list(dict.fromkeys(self.keys(sketch))) for sketch in decoded]
        counts = np.fromiter(map(len, keys), np.int64, len(keys))
        flat = np.fromiter(chain.from_iterable(keys), np.uint64, int(counts.sum()))
        return flat, counts, [self.kept(sketch) for sketch in decoded]

    def distances_of_pairs(self, ones: Sequence[bytes], others: Sequence[bytes]) -> Array:
        """Return the distance of each of *ones* from its one of *others*, shape (n,), float64.

        Both are what `kept` gave; a method that keeps something else than sketches has its own way.
        """
        pairs = zip(map(self.from_bytes, ones), map(self.from_bytes, others), strict=True)
        return np.fromiter((self.distance(*pair) for pair in pairs), np.float64, len(ones))


def as_rows(values: Sequence[bytes], size: int) -> Array:
    """Return byte strings as the rows of an array, shape (n, size), uint8.

    Raises ValueError if one of them has not *size* bytes.
    """
    if set(map(len, values)) - {size}:
        raise ValueError(f"not all of {len(values)} sketches have {size} bytes")
    return np.frombuffer(b"".join(values), np.uint8).reshape(-1, size)


def check_arguments(kind: type[Method], arguments: Mapping[str, Any]) -> None:
    """Raise TypeError, naming the choices, if the constructor of *kind* takes no such arguments."""
    takes = inspect.signature(kind)
    try:
        takes.bind(**arguments)
    except TypeError as error:
        choices = ", ".join(takes.parameters) or "no arguments"
        raise TypeError(f"takes {choices}, got {arguments!r}") from error


def is_whole(value: Any) -> bool:
    """Return whether *value* is an int, and no truth value."""
    return isinstance(value, int) and not isinstance(value, bool)


def check_whole(name: str, value: Any, least: int, most: int | None = None) -> None:
    """Raise ValueError, naming *name*, if *value* is no whole number from *least* to *most*."""
    if not is_whole(value) or value < least or (most is not None and value > most):
        wanted = f"{least} or more" if most is None else f"from {least} to {most}"
        raise ValueError(f"{name} must be {wanted}, got {value!r}")


def check_share(name: str, value: Any) -> None:
    """Raise ValueError, naming *name*, if *value* is no number from 0 to 1."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not (is_number and 0 <= value <= 1):
        raise ValueError(f"{name} must be from 0 to 1, got {value!r}")


def check_choice(name: str, value: Any, choices: Iterable[str]) -> None:
    """Raise ValueError, naming *name* and the *choices*, if *value* is none of them."""
    choices = tuple(choices)
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(choices)}, got {value!r}")
