"""URL -> the name of the set of pages that it is compared with."""

from collections.abc import Callable
from functools import cache, lru_cache
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urlsplit

from dedup.text import LONGEST_URL

if TYPE_CHECKING:
    from tldextract import TLDExtract


def crawl(url: str) -> str:
    """Return "": every page of the crawl is compared with every other."""
    return ""


def host(url: str) -> str:
    """Return the host of *url* in lower case, with a port that is not the scheme's default.

    "" if there is none.

    >>> host("https://User@Docs.Example.co.uk:8080/a"), host("http://example.com:80/")
    ('docs.example.co.uk:8080', 'example.com')
    """
    # What follows the third slash is of no account; without it, many URLs are one.
    return _host_of("/".join(url[:LONGEST_URL].split("/", 3)[:3]))


def domain(url: str) -> str:
    """Return the registered domain of *url*, or its host where it has none (an IP address).

    >>> domain("https://docs.example.co.uk:8080/a"), domain("http://127.0.0.1:8080/")
    ('example.co.uk', '127.0.0.1')
    """
    name = _parse(url).hostname or ""
    return _extract_domain()(name).top_domain_under_public_suffix or name


def scope_within(scope: str, parts: bytes) -> str:
    """Return the scope of the pages in *scope* whose items also consist of the same *parts*.

    >>> base_of(scope_within("example.com", b"\x07"))
    'example.com'
    """
    return f"{scope}{_WITHIN}{parts.hex()}"


def parts_of(scope: str) -> bytes:
    """Return the parts that were passed to `scope_within`; b"" for any other scope."""
    return bytes.fromhex(scope.partition(_WITHIN)[2])


def replace_base(scope: str, base: str) -> str:
    """Return *scope* with another *base* and the same parts."""
    _, within, parts = scope.partition(_WITHIN)
    return f"{base}{within}{parts}"


def is_within(scope: str) -> bool:
    """Return whether `scope_within` made *scope*; there are many such scopes of few pages each."""
    return _WITHIN in scope


def base_of(scope: str) -> str:
    """Return the scope that was passed to `scope_within`, or *scope* itself."""
    return scope.partition(_WITHIN)[0]


# No scope of a URL contains it: hosts that Scrapy takes may.
_WITHIN = "\x1f"
_DEFAULT_PORT = {"http": ":80", "https": ":443"}

SCOPES: dict[str, Callable[[str], str]] = {"crawl": crawl, "domain": domain, "host": host}
"""The scopes by the name that settings use."""


@lru_cache(maxsize=1024)
def _host_of(root: str) -> str:
    parts = _parse(root)
    name = parts.netloc.rpartition("@")[2].lower()
    return name.removesuffix(_DEFAULT_PORT.get(parts.scheme, ":"))


def _parse(url: str) -> SplitResult:
    try:
        return urlsplit(url[:LONGEST_URL].replace(_WITHIN, "%1f"))
    except ValueError:  # such as an unclosed bracket in the host
        return SplitResult("", "", "", "", "")


@cache
def _extract_domain() -> "TLDExtract":
    from tldextract import TLDExtract

    # With the package's own list of suffixes: no download, no cache on disk.
    return TLDExtract(suffix_list_urls=(), cache_dir=None)
