"""The interface of a near-duplicate method."""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from importlib.util import find_spec
from itertools import chain
from typing import Any, ClassVar, Self

import numpy as np

from dedup.arrays import Array
from dedup.lexicon import load_lexicon
from dedup.methods.hashing import PLAIN, Hashing
from dedup.packed import Packed, lengths_of
from dedup.text import Document
from dedup.words import Documents


class Method(ABC):
    """Reduces a page to a sketch, and says how far apart two sketches may be to match.

    A sketch is the same in every process and on every platform, so it can be stored. (It may differ
    for characters that only newer versions of Python or regex know.)

    Every argument of the constructor is an attribute of the same name; together they are the
    `parameters` of the method.
    """

    name: ClassVar[str]
    """The short name in settings, verdicts and reports."""

    version: ClassVar[int]
    """Must change whenever the sketches of the same texts change."""

    max_distance: float
    """The inclusive threshold: sketches match if their distance is at most this."""

    sweep: ClassVar[tuple[str, tuple[Any, ...]]] = ("max_distance", ())
    """The argument that makes the method stricter or looser, and values to try for it."""

    finds_parts: ClassVar[bool] = False
    """Whether a page is near one that contains it, but not the reverse."""

    hashing: Hashing = PLAIN
    """The hash functions to use. With a secret, nobody else can choose texts by their hashes."""

    simplifies_chinese: bool = False
    """Whether it sees Chinese in Simplified characters, whichever a page is written in."""

    def __init_subclass__(cls, **arguments: Any) -> None:
        """Have what a class makes of one page be what it makes of each of many."""
        super().__init_subclass__(**arguments)
        if _is_newer(cls, "document", "documents"):
            cls.documents = _documents  # type: ignore[method-assign]
        if _is_newer(cls, "sketch", "sketches"):
            cls.sketches = Method.sketches  # type: ignore[method-assign]

    def simplifying_chinese(self) -> Self:
        """Return a copy of this method that `simplifies_chinese`.

        Raises ValueError if OpenCC is not installed.
        """
        if not find_spec("opencc"):
            raise ValueError("simplify_chinese needs OpenCC: pip install 'scrapy-dedup[opencc]'")
        method = copy(self)
        method.simplifies_chinese = True
        return method

    def document(self, main_text: str, description: str | None = None) -> Document:
        """Return what the method sees of a page, given its main text and its own description."""
        return Document.from_main_text(
            main_text, description, simplify_chinese=self.simplifies_chinese
        )

    def documents(self, main_texts: Sequence[str]) -> Documents:
        """Return what the method sees of many pages without a description."""
        return Documents.from_main_texts(main_texts, simplify_chinese=self.simplifies_chinese)

    def with_hashing(self, hashing: Hashing) -> Self:
        """Return a copy of this method with another `hashing`."""
        method = copy(self)
        method.hashing = hashing
        return method

    @property
    def fingerprint_bits(self) -> int:
        """The number of bits of its fingerprints; 0 if its sketches are not fingerprints."""
        return 0

    @property
    def near_miss_distance(self) -> float:
        """The greatest distance at which two pages that do not match are a near miss."""
        limit = self.max_distance
        # Distances that are shares are at most 1; others are counts.
        return min(1, 2 * limit) if limit < 1 else 2 * limit

    @property
    def parameters(self) -> dict[str, Any]:
        """The arguments, as values for JSON: besides name and version they decide what matches."""
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    @property
    def identity(self) -> dict[str, Any]:
        """What determines the sketches: stored sketches are comparable if this is equal."""
        identity = {"method": self.name, "version": self.version, **self.parameters}
        identity.pop("max_distance", None)
        if lexicon := identity.get("lexicon"):
            # The path of the file does not matter, only its content.
            identity["lexicon"] = load_lexicon(lexicon).digest
        if self.hashing.secret_digest is not None:
            identity["secret"] = self.hashing.secret_digest
        if self.simplifies_chinese:
            identity["simplify_chinese"] = True
        return identity

    @abstractmethod
    def sketch(self, document: Document) -> Any | None:
        """Return the sketch of *document*, or ``None`` if it has too little content."""

    def sketches(self, documents: Sequence[Document]) -> list[Any | None]:
        """Return the sketch of each of *documents*.

        A method may override this to be faster. A class derived from it that overrides `sketch`
        alone has that called for each of them.
        """
        return [self.sketch(document) for document in documents]

    def weighted_features(self, document: Document) -> Mapping[str, float]:
        """Return the features of *document* that make its sketch, with their weights.

        They are shown to people; "\\x01" may separate the parts of a feature. Empty if there are
        none, or if the method does not tell.
        """
        return {}

    @abstractmethod
    def distance(self, sketch: Any, other: Any) -> float:
        """Return the distance of two sketches: 0 if equal, above `max_distance` if no match.

        It says whether the page of *sketch* may be dropped for that of *other*. If the method
        `finds_parts`, the reverse is another question.
        """

    @abstractmethod
    def to_bytes(self, sketch: Any) -> bytes:
        """Return *sketch* as bytes for storage."""

    @abstractmethod
    def from_bytes(self, data: bytes) -> Any:
        """Return the sketch of which `to_bytes` made *data*."""

    def payload(self, sketch: Any) -> bytes:
        """Return the part of *sketch* from which its distance to others is computed."""
        return self.to_bytes(sketch)

    def distances_of_pairs(self, payloads: Sequence[bytes], others: Sequence[bytes]) -> Array:
        """Return the distance of each of *payloads* to its counterpart in *others*, shape (n,).

        Override this if the payload is not the whole sketch.
        """
        pairs = zip(map(self.from_bytes, payloads), map(self.from_bytes, others), strict=True)
        return np.array([self.distance(*pair) for pair in pairs])


