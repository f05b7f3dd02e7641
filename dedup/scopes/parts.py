"""Parts of scopes: functions of the URL, the language or the item of a page."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any
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


def language(language: str | None) -> str:
    """Return the language of a page without its region and script; "" where it is unknown.

    >>> language("zh-Hant-TW"), language("EN_us"), language(None)
    ('zh', 'en', '')
    """
    primary = (language or "").replace("_", "-").partition("-")[0].strip().lower()
    return primary.encode("ascii", "ignore").decode()[:LONGEST_LANGUAGE]


@dataclass(frozen=True)
class Field:
    """The value of a field of the item; of a field within another by its path: "offer.sku"."""

    name: str

    def __call__(self, item: Mapping[str, Any]) -> Any:
        """Return the value, ``None`` if there is none or it is empty."""
        value: Any = item.get(self.name)
        if value is None:
            value = item
            for name in self.name.split("."):
                is_mapping = isinstance(value, Mapping)
                value = value.get(name) if is_mapping else getattr(value, name, None)
        return None if _is_empty(value) else value


LONGEST_LANGUAGE = 8
"""Characters of a primary language subtag (BCP 47)."""
PARTS: dict[str, Callable[..., Any]] = {
    "crawl": crawl, "domain": domain, "host": host, "language": language,
}  # fmt: skip
"""The parts that have short names."""
_DEFAULT_PORT = {"http": ":80", "https": ":443"}


def _is_empty(value: Any) -> bool:
    if isinstance(value, str):
        return not value.strip()
    if isinstance(value, Mapping):
        value = value.values()
    if isinstance(value, Collection) and not isinstance(value, bytes):
        return all(map(_is_empty, value))
    return value is None or value != value  # not a number: what tables have for nothing


@lru_cache(maxsize=1024)
def _host_of(root: str) -> str:
    parts = _parse(root)
    name = parts.netloc.rpartition("@")[2].lower()
    return name.removesuffix(_DEFAULT_PORT.get(parts.scheme, ":"))


def _parse(url: str) -> SplitResult:
    try:
        return urlsplit(url[:LONGEST_URL])
    except ValueError:  # such as an unclosed bracket in the host
        return SplitResult("", "", "", "", "")


@cache
def _extract_domain() -> "TLDExtract":
    from tldextract import TLDExtract

    # With the package's own list of suffixes: no download, no cache on disk.
    return TLDExtract(suffix_list_urls=(), cache_dir=None)
