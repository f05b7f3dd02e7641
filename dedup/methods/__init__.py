"""Near-duplicate methods, by the short names that settings use."""

from dedup.methods.base import FingerprintMethod, KeyMethod, Method
from dedup.methods.exact import Exact
from dedup.methods.minhash import MinHash
from dedup.methods.simhash import RandomProjection, SimHash, SimHashBigrams

METHODS: dict[str, type[Method]] = {
    "simhash": SimHash,
    "simhash-bigrams": SimHashBigrams,
    "random-projection": RandomProjection,
    "minhash": MinHash,
    "exact": Exact,
}

__all__ = ["METHODS", "FingerprintMethod", "KeyMethod", "Method", "SimHash"]
