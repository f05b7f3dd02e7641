"""Equality of the normalised text."""

from dedup.methods.digests import SingleDigestMethod
from dedup.text import Document


class Exact(SingleDigestMethod):
    """Matches pages whose normalised main texts are equal."""

    name = "exact"
    version = 2
    # Pages whose main texts are equal are stored only if they show that they differ: of thousands
    # with one menu for a main text, not all are looked at.
    candidates_per_key = 256

    def sketch(self, document: Document) -> bytes | None:
        """Return the 128-bit digest of the text, or ``None`` if it has no tokens."""
        return self.hashing.digest(document.text) if document.tokens else None