def _is_newer(cls: type[Method], one: str, other: str) -> bool:
    """Return whether *cls* has its attribute *one* from a class that is derived further."""
    definers = ((name in vars(base) for base in cls.__mro__) for name in (one, other))
    places = [list(defines).index(True) for defines in definers]
    return places[0] < places[1]


def _documents(self: Method, main_texts: Sequence[str]) -> Documents:
    return Documents([self.document(text) for text in main_texts])


class KeyMethod(Method):
    """A method whose matches share a block key, always or with a probability that it states."""

    key_bits: ClassVar[int] = 64

    candidates_per_key: ClassVar[int | None] = None
    """Compare only so many pages under one key, the latest ones; ``None``: all."""

    @abstractmethod
    def keys(self, sketch: Any) -> Iterable[int]:
        """Return the block keys of *sketch*, each a number of `key_bits` bits.

        Sketches without a common key are not compared, so they do not match.
        """

    def keys_of_many(self, sketches: Sequence[bytes]) -> tuple[Array, Array, Sequence[bytes]]:
        """Return the keys of all *sketches* in order, the number of each one's keys, and payloads.

        *sketches*: what `to_bytes` returns. The keys have the shape (n,), uint64, each key of a
        sketch once. Raises ValueError for bytes that are not a sketch.
        """
        decoded = [self.from_bytes(sketch) for sketch in sketches]
        keys = [list(dict.fromkeys(self.keys(sketch))) for sketch in decoded]
        counts = np.fromiter(map(len, keys), np.int64, len(keys))
        flat = np.fromiter(chain.from_iterable(keys), np.uint64, int(counts.sum()))
        return flat, counts, [self.payload(sketch) for sketch in decoded]


def as_rows(values: Sequence[bytes], size: int) -> Array:
    """Return byte strings as the rows of an array, shape (n, size), uint8.

    Raises ValueError if one of them does not have *size* bytes.
    """
    if (lengths_of(values) != size).any():
        raise ValueError(f"not all of {len(values)} sketches have {size} bytes")
    if isinstance(values, Packed):
        return values.rows(size)
    return np.frombuffer(b"".join(values), np.uint8).reshape(-1, size)
