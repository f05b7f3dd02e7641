"""The interface of a near-duplicate method."""

import inspect
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from importlib.util import find_spec
from itertools import chain
from typing import Any, ClassVar, Self, final

import numpy as np

from dedup.arrays import Array, Packed, lengths_of
from dedup.lexicon import load_lexicon
from dedup.methods.hashing import PLAIN, Hashing
from dedup.text import Document, to_utf8
from dedup.words import Documents, normalise_together

_Form = Callable[..., Any]
_DIGITS = b"0123456789"
_OTHER_DIGITS = re.compile(r"[^\D0-9]")  # as those of Arabic and Hindi
# Python refuses a class that lacks such a form. mypy does not know that it may have the other one.
_required: Callable[[_Form], Any] = abstractmethod


def _sketches_by(sketch: _Form) -> _Form:
    return lambda self, documents: [sketch(self, document) for document in documents]


def _sketch_by(sketches: _Form) -> _Form:
    return lambda self, document: sketches(self, [document])[0]


def _distances_by(distance: _Form) -> _Form:
    def distances_of_pairs(self: Method, *sides: Sequence[bytes]) -> Array:
        pairs = zip(*(map(self.from_bytes, payloads) for payloads in sides), strict=True)
        return np.array([distance(self, *pair) for pair in pairs])

    return distances_of_pairs


def _distance_by(distances: _Form) -> _Form:
    return lambda self, *pair: distances(self, *([self.payload(one)] for one in pair)).item()


def _keys_of_many_by(keys: _Form) -> _Form:
    def keys_of_many(self: Method, sketches: Sequence[bytes]) -> tuple[Any, Any, list[bytes]]:
        decoded = [self.from_bytes(sketch) for sketch in sketches]
        of_each = [list(dict.fromkeys(keys(self, sketch))) for sketch in decoded]
        counts = np.fromiter(map(len, of_each), np.int64, len(of_each))
        flat = np.fromiter(chain.from_iterable(of_each), np.uint64, int(counts.sum()))
        return flat, counts, [self.payload(sketch) for sketch in decoded]

    return keys_of_many


def _keys_by(keys_of_many: _Form) -> _Form:
    return lambda self, sketch: keys_of_many(self, [self.to_bytes(sketch)])[0].tolist()


_FORMS = [
    ("sketch", "sketches", _sketch_by, _sketches_by),
    ("distance", "distances_of_pairs", _distance_by, _distances_by),
    ("keys", "keys_of_many", _keys_by, _keys_of_many_by),
]
"""The form for one and that for many, and how each follows from the other."""


