"""Lexicons: the document frequencies of terms, counted once and then fixed."""

import gzip
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import xxhash

from dedup.atomic_file import replacing

FORMAT = "scrapy-dedup lexicon 1"
AT_LEAST = 2
"""The least documents that a term of a lexicon that is made is in."""
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

    `write_lexicon` writes such files. "jieba" is the idf list of jieba (270,132 Chinese words;
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
        documents, frequencies = content["documents"], content["frequencies"]
        parts = content["format"], content["digest"]
        is_whole = parts == (FORMAT, digest_of(documents, frequencies))
    except OSError as error:
        choices = ", ".join(_BUILT_IN)
        message = f"lexicon must be {choices} or the path of a file, got {source!r}"
        raise ValueError(f"{message} ({error.strerror})") from error
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError):
        is_whole = False
    if not is_whole:
        raise ValueError(
            f"{source} is no {FORMAT}, or damaged; make one with: dedup evaluate --lexicon"
        )
    return Lexicon(source, documents, frequencies, content["digest"])


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


@cache
def _general() -> Lexicon:
    idf, digest = _jieba_idf()
    most = _GENERAL_DOCUMENTS
    frequencies = {term: max(1.0, most / math.exp(value)) for term, value in idf.items()}
    data = _file_of("spellchecker", "resources/en.json.gz")
    counts = json.loads(gzip.decompress(data))
    total = sum(counts.values())
    for term, count in counts.items():
        frequencies[term] = max(1.0, most * -math.expm1(-_GENERAL_WORDS * count / total))
    origin = f"{digest} {_GENERAL_DOCUMENTS} {_GENERAL_WORDS}".encode() + data
    return Lexicon("general", most, frequencies, xxhash.xxh3_64_hexdigest(origin))


def _jieba_idf() -> tuple[dict[str, float], str]:
    """Return the idf of the words of jieba's list, and its digest."""
    data = _file_of("jieba", "analyse/idf.txt")
    fields = data.decode().split()
    idf = dict(zip(fields[::2], map(float, fields[1::2]), strict=True))
    return idf, xxhash.xxh3_64_hexdigest(data)


def _file_of(package: str, path: str) -> bytes:
    # To import jieba takes as long as all the rest.
    spec = find_spec(package)
    assert spec
    assert spec.origin
    return Path(spec.origin).parent.joinpath(path).read_bytes()


_BUILT_IN = {"general": _general, "jieba": _jieba}


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
    content = {"format": FORMAT, "documents": documents, "digest": digest}
    content["frequencies"] = frequencies
    with replacing(path) as file:
        file.write(json.dumps(content, ensure_ascii=False, indent=0).encode())
    return digest
