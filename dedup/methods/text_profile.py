"""Text profiles: the frequencies of words, rounded to steps."""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass

from dedup.methods.arguments import share, whole
from dedup.methods.digests import SingleDigestMethod
from dedup.text import Document


@dataclass(eq=False)
class TextProfile(SingleDigestMethod):
    """Matches pages whose words have the same frequencies, rounded down to steps.

    A *step* is a share of the highest frequency, but at least 2 occurrences, unless no word occurs
    twice. Words shorter than *min_length* do not count. In Nutch it is 3, but most Chinese words
    have 2 characters.

    Source: Apache Nutch, TextProfileSignature (there, the digest is MD5; here it is BLAKE2b of 128
    bits).
    """

    name = "text-profile"
    version = 2
    sweep = ("step", (0, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5))

    _: KW_ONLY
    step: float = share(0.01)
    min_length: int = whole(2, 1)

    def sketch(self, document: Document) -> bytes | None:
        """Return the 128-bit digest of the profile, or ``None`` if no word counts."""
        counts = self.weighted_features(document)
        if not counts:
            return None
        lines = (f"{term} {count}" for term, count in counts.items())
        return self.hashing.digest("\n".join(lines))

    def weighted_features(self, document: Document) -> Mapping[str, int]:
        counts = Counter(token for token in document.tokens if len(token) >= self.min_length)
        highest = max(counts.values(), default=0)
        quantum = max(math.floor(highest * self.step + 0.5), 2 if highest > 1 else 1)
        rounded = {token: count // quantum * quantum for token, count in counts.items()}
        frequent = [(token, count) for token, count in rounded.items() if count]
        return dict(sorted(frequent, key=lambda item: (-item[1], item[0])))
