"""Segments of paths that name a version of what a site documents."""

import re
from functools import lru_cache

from packaging.version import InvalidVersion, Version

# Versions side by side: those that a site recommends, the best first, and those under development.
RECOMMENDED = ("latest", "stable", "current")
IN_DEVELOPMENT = (
    "dev", "devel", "develop", "development", "edge", "main", "master", "next", "nightly",
    "snapshot", "trunk", "unstable",
)  # fmt: skip
_NUMBERS = re.compile(
    r"v?(?P<release>\d+(?:\.\d+)*)(?P<any>\.x)?"
    r"(?P<end>[-.]?(?:a|b|rc|alpha|beta|dev|post|snapshot)\.?\d*)?"
)
_YEAR_OR_LESS = re.compile(r"\d{1,8}")
_PREFIX = re.compile(r"(?:version|release)[-_]")
_LONGEST = 40
# So many numbers of a release are compared, each with so many bits; higher ones are as high.
_PLACES, _BITS = 3, 12
_HIGHEST = (1 << _BITS) - 1

WORST_RANK = (1 << 40) - 1
"""The highest rank of a version."""
# Classes of versions, the best first, in the bits above those of a release.
_UNVERSIONED, _RELEASE, _PRE_RELEASE, _DEVELOPMENT = range(len(RECOMMENDED), len(RECOMMENDED) + 4)
_BITS_OF_RELEASE = _PLACES * _BITS
NO_VERSION = _UNVERSIONED << _BITS_OF_RELEASE
"""The rank of what names no version."""


@lru_cache(4096)
def is_version(segment: str) -> bool:
    """Return whether a segment of a path names a version; a mere number does not.

    >>> [is_version(segment) for segment in ("v1.2", "3.0rc1", "2.x", "latest", "2024", "print")]
    [True, True, True, True, False, False]
    """
    if len(segment) > _LONGEST:
        return False
    if segment in RECOMMENDED or segment in IN_DEVELOPMENT:
        return True
    numbers = _PREFIX.sub("", segment, count=1)
    return bool(_NUMBERS.fullmatch(numbers)) and not _YEAR_OR_LESS.fullmatch(segment)


@lru_cache(4096)
def version_rank(segment: str) -> int:
    """Return the rank of the version that *segment* names, 0 to `WORST_RANK`, lower is better.

    First latest, stable, current, then what names no version, then releases, the highest first,
    then pre-releases, at last what is under development. ``2.x`` is higher than any 2.9.

    >>> names = ["dev", "v1.9", "3.0rc1", "guide", "2.x", "v1.10", "stable", "latest", "2.9.1"]
    >>> sorted(names, key=version_rank)
    ['latest', 'stable', 'guide', '2.x', '2.9.1', 'v1.10', 'v1.9', '3.0rc1', 'dev']
    """
    segment = segment.lower()
    if not is_version(segment):
        return NO_VERSION
    if segment in RECOMMENDED:
        return RECOMMENDED.index(segment) << _BITS_OF_RELEASE
    match = _NUMBERS.fullmatch(_PREFIX.sub("", segment, count=1))
    if not match:
        return _DEVELOPMENT << _BITS_OF_RELEASE
    try:
        version = Version(match["release"] + (match["end"] or ""))
    except InvalidVersion:  # such as that of a snapshot
        return _DEVELOPMENT << _BITS_OF_RELEASE
    numbers = [min(number, _HIGHEST) for number in version.release[:_PLACES]]
    if match["any"]:
        numbers.append(_HIGHEST)
    height = 0
    for number in [*numbers, *[0] * _PLACES][:_PLACES]:
        height = (height << _BITS) + number
    kind = _PRE_RELEASE if version.is_prerelease else _RELEASE
    return (kind << _BITS_OF_RELEASE) + ((1 << _BITS_OF_RELEASE) - 1 - height)
