"""Lexicons: the document frequencies of terms, counted once and then fixed."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import xxhash

FORMAT = "scrapy-dedup lexicon 1"
# The scale of the general lexicon: the rarest words of jieba's list have an idf of 13.9, which is
# that of one document among a million.
_GENERAL_DOCUMENTS = 1_000_000
# To turn the frequency of an English word into the share of documents that have it, a document is
# modelled as this many words drawn at random.
_GENERAL_WORDS = 300


@dataclass(frozen=True)
class Lexicon:
    """The document frequencies of terms.

    *name* is the argument of `load_lexicon`, *documents* the number of documents. *frequencies*
    says how many of them contain each term (0 to *documents*), *unknown* is the frequency of
    unlisted terms. *digest* identifies the lexicon: sketches made with different lexicons are not
    comparable.
    """

    name: str
    documents: int
    frequencies: Mapping[str, float]
    digest: str
    unknown: float = 1.0

    def idf(self, term: str) -> float:
        """Return ln(documents / frequency), from 0 (in every document) to ln(documents)."""
        return math.log(self.documents / self.frequencies.get(term, self.unknown))

    def nidf(self, term: str) -> float:
        """Return the normalised idf, ln((documents + 1) / frequency) / ln(documents + 1).

        Source: Theobald et al., reference code of SpotSigs and I-Match.
        """
        frequency = self.frequencies.get(term, self.unknown)
        return math.log((self.documents + 1) / frequency) / math.log(self.documents + 1)


@cache
def load_lexicon(source: str) -> Lexicon:
    """Return the lexicon *source*: "general", "jieba", or the path of a file.

    `dedup.lexicon_file` writes such files. "jieba" is the idf list of jieba (270,132 Chinese words;
    unlisted terms have its median). "general" adds the English list of pyspellchecker (160,572
    words with their frequency in film subtitles); terms in neither list count as in one of a
    million documents. A process reads each lexicon once, so later changes of the file have no
    effect.

    Raises ValueError if there is no such file, or if it is not a lexicon of this version.
    """
    if source in _BUILT_IN:
        return _BUILT_IN[source]()
    try:
        content = json.loads(Path(source).read_bytes())
    except OSError as error:
        choices = ", ".join(_BUILT_IN)
        message = f"lexicon must be {choices} or the path of a file, got {source!r}"
        raise ValueError(f"{message} ({error.strerror})") from error
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{source} is not a lexicon; make one with: dedup lexicon") from error
    format_ = content.get("format") if isinstance(content, dict) else None
    if not isinstance(format_, str) or not format_.startswith(FORMAT.rpartition(" ")[0]):
        raise ValueError(f"{source} is not a lexicon; make one with: dedup lexicon")
    if format_ != FORMAT:
        raise ValueError(
            f"{source} is a lexicon of another version: {format_!r}, expected {FORMAT!r}; "
            "make it again"
        )
    documents, frequencies = content.get("documents"), content.get("frequencies")
    if not _are_counts(documents, frequencies) or content.get("digest") != digest_of(
        documents, frequencies
    ):
        raise ValueError(f"{source} is damaged: its numbers or its digest are wrong; make it again")
    return Lexicon(source, documents, frequencies, content["digest"])


def _are_counts(documents: object, frequencies: object) -> bool:
    return (
        type(documents) is int
        and documents >= 2
        and isinstance(frequencies, dict)
        and all(type(count) is int and 1 <= count <= documents for count in frequencies.values())
    )


def digest_of(documents: int, frequencies: Mapping[str, int]) -> str:
    """Return what identifies a lexicon with these numbers."""
    state = xxhash.xxh3_64(str(documents).encode())
    for term, count in sorted(frequencies.items()):
        state.update(f"\0{term}\0{count}".encode())
    return state.hexdigest()


@cache
def _jieba() -> Lexicon:
    idf, digest = _jieba_idf()
    # As many as the rarest word needs, so that no idf is capped.
    documents = math.ceil(math.exp(max(idf.values())))
    frequencies = {term: documents / math.exp(value) for term, value in idf.items()}
    # Like jieba, which gives unlisted terms the median of its list.
    median = sorted(frequencies.values(), reverse=True)[len(frequencies) // 2]
    return Lexicon("jieba", documents, frequencies, digest, median)


def _jieba_idf() -> tuple[dict[str, float], str]:
    import jieba

    data = (Path(jieba.__file__).parent / "analyse" / "idf.txt").read_bytes()
    lines = (line.rsplit(" ", 1) for line in data.decode("utf-8").splitlines() if line)
    return {term: float(value) for term, value in lines}, xxhash.xxh3_64_hexdigest(data)


@cache
def _general() -> Lexicon:
    import spellchecker

    path = Path(spellchecker.__file__).parent / "resources" / "en.json.gz"
    counts = dict(spellchecker.SpellChecker("en", distance=1).word_frequency.items())
    total = sum(counts.values())
    idf, digest = _jieba_idf()
    frequencies = {
        term: max(1.0, _GENERAL_DOCUMENTS / math.exp(value)) for term, value in idf.items()
    }
    for word, count in counts.items():
        share = -math.expm1(-_GENERAL_WORDS * count / total)
        frequencies[word] = max(1.0, _GENERAL_DOCUMENTS * share)
    origin = f"{digest} {_GENERAL_DOCUMENTS} {_GENERAL_WORDS}".encode() + path.read_bytes()
    digest = xxhash.xxh3_64_hexdigest(origin)
    return Lexicon("general", _GENERAL_DOCUMENTS, frequencies, digest)


_BUILT_IN = {"general": _general, "jieba": _jieba}