class Method(ABC):
    """Reduces a page to a sketch, and says how far apart two sketches may be to match.

    A sketch is the same in every process and on every platform, so it can be stored. (It may differ
    for characters that only newer versions of Python or regex know.)

    Every argument of the constructor is an attribute of the same name; together they are the
    `parameters` of the method.

    `sketch`, `distance` and `keys` have a form for many, which is faster for most. A class has one
    of the two forms, and the other one follows from it. Matches share a key, always or with a
    probability that the method states.
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

    candidates_per_key: ClassVar[int | None] = None
    """Compare only so many pages under one key, the latest ones; ``None``: all."""

    hashing: Hashing = PLAIN
    """The hash functions to use. With a secret, nobody else can choose texts by their hashes."""

    simplifies_chinese: bool = False
    """Whether it sees Chinese in Simplified characters, whichever a page is written in."""

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        for one, many, one_by_many, many_by_one in _FORMS:
            forms = {one, many}
            definers = (vars(base) for base in cls.__mro__ if forms & vars(base).keys())
            latest: Mapping[str, Any] = next(definers, {})
            if forms & latest.keys() == {one}:
                setattr(cls, many, many_by_one(latest[one]))
            elif forms & latest.keys() == {many}:
                setattr(cls, one, one_by_many(latest[many]))

    def __post_init__(self) -> None:
        for argument in getattr(self, "__dataclass_fields__", {}).values():
            if check := argument.metadata.get("check"):
                check(self, argument.name, getattr(self, argument.name))

    def simplifying_chinese(self) -> Self:
        """Return a copy of this method that `simplifies_chinese`.

        Raises ValueError if OpenCC is not installed.
        """
        if not find_spec("opencc"):
            raise ValueError("simplify_chinese needs OpenCC: pip install 'scrapy-dedup[opencc]'")
        method = copy(self)
        method.simplifies_chinese = True
        return method

    @final
    def document(self, main_text: str, description: str | None = None) -> Document:
        """Return what the method sees of a page, given its main text and its own description."""
        return Document.from_main_text(
            main_text, description, simplify_chinese=self.simplifies_chinese
        )

    @final
    def documents(self, main_texts: Sequence[str]) -> Documents:
        """Return what the method sees of many pages without a description."""
        simplify_chinese = self.simplifies_chinese
        normalised = normalise_together(main_texts, simplify_chinese=simplify_chinese)
        return Documents(
            Document(text, main_text, None, simplify_chinese)
            for text, main_text in zip(normalised, main_texts, strict=True)
        )

    def with_hashing(self, hashing: Hashing) -> Self:
        """Return a copy of this method with another `hashing`."""
        method = copy(self)
        method.hashing = hashing
        return method

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

    @_required
    def sketch(self, document: Document) -> Any | None:
        """Return the sketch of *document*, or ``None`` if it has too little content."""
        raise NotImplementedError

    def sketches(self, documents: Sequence[Document]) -> list[Any | None]:
        """Return the sketch of each of *documents*."""
        raise NotImplementedError

    def weighted_features(self, document: Document) -> Mapping[str, float]:
        """Return the features of *document* that make its sketch, with their weights.

        They are shown to people; "\\x01" may separate the parts of a feature. Empty if there are
        none, or if the method does not tell.
        """
        return {}

    @_required
    def distance(self, sketch: Any, other: Any) -> float:
        """Return the distance of two sketches: 0 if equal, above `max_distance` if no match.

        It says whether the page of *sketch* may be dropped for that of *other*. If the method
        `finds_parts`, the reverse is another question.
        """
        raise NotImplementedError

    @_required
    def keys(self, sketch: Any) -> Iterable[int]:
        """Return the block keys of *sketch*, each a number of 64 bits.

        Sketches without a common key are not compared, so they do not match.
        """
        raise NotImplementedError

    def keys_of_many(self, sketches: Sequence[bytes]) -> tuple[Array, Array, Sequence[bytes]]:
        """Return the keys of all *sketches* in order, the number of each one's keys, and payloads.

        *sketches*: what `to_bytes` returns. The keys have the shape (n,), uint64, each key of a
        sketch once. Raises ValueError for bytes that are not a sketch.
        """
        raise NotImplementedError

    def least_shared_keys(self, count: int, within: float) -> int:
        """Return how many of a sketch's *count* keys any has at least that is *within* a distance.

        The more, the fewer candidates an index has to look at.
        """
        return 1

    @final
    def sketch_bytes(self, document: Document, sketch: Any | None) -> bytes | None:
        """Return the *sketch* of *document* for storage, ``None`` if it says nothing of the text.

        As of a text that could not be decoded, whose words are what is left between U+FFFD; or of
        one of which a third are digits: all tables of figures have the same few.
        """
        text = document.text
        if sketch is None or text.count("\ufffd") > len(text) / 100:
            return None
        data = to_utf8(text)
        digits = len(data) - len(data.translate(None, _DIGITS))
        digits += 0 if text.isascii() else len(_OTHER_DIGITS.findall(text))
        # At most every second character is a blank, and to count them takes longest.
        is_table = 6 * digits > len(text) and 3 * digits > len(text) - text.count(" ")
        return None if is_table else self.to_bytes(sketch)

    @abstractmethod
    def to_bytes(self, sketch: Any) -> bytes:
        """Return *sketch* as bytes for storage."""

    @abstractmethod
    def from_bytes(self, data: bytes) -> Any:
        """Return the sketch of which `to_bytes` made *data*."""

    def payload(self, sketch: Any) -> bytes:
        """Return the part of *sketch* from which its distance to others is computed.

        `from_bytes` takes it, too.
        """
        return self.to_bytes(sketch)

    def distances_of_pairs(self, payloads: Sequence[bytes], others: Sequence[bytes]) -> Array:
        """Return the distance of each of *payloads* to its counterpart in *others*, shape (n,)."""
        raise NotImplementedError


class BytesMethod(Method):
    """A method whose sketches are bytes as they are stored."""

    def to_bytes(self, sketch: bytes) -> bytes:
        return sketch

    def from_bytes(self, data: bytes) -> bytes:
        return data


class ArrayMethod(Method):
    """A method whose sketches are arrays of numbers of one *dtype*.

    Unless it says otherwise, the distance of two is how many numbers differ from the one in the
    same place.
    """

    dtype: ClassVar[str] = "<u4"

    def to_bytes(self, sketch: Any) -> bytes:
        return np.asarray(sketch, self.dtype).tobytes()

    def from_bytes(self, data: bytes) -> Any:
        return np.frombuffer(data, self.dtype)

    def distances_of_pairs(self, payloads: Sequence[bytes], others: Sequence[bytes]) -> Array:
        numbers, theirs = (self.from_bytes(b"".join(side)) for side in (payloads, others))
        differs = (numbers != theirs).reshape(len(payloads), len(numbers) // (len(payloads) or 1))
        return np.count_nonzero(differs, axis=1)  # type: ignore[no-any-return]


def as_rows(values: Sequence[bytes], size: int) -> Array:
    """Return byte strings as the rows of an array, shape (n, size), uint8.

    Raises ValueError if one of them does not have *size* bytes.
    """
    if (lengths_of(values) != size).any():
        raise ValueError(f"not all of {len(values)} sketches have {size} bytes")
    if isinstance(values, Packed):
        return values.rows(size)
    return np.frombuffer(b"".join(values), np.uint8).reshape(-1, size)
