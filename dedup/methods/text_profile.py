"""Text profiles: the frequencies of words, in steps."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from dedup.methods.arguments import check_share, check_whole
from dedup.methods.digests import SingleDigestMethod
from dedup.text import Document


class TextProfile(SingleDigestMethod):
    """Matches pages whose words have the same frequencies, rounded down to steps.

    Source: Apache Nutch, TextProfileSignature (there, words have 3 characters or more, and the
    digest is MD5; here it is BLAKE2b of 128 bits).
    """

    name = "text-profile"
    version = 2
    sweep = ("step", (0, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5))

    def __init__(self, *, step: float = 0.01, min_length: int = 2) -> None:
        """Create the method.

        *step*: the share of the highest frequency that frequencies are rounded down to multiples
        of, from 0 to 1; it is never less than 2 occurrences, unless no word occurs twice.
        *min_length*: shorter words do not count. Nutch has 3, but most Chinese words have 2
        characters. Raises ValueError for a value outside its range.
        """
        check_share("step", step)
        check_whole("min_length", min_length, 1)
        self.step = step
        self.min_length = min_length

    def sketch(self, document: Document) -> bytes | None:
        """Return the 128-bit digest of the profile, or ``None`` if no word counts."""
        counts = self.weighted_features(document)
        if not counts:
            return None
        lines = (f"{term} {count}" for term, count in counts.items())
        return self.hashing.digest("\n".join(lines))

    def weighted_features(self, document: Document) -> Mapping[str, int]:
        return dict(profile(document.tokens, self.step, self.min_length))


def profile(tokens: Sequence[str], step: float, min_length: int) -> list[tuple[str, int]]:
    """Return the tokens of *min_length* characters or more with their frequencies in steps.

    The most frequent first, ties by token. Tokens that are rarer than a step are left out.

    >>> profile("a rose is a rose is a rose".split(), 0.01, 2)
    [('is', 2), ('rose', 2)]
    """
    counts = Counter(token for token in tokens if len(token) >= min_length)
    highest = max(counts.values(), default=0)
    quantum = max(math.floor(highest * step + 0.5), 2 if highest > 1 else 1)
    rounded = {token: count // quantum * quantum for token, count in counts.items()}
    kept = [(token, count) for token, count in rounded.items() if count]
    return sorted(kept, key=lambda item: (-item[1], item[0]))
