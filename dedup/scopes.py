"""URL -> the name of the pages it is compared with."""

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urlsplit

if TYPE_CHECKING:
    from tldextract import TLDExtract


def crawl(url: str) -> str:
    """Return "": every page of the crawl is compared with every other."""
    return ""


def host(url: str) -> str:
    """Return the host of *url* with its port, in lower case; "" if it has none.

    >>> host("https://User@Docs.Example.co.uk:8080/a")
    'docs.example.co.uk:8080'
    """
    return _split(url).netloc.rpartition("@")[2].lower()


def domain(url: str) -> str:
    """Return the registered domain of *url*, or its host where it has none (an IP address).

    >>> domain("https://docs.example.co.uk:8080/a"), domain("http://127.0.0.1:8080/")
    ('example.co.uk', '127.0.0.1')
    """
    name = _split(url).hostname or ""
    return _extract_domain()(name).top_domain_under_public_suffix or name


SCOPES: dict[str, Callable[[str], str]] = {"crawl": crawl, "domain": domain, "host": host}
"""The scopes by the name that settings use."""


def _split(url: str) -> SplitResult:
    try:
        return urlsplit(url)
    except ValueError:  # such as an unclosed bracket in the host
        return SplitResult("", "", "", "", "")


@cache
def _extract_domain() -> "TLDExtract":
    from tldextract import TLDExtract

    # The list of suffixes that comes with the package: nothing is fetched, nothing cached on disk.
    return TLDExtract(suffix_list_urls=(), cache_dir=None)
