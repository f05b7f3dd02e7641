"""Equality of the normalised text."""

from dedup.methods.digests import SingleDigestMethod
from dedup.text import Document


class Exact(SingleDigestMethod):
    """Matches pages whose normalised main texts are equal."""

    name = "exact"
    version = 2

    def sketch(self, document: Document) -> bytes | None:
        """Return the 128-bit digest of the text, or ``None`` if it has no tokens."""
        return self.hashing.digest(document.text) if document.tokens else None
