"""The file of a lexicon: texts are counted, and the counts are written."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

from dedup.atomic_file import replacing
from dedup.lexicon import FORMAT, digest_of
from dedup.text import Document


def count_terms(documents: Iterable[Document]) -> tuple[int, Counter[str]]:
    """Return the number of *documents*, and how many of them contain each token."""
    counts: Counter[str] = Counter()
    number = 0
    for document in documents:
        counts.update(set(document.tokens))
        number += 1
    return number, counts


AT_LEAST = 2
"""The least documents that a term of a lexicon is in."""


def write_lexicon(path: Path, documents: int, counts: Mapping[str, int]) -> str:
    """Write the terms that are in `AT_LEAST` documents; return the digest of the lexicon.

    Rarer terms become unknown ones, which count as in one document. The file is replaced
    atomically. Raises ValueError if there are fewer than two documents, or if no term is in
    `AT_LEAST` of them.
    """
    if documents < 2:
        raise ValueError(f"a lexicon needs at least 2 documents, got {documents}")
    frequencies = {term: count for term, count in sorted(counts.items()) if count >= AT_LEAST}
    if not frequencies:
        raise ValueError(f"no word is in {AT_LEAST} of the {documents} documents")
    digest = digest_of(documents, frequencies)
    content = {
        "format": FORMAT,
        "documents": documents,
        "digest": digest,
        "frequencies": frequencies,
    }
    with replacing(path) as file:
        file.write(json.dumps(content, ensure_ascii=False, indent=0).encode())
    return digest
