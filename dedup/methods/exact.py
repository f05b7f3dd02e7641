"""Equality of the normalised text."""

from collections.abc import Sequence

from dedup.methods.digests import SingleDigestMethod
from dedup.text import Document
from dedup.words import words_of


class Exact(SingleDigestMethod):
    """Matches pages whose normalised main texts are equal."""

    name = "exact"
    version = 2
    # Pages whose main texts are equal are stored only if they show that they differ: of thousands
    # with one menu for a main text, not all are looked at.
    candidates_per_key = 256

    def sketches(self, documents: Sequence[Document]) -> list[bytes | None]:
        """Return the 128-bit digest of each text, or ``None`` if it has no tokens."""
        counts = words_of(documents).counts.tolist()
        return [
            self.hashing.digest(document.text) if count else None
            for document, count in zip(documents, counts, strict=True)
        ]
