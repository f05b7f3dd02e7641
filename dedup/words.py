"""The words of many texts at once, as arrays: a tenth of the time that lists of strings take."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from dedup.arrays import Array, lengths_of
from dedup.text import ASCII_LOWER, Document, normalise

BLOCK = 8
"""The bytes of a block of a word."""

# The second block of every word can be read, however short it is.
_PADDING = b" " * (2 * BLOCK)
_FIRST_BYTES = np.array([256**count - 1 for count in range(BLOCK + 1)], np.uint64)


class Words:
    """The tokens of texts, in order, as places in one byte string.

    *data* has them in UTF-8, with blanks between, before and after them; a token begins at each of
    *starts* and has as many bytes as *lengths* says, both of shape (n,), int64. *counts* is the
    number of tokens of each text, shape (texts,), int64.
    """

    def __init__(self, texts: Iterable[bytes]) -> None:
        """Create the words of *texts*: tokens in UTF-8, separated by blanks."""
        texts = list(texts)
        self.data = b"".join([b" ", b" ".join(texts), _PADDING])
        octets = np.frombuffer(self.data, np.uint8)
        is_word = octets != ord(" ")
        edges = np.flatnonzero(is_word[1:] != is_word[:-1]) + 1
        self.starts, ends = edges[::2], edges[1::2]
        self.lengths = ends - self.starts
        self.counts: Array = np.array([len(self.starts)])
        if len(texts) != 1:
            sizes = np.fromiter(map(len, texts), np.int64, len(texts)) + 1
            self.counts = np.diff(np.searchsorted(self.starts, np.cumsum(sizes) + 1), prepend=0)
        # The block that begins at each byte.
        self._blocks: Array = np.ndarray(
            (len(self.data) - BLOCK + 1,), "<u8", self.data, strides=(1,)
        )
        self._known: dict[Hashable, Any] = {}

    @cached_property
    def first_blocks(self) -> Array:
        """The first of the `blocks` of all tokens."""
        return self.blocks(0)

    def blocks(self, first: int, tokens: Any = slice(None)) -> Array:
        """Return the 8 bytes of some *tokens* from their byte *first* on, shape (n,), uint64.

        Where a token has fewer, the others are zero. *first*: up to 8, or up to the length of each.
        """
        blocks: Array = self._blocks[self.starts[tokens] + first]
        # Of a token that ends before, none; of one that goes on, all.
        blocks &= _FIRST_BYTES.take(self.lengths[tokens] - first, mode="clip")
        return blocks

    def tokens(self, numbers: Any = slice(None)) -> list[bytes]:
        """Return the tokens with these *numbers*, in UTF-8."""
        starts, lengths = self.starts[numbers].tolist(), self.lengths[numbers].tolist()
        data = self.data
        return [data[start : start + length] for start, length in zip(starts, lengths, strict=True)]

    def at(self, places: Array) -> Array:
        """Return which tokens are at some *places* in the data, each once and in order."""
        numbers = np.searchsorted(self.starts, places, "right") - 1
        return numbers[np.flatnonzero(np.diff(numbers, prepend=-1))]

    def once(self, name: Hashable, compute: Callable[["Words"], Any]) -> Any:
        """Return what *compute* makes of these words, which is known by *name* from then on."""
        if name not in self._known:
            self._known[name] = compute(self)
        return self._known[name]


def normalise_together(texts: Sequence[str], *, simplify_chinese: bool = False) -> list[str]:
    """Return `normalise` of each of *texts*: of those in ASCII, in a third of the time."""
    normalised = iter(_normalise_ascii([text for text in texts if text.isascii()]))
    return [
        next(normalised) if text.isascii() else normalise(text, simplify_chinese=simplify_chinese)
        for text in texts
    ]


def _normalise_ascii(texts: Sequence[str]) -> list[str]:
    data = " ".join(["", *texts, ""]).encode().translate(ASCII_LOWER)
    octets = np.frombuffer(data, np.uint8)
    is_blank = octets == ord(" ")
    is_after_blank = is_blank[1:] & is_blank[:-1]
    kept = octets[1:][~is_after_blank].tobytes()
    # Each text with the blank after it; where that is gone, the text ends with one.
    ends = np.cumsum(lengths_of(texts) + 1)
    ends -= np.searchsorted(np.flatnonzero(is_after_blank), ends)
    return [kept[start:end].strip().decode() for start, end in pairwise([0, *ends.tolist()])]


class Documents(tuple[Document, ...]):
    """Documents that are read together; their `words` are found once."""

    @cached_property
    def words(self) -> Words:
        """The tokens of all documents."""
        return Words(document.spaced_tokens for document in self)


def words_of(documents: Sequence[Document]) -> Words:
    """Return the tokens of *documents*."""
    return (documents if isinstance(documents, Documents) else Documents(documents)).words
