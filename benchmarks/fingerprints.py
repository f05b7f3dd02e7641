"""The fingerprints that index.py measures with: uniform random ones, and skewed ones of real text.

Real ones are the unigram simhashes of sliding windows: 800 words of the Chinese laws ("zh"), 300
words of the English news ("en"), one document following the other; each word weighs 1 + ln(tf), as
in the shipped method, or tf ("zh-tf", "en-tf"), which fills some buckets more. Where windows of
that length have too few different fingerprints, longer and shorter ones join them. Every 20th
document is held back: windows of those are the pages that are looked up.
"""

import json
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from dedup.methods.hashing import PLAIN
from dedup.methods.simhash import fingerprint, log_weights
from dedup.text import Document

NAMES = ("random", "zh", "zh-tf", "en", "en-tf")
INCOMING, QUERIES = 20_000, 2_000
NEAR = 3
# There are not many more different windows.
MOST_REAL = 10_000_000
CACHE = Path(tempfile.gettempdir()) / "dedup-benchmark-index"
_CORPORA = {"zh": ("laws_zh_a", 800), "en": ("reuters_a", 300)}
_HELD_BACK = 20
_WIDTH_BITS = 16
_AT_A_TIME = 1 << 16


def prepare(name: str, n: int, folder: Path) -> Path:
    """Return the .npz file of *n* fingerprints to store and others to look up, made if need be.

    It holds stored, incoming (what a crawl brings next) and queries, for each the numbers of the
    texts (see `texts`), nearest (the distance from each query to the nearest stored one) and skew
    (candidates of a stored one in its four buckets of 16 bits, relative to uniform fingerprints).
    """
    path = CACHE / f"{name}-{n}.npz"
    if not path.exists():
        CACHE.mkdir(exist_ok=True)
        rng = np.random.default_rng(n)
        arrays = random(n, rng) if name == "random" else real(name, n, folder, rng)
        arrays["nearest"] = nearest(arrays["stored"], arrays["queries"])
        arrays["skew"] = skew(arrays["stored"])
        np.savez(path, **arrays)
    return path


def random(n: int, rng: np.random.Generator) -> dict[str, Any]:
    """Return uniform fingerprints; 1 % are near a stored one, and half of the queries are."""
    arrays: dict[str, Any] = {}
    parts = (("stored", n, 0.01), ("incoming", INCOMING, 0.01), ("queries", QUERIES, 0.5))
    for part, size, share in parts:
        arrays[part] = rng.integers(0, 2**64, size, np.uint64)
        arrays[f"{part}_texts"] = rng.integers(0, 2**60, size)
        plant(arrays, part, rng.choice(size, int(size * share), replace=False), rng)
    return arrays


def real(name: str, n: int, folder: Path, rng: np.random.Generator) -> dict[str, Any]:
    """Return different fingerprints of windows; every other query is near a stored one."""
    corpus, _, weights = name.partition("-")
    words, first_held_back = read_words(corpus, folder)
    width = _CORPORA[corpus][1]
    arrays: dict[str, Any] = {}
    prints, numbers = distinct_fingerprints(words[:first_held_back], width, weights == "tf", n)
    chosen = rng.choice(len(prints), n, replace=False)
    arrays["stored"], arrays["stored_texts"] = prints[chosen], numbers[chosen]
    unseen = words[first_held_back:]
    prints, numbers = distinct_fingerprints(unseen, width, weights == "tf", 1)
    for part, size in (("incoming", INCOMING), ("queries", QUERIES)):
        chosen = rng.integers(0, len(prints), size)
        arrays[part] = prints[chosen]
        arrays[f"{part}_texts"] = numbers[chosen] + (first_held_back << _WIDTH_BITS)
    plant(arrays, "queries", np.arange(0, QUERIES, 2), rng)
    return arrays


