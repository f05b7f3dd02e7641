"""Near-duplicate methods, by the short names that settings use."""

from dedup.methods.base import Method
from dedup.methods.combined import Combined
from dedup.methods.containment import Containment
from dedup.methods.digests import Exact
from dedup.methods.fingerprints import FingerprintMethod
from dedup.methods.i_match import IMatch
from dedup.methods.keywords import Keywords
from dedup.methods.minhash import MinHash
from dedup.methods.segments import Segments
from dedup.methods.sentences import FeatureCode, LongSentences
from dedup.methods.shingling import Shingling
from dedup.methods.simhash import RandomProjection, SimHash, SimHashBigrams, SimHashKeywords
from dedup.methods.spotsigs import SpotSigs
from dedup.methods.text_profile import TextProfile
from dedup.methods.verified import Verified

METHODS: dict[str, type[Method]] = {
    "simhash": SimHash,
    "simhash-bigrams": SimHashBigrams,
    "simhash-keywords": SimHashKeywords,
    "random-projection": RandomProjection,
    "minhash": MinHash,
    "shingling": Shingling,
    "combined": Combined,
    "spotsigs": SpotSigs,
    "segments": Segments,
    "feature-code": FeatureCode,
    "long-sentences": LongSentences,
    "i-match": IMatch,
    "keywords": Keywords,
    "text-profile": TextProfile,
    "exact": Exact,
    "verified": Verified,
    "containment": Containment,
}

__all__ = ["METHODS", "FingerprintMethod", "Method", "SimHash", "SpotSigs"]
