"""The fingerprints that index.py measures with: uniform random ones, and skewed ones of real text.

Real ones are the unigram simhashes of sliding windows: 800 words of the Chinese laws ("zh"), 300
words of the English news ("en"), one document following the other; each word weighs 1 + ln(tf), as
in the shipped method, or tf ("zh-tf", "en-tf"), which fills some buckets more. Where windows of
that length have too few different fingerprints, longer and shorter ones join them. Every 20th
document is held back: windows of those are looked up.
"""

import json
import tempfile
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from dedup.methods.hashing import PLAIN
from dedup.methods.simhash import fingerprint, log_weights
from dedup.text import Document

NAMES = ("random", "zh", "zh-tf", "en", "en-tf")
QUERIES = 2_000
NEAR = 3
CACHE = Path(tempfile.gettempdir()) / "dedup-benchmark-index"
_CORPORA = {"zh": ("laws_zh_a", 800), "en": ("reuters_a", 300)}
_HELD_BACK = 20
_AT_A_TIME = 1 << 16


def prepare(name: str, n: int, folder: Path) -> Path:
    """Return the .npz file of *n* fingerprints to store and others to look up; create it if needed.

    It holds stored, queries, nearest (the distance from each query to the nearest stored one) and
    skew (candidates of a stored one in its four buckets of 16 bits, relative to uniform ones).
    Every other query is a stored one with up to 3 bits flipped.
    """
    path = CACHE / f"{name}-{n}.npz"
    if not path.exists():
        CACHE.mkdir(exist_ok=True)
        rng = np.random.default_rng(n)
        if name == "random":
            stored, queries = (rng.integers(0, 2**64, size, np.uint64) for size in (n, QUERIES))
        else:
            stored, queries = real(name, n, folder, rng)
        twins = rng.choice(stored, QUERIES // 2)
        bits = np.uint64(1) << rng.integers(0, 64, (len(twins), NEAR), np.uint64)
        bits[np.arange(NEAR) >= rng.integers(0, NEAR + 1, len(twins))[:, None]] = 0
        queries[::2] = twins ^ np.bitwise_or.reduce(bits, axis=1)
        nearest = [np.bitwise_count(stored ^ query).min() for query in queries]
        np.savez(path, stored=stored, queries=queries, nearest=nearest, skew=skew(stored))
    return path


def real(name: str, n: int, folder: Path, rng: np.random.Generator) -> tuple[Any, Any]:
    """Return *n* unique fingerprints of windows, and `QUERIES` of documents that were held back."""
    corpus, _, weights = name.partition("-")
    collection, width = _CORPORA[corpus]
    source = folder / "labelled" / collection / "docs.jsonl"
    with source.open(encoding="utf-8") as lines:
        documents = [Document.from_main_text(json.loads(line)["text"]).tokens for line in lines]
    unseen = list(chain.from_iterable(documents[::_HELD_BACK]))
    del documents[::_HELD_BACK]
    seen = list(chain.from_iterable(documents))
    stored = rng.choice(distinct_fingerprints(seen, width, weights == "tf", n), n, replace=False)
    queries = rng.choice(distinct_fingerprints(unseen, width, weights == "tf", 1), QUERIES)
    return stored, queries


def skew(stored: Any) -> float:
    ratios = []
    for block in range(4):
        keys = (stored >> np.uint64(16 * block)).astype(np.uint16)
        sizes = np.bincount(keys, minlength=1 << 16).astype(float)
        ratios.append((sizes @ sizes) * (1 << 16) / len(stored) ** 2)
    # Each fingerprint is in its own bucket, also if they are uniform.
    return float(np.mean(ratios) / (1 + (1 << 16) / len(stored)))


def distinct_fingerprints(words: list[str], width: int, by_tf: bool, wanted: int) -> Any:
    """Return at least *wanted* unique fingerprints of windows."""
    ids, votes = number_words(words)
    prints = np.empty(0, np.uint64)
    for length in widths(width):
        found = windows(ids, votes, length, by_tf)
        if not by_tf and int(found[0]) != fingerprint(log_weights(Counter(words[:length]))):
            raise AssertionError("a window has another fingerprint than in dedup.methods.SimHash")
        prints = np.unique(np.append(prints, found))
        if len(prints) >= wanted:
            return prints
    raise ValueError(f"{wanted} unique fingerprints are needed, but there are only {len(prints)}")


def number_words(words: list[str]) -> tuple[Any, Any]:
    """Return the number of every word, and by number +1 and -1 for the bits of its hash."""
    numbers: dict[str, int] = {}
    ids = np.array([numbers.setdefault(word, len(numbers)) for word in words])
    octets = np.array([PLAIN.feature_hash(word) for word in numbers], "<u8").view(np.uint8)
    bits = np.unpackbits(octets.reshape(-1, 8), axis=1, bitorder="little")
    return ids, 2.0 * bits - 1


def widths(width: int) -> Iterator[int]:
    """Yield *width*, then shorter and longer widths in turn, in steps of 6 %."""
    yield width
    for power in range(1, 30):
        yield from (int(width * 1.06**-power), int(width * 1.06**power))


def windows(ids: Any, votes: Any, width: int, by_tf: bool) -> Any:
    """Return the simhashes of all windows of *width* words.

    The sums of a window are those of the one before, changed by the word that comes and the word
    that goes. All terms are multiples of 2**-16, so nothing is lost by adding them up.
    """
    coming, going = steps(ids, width, by_tf)
    prints = np.empty(len(ids), np.uint64)
    sums = np.zeros(64)
    for start in range(0, len(ids), _AT_A_TIME):
        stop = min(start + _AT_A_TIME, len(ids))
        changes = coming[start:stop, None] * votes[ids[start:stop]]
        gone = slice(max(start - width, 0), max(stop - width, 0))
        if gone.stop:
            changes[gone.start + width - start :] -= going[gone, None] * votes[ids[gone]]
        changes[0] += sums
        totals = np.cumsum(changes, axis=0)
        sums = totals[-1]
        prints[start:stop] = np.packbits(totals > 0, axis=1, bitorder="little").view("<u8")[:, 0]
    return prints[width - 1 :]


def steps(ids: Any, width: int, by_tf: bool) -> tuple[Any, Any]:
    """Return each word's change of weight when it enters the window and when it leaves it."""
    places = np.arange(len(ids))
    keys = (ids << 32) + places
    by_word = np.argsort(keys)
    rank = np.empty_like(places)
    rank[by_word] = places
    before = rank - np.searchsorted(keys[by_word], np.maximum(keys - width + 1, ids << 32))
    after = np.searchsorted(keys[by_word], keys + width) - rank
    if by_tf:
        growth = np.ones(width + 1)
    else:
        weights = log_weights({str(tf): tf for tf in range(1, width + 1)}).values()
        growth = np.diff([0.0, 0.0, *weights])
    return growth[before + 1], growth[after]
