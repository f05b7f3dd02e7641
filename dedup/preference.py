"""Which of several copies is the better one, by their URLs and what is known of the pages.

A criterion is a function that takes a `Copy` and returns its rank, a whole number: 0 is the best.
"""

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import NamedTuple

from w3lib.url import canonicalize_url

from dedup.limits import LONGEST_URL, split_url

_BITS = 64
WORST_RANK = (1 << _BITS) - 1
"""The highest rank; what is higher counts as this."""


class Copy(NamedTuple):
    """A page as a choice among pages of one content.

    *canonical* is the URL that it names as its canonical one, *length* that of its main text in
    characters, *date* is in seconds since 1970; what is unknown is ``None``.
    """

    url: str
    canonical: str | None = None
    length: int | None = None
    date: float | None = None


Criterion = Callable[[Copy], int]


class Preference:
    """Several criteria in order of precedence."""

    def __init__(self, criteria: Iterable[tuple[str, Criterion]]) -> None:
        """Create it of criteria with their names."""
        pairs = tuple(criteria)
        self.names = [name for name, _ in pairs]
        self.criteria = [criterion for _, criterion in pairs]

    def __bool__(self) -> bool:
        return bool(self.criteria)

    @property
    def changes_order(self) -> bool:
        """Whether a copy may be better than one that came before it."""
        return any(criterion is not first for criterion in self.criteria)

    def rank(self, copy: Copy) -> bytes:
        """Return what copies are sorted by, the best first: 8 bytes for each criterion.

        A rank below 0 counts as 0, one above `WORST_RANK` as that. Raises whatever a criterion of
        the user's own raises.
        """
        ranks = (min(max(int(rank(copy)), 0), WORST_RANK) for rank in self.criteria)
        return b"".join(rank.to_bytes(_BITS // 8, "big") for rank in ranks)

    @property
    def limit(self) -> int:
        """What every rank is below, as a number."""
        return 1 << _BITS * len(self.criteria)

    def prefers(self, copy: Copy, other: Copy) -> bool:
        """Return whether *copy* is better than *other*, not only as good.

        >>> clean = Preference([("clean-url", clean_url)])
        >>> clean.prefers(Copy("http://a/b"), Copy("http://a/b;jsessionid=1"))
        True
        """
        return self.rank(copy) < self.rank(other)


def first(copy: Copy) -> int:
    """Prefer none: those that come first stay first."""
    return 0


def canonical(copy: Copy) -> int:
    """Prefer pages that name no canonical URL, or their own, to those that name another one.

    >>> [canonical(Copy("http://a/b", url)) for url in (None, "http://A/b#top", "http://a/")]
    [0, 0, 1]
    """
    return int(bool(copy.canonical) and not are_same_url(copy.url, copy.canonical or ""))


def https(copy: Copy) -> int:
    """Prefer https to any other scheme."""
    return int(not copy.url[:8].lower().startswith("https://"))


def clean_url(copy: Copy) -> int:
    """Prefer URLs without session id, tracking and print marker, then fewer parameters.

    >>> paths = ["b", "b?id=1", "b?a=1&b=2", "b?utm_source=x", "b;jsessionid=1", "b-print.html"]
    >>> [clean_url(Copy(f"http://a/{path}")) for path in paths]
    [0, 1, 2, 65, 65, 64]
    """
    parts = split_url(copy.url)
    of_path = [part.partition("/")[0] for part in parts.path.split(";")[1:]]
    of_query = parts.query.split("&") if parts.query else []
    names = [part.partition("=")[0].lower() for part in (*of_path, *of_query)]
    # A hostile URL has any number of them, each a new one.
    looked_at = set(names[:_MOST_PARAMETERS]) - {""}
    markers = sum(
        name in _SESSIONS or name.endswith(_ENDS_OF_SESSIONS) or _is_of_tracking(name)
        for name in looked_at
    )
    markers += bool(_PRINT.search(parts.path)) + bool(_PRINT_PARAMETER.search(parts.query))
    return _MOST_PARAMETERS * min(markers, 15) + min(len(names), _MOST_PARAMETERS - 1)


def newest_version(copy: Copy) -> int:
    """Prefer latest, stable, current, then no version, then the highest; at last unfinished ones.

    A version is a segment of the path or a label of the host, the first that is one. A mere number
    is none: it may be that of a page or a month.

    >>> urls = ["http://a/en/v1.9/b", "http://a/en/dev/b", "http://a/en/v1.10/b", "http://a/b"]
    >>> [url[9:] for url in sorted(urls, key=lambda url: newest_version(Copy(url)))]
    ['b', 'en/v1.10/b', 'en/v1.9/b', 'en/dev/b']
    """
    parts = split_url(copy.url)
    labels = parts.netloc.split(".")[:-2]
    # No version is deeper, and a hostile path has any number of segments.
    for segment in (*labels[:_MOST_SEGMENTS], *parts.path.split("/", _MOST_SEGMENTS)[1:]):
        if (rank := version_rank(segment)) != NO_VERSION:
            return rank
    return NO_VERSION


def shorter_url(copy: Copy) -> int:
    """Prefer shorter URLs."""
    return len(copy.url)


def longest(copy: Copy) -> int:
    """Prefer more characters of main text; an unknown length is the worst."""
    return WORST_RANK - min(copy.length or 0, WORST_RANK)


def newest(copy: Copy) -> int:
    """Prefer later dates, by the microsecond; an unknown one is the worst."""
    if copy.date is None:
        return WORST_RANK
    return min(max((WORST_RANK >> 1) - int(copy.date * 1e6), 0), WORST_RANK - 1)


URL_CRITERIA: dict[str, Criterion] = {
    "canonical": canonical,
    "https": https,
    "clean-url": clean_url,
    "newest-version": newest_version,
    "shorter-url": shorter_url,
}
"""The criteria by the name that settings use, of URLs and canonical URLs."""

CRITERIA: dict[str, Criterion] = {
    "first": first, "longest": longest, "newest": newest, **URL_CRITERIA,
}  # fmt: skip
"""All criteria by their names."""

CLEAN_URLS = Preference([("clean-url", clean_url)])
"""What says whose URL is the better one where nobody has chosen."""

# The session of a query or a path: Java, PHP, ColdFusion and what people write by hand.
_SESSIONS = ("sid", "cfid", "cftoken")
_ENDS_OF_SESSIONS = ("sessid", "sessionid", "session_id", "session-id")
# A segment of the path, or the last word of one: /print/, tea-print.html, tea.amp.html.
_PRINT = re.compile(
    r"[/_.-](?:re)?(?:print|printable|printer|printview|amp)(?=/|$|\.\w{1,5}(?:$|[/;]))",
    re.IGNORECASE,
)
_PRINT_PARAMETER = re.compile(r"(?:^|[&=_-])print", re.IGNORECASE)
_MOST_PARAMETERS = 64
_MOST_SEGMENTS = 16


def are_same_url(url: str, other: str) -> bool:
    """Return whether two URLs differ in nothing but form: the case of the host, their fragments."""
    return url == other or canonical_form(url) == canonical_form(other)


@lru_cache(1024)
def canonical_form(url: str) -> str:
    """Return what is equal of URLs that differ in nothing but form."""
    try:
        return str(canonicalize_url(url[:LONGEST_URL])) + url[LONGEST_URL:]
    except ValueError:  # such as an unclosed bracket in the host
        return url


@lru_cache(4096)
def _is_of_tracking(name: str) -> bool:
    from courlan import normalize_url  # slow to import

    try:
        return not split_url(normalize_url(f"http://a/?{name}=1")).query
    except ValueError:  # half a character, as of a URL in a damaged page
        return False


# Versions side by side: those that a site recommends, the best first, and those under development.
RECOMMENDED = ("latest", "stable", "current")
IN_DEVELOPMENT = (
    "dev", "devel", "develop", "development", "edge", "main", "master", "next", "nightly",
    "snapshot", "trunk", "unstable",
)  # fmt: skip
_NUMBERS = re.compile(
    r"v?(?P<release>\d+(?:\.\d+)*)(?P<any>\.x)?"
    r"(?:[-.]?(?P<end>a|b|rc|alpha|beta|dev|post|snapshot)\.?\d*)?"
)
_YEAR_OR_LESS = re.compile(r"\d{1,8}")
_PREFIX = re.compile(r"(?:version|release)[-_]")
_LONGEST = 40
# So many numbers of a release are compared, each with so many bits; higher ones are as high.
_PLACES, _BITS_OF_NUMBER = 3, 12
_HIGHEST = (1 << _BITS_OF_NUMBER) - 1

# Classes of versions, the best first, in the bits above those of a release.
_UNVERSIONED, _RELEASE, _PRE_RELEASE, _DEVELOPMENT = range(len(RECOMMENDED), len(RECOMMENDED) + 4)
_BITS_OF_RELEASE = _PLACES * _BITS_OF_NUMBER
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
    """Return the rank of the version that *segment* names, below 2^40, lower is better.

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
    if not match or match["end"] == "snapshot":
        return _DEVELOPMENT << _BITS_OF_RELEASE
    numbers = [min(int(number), _HIGHEST) for number in match["release"].split(".")]
    if match["any"]:
        numbers.append(_HIGHEST)
    height = 0
    for number in [*numbers, *[0] * _PLACES][:_PLACES]:
        height = (height << _BITS_OF_NUMBER) + number
    kind = _RELEASE if match["end"] in (None, "post") else _PRE_RELEASE
    return (kind << _BITS_OF_RELEASE) + ((1 << _BITS_OF_RELEASE) - 1 - height)
