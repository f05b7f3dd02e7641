"""Near-duplicate methods, by the short names that settings use."""

from dedup.methods.base import FingerprintMethod, Method
from dedup.methods.simhash import SimHash

METHODS: dict[str, type[Method]] = {
    "simhash": SimHash,
}

__all__ = ["METHODS", "FingerprintMethod", "Method", "SimHash"]
