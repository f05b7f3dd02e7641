"""Known URLs that are like one that nobody knows."""

from collections.abc import Iterable
from heapq import nsmallest
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from dedup.limits import LONGEST_URL

MOST_NEAR_URLS = 10


class NearUrl(NamedTuple):
    """A known URL, and how it is like another one."""

    rank: int
    url: str

    @property
    def likeness(self) -> str:
        return _LIKENESS[self.rank]


_LIKENESS = (
    "but for case, encoding, scheme, www or a slash",
    "but for what follows the path",
    "the same path on another host",
    "the same name in another folder",
)


def nearest_urls(url: str, known: Iterable[str]) -> list[NearUrl]:
    """Return the *known* URLs that are most like *url*, `MOST_NEAR_URLS` or fewer, by nearness.

    >>> [near.url for near in nearest_urls("http://a/B%C3%A9/", ["http://a/", "https://a/bé"])]
    ['https://a/bé']
    """
    asked = _form(url)
    ranked = ((_rank(asked, _form(other)), other) for other in known)
    return nsmallest(
        MOST_NEAR_URLS, {NearUrl(rank, other) for rank, other in ranked if rank is not None}
    )


class _Form(NamedTuple):
    host: str
    path: str
    query: str


def _form(url: str) -> _Form:
    """Return what is left of a URL without what people write in several ways."""
    try:
        parts = urlsplit(unquote(url[:LONGEST_URL]).casefold().strip())
    except ValueError:  # such as an unclosed bracket in the host
        return _Form("", url, "")
    host = parts.netloc.removeprefix("www.").removesuffix(":80").removesuffix(":443")
    return _Form(host, parts.path.rstrip("/"), parts.query)


def _rank(asked: _Form, other: _Form) -> int | None:
    if asked == other:
        return 0
    if asked[:2] == other[:2]:
        return 1
    if asked.path and asked.path == other.path:
        return 2
    name = asked.path.rpartition("/")[2]
    return 3 if name and name == other.path.rpartition("/")[2] else None
