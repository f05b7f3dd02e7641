"""The choice of an index that is queried in batches, as a scan does it."""

from functools import singledispatch

from dedup.index.batches import BatchIndex, FingerprintBatches, KeyBatches, OneByOne
from dedup.methods.base import KeyMethod, Method
from dedup.methods.fingerprints import FingerprintMethod
from dedup.methods.spotsigs import SpotSigs
from dedup.search import index_for


@singledispatch
def batch_index_for(method: Method) -> BatchIndex:
    """Return an empty index with the same answers as that of `index_for`, queried in batches."""
    return OneByOne(index_for(method), method)


@batch_index_for.register
def _(method: KeyMethod) -> BatchIndex:
    return KeyBatches(method)


@batch_index_for.register
def _(method: SpotSigs) -> BatchIndex:
    return OneByOne(index_for(method), method)


@batch_index_for.register
def _(method: FingerprintMethod) -> BatchIndex:
    return FingerprintBatches(method)