def plant(arrays: dict[str, Any], part: str, places: Any, rng: np.random.Generator) -> None:
    """Put copies of stored fingerprints, with 0 to 3 bits flipped, at *places* of *part*."""
    twins = rng.integers(0, len(arrays["stored"]), len(places))
    bits = np.uint64(1) << rng.integers(0, 64, (len(places), NEAR), np.uint64)
    bits[np.arange(NEAR) >= rng.integers(0, NEAR + 1, len(places))[:, None]] = 0
    arrays[part][places] = arrays["stored"][twins] ^ np.bitwise_or.reduce(bits, axis=1)
    arrays[f"{part}_texts"][places] = arrays["stored_texts"][twins]


def nearest(stored: Any, queries: Any) -> Any:
    """Return the distance from each query to the nearest of *stored*."""
    return np.array([np.bitwise_count(stored ^ query).min() for query in queries])


def skew(stored: Any) -> float:
    ratios = []
    for block in range(4):
        keys = (stored >> np.uint64(16 * block)).astype(np.uint16)
        sizes = np.bincount(keys, minlength=1 << 16).astype(float)
        ratios.append((sizes @ sizes) * (1 << 16) / len(stored) ** 2)
    # Of uniform ones, too, one of n is oneself.
    return float(np.mean(ratios) / (1 + (1 << 16) / len(stored)))


def read_words(corpus: str, folder: Path) -> tuple[list[str], int]:
    """Return the words of all documents, the held back ones last, and where these begin."""
    path = CACHE / f"{corpus}.json"
    if not path.exists():
        source = folder / "labelled" / _CORPORA[corpus][0] / "docs.jsonl"
        with source.open(encoding="utf-8") as lines:
            documents = [Document.from_main_text(json.loads(line)["text"]).tokens for line in lines]
        held_back = list(chain.from_iterable(documents[::_HELD_BACK]))
        del documents[::_HELD_BACK]
        seen = list(chain.from_iterable(documents))
        path.write_text(json.dumps([" ".join(seen + held_back), len(seen)]))
    text, first_held_back = json.loads(path.read_text())
    return text.split(" "), first_held_back


def texts(name: str, folder: Path) -> Callable[[int], str]:
    """Return the function from the number of a text to the text.

    A text of random data is one word. The text of a planted one is that of the stored one.
    """
    if name == "random":
        return "w{}".format
    words, _ = read_words(name.partition("-")[0], folder)
    text = " ".join(words)
    starts = np.cumsum([0, *map(len, words)]) + np.arange(len(words) + 1)

    def window(number: int) -> str:
        first, width = number >> _WIDTH_BITS, number & ((1 << _WIDTH_BITS) - 1)
        return text[starts[first] : starts[first + width] - 1]

    return window


def distinct_fingerprints(
    words: list[str], width: int, by_tf: bool, wanted: int
) -> tuple[Any, Any]:
    """Return at least *wanted* different fingerprints, and the number of a window of each."""
    ids, votes = number_words(words)
    prints, numbers = np.empty(0, np.uint64), np.empty(0, np.int64)
    for length in widths(width):
        found = windows(ids, votes, length, by_tf)
        first_weights = log_weights(Counter(words[:length]))
        if not by_tf and int(found[0]) != fingerprint(first_weights):
            raise AssertionError("the fingerprint of a window is not that of dedup.methods.SimHash")
        places = (np.arange(len(found)) << _WIDTH_BITS) | length
        prints, first = np.unique(np.append(prints, found), return_index=True)
        numbers = np.append(numbers, places)[first]
        if len(prints) >= wanted:
            return prints, numbers
    raise ValueError(f"{wanted} different fingerprints were asked for, there are {len(prints)}")


def number_words(words: list[str]) -> tuple[Any, Any]:
    """Return the number of every word, and by number +1 and -1 for the bits of its hash."""
    numbers: dict[str, int] = {}
    ids = np.array([numbers.setdefault(word, len(numbers)) for word in words])
    octets = np.array([PLAIN.feature_hash(word) for word in numbers], "<u8").view(np.uint8)
    bits = np.unpackbits(octets.reshape(-1, 8), axis=1, bitorder="little")
    return ids, 2.0 * bits - 1


def widths(width: int) -> Iterator[int]:
    """Yield *width*, and then ever shorter and longer ones, 6 % apart."""
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
    """Return by how much each word's weight grows when it comes, and shrinks when it goes."""
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
