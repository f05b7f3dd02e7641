"""Which pages a page is compared with: URL, language and item -> the name of a set of pages."""

import inspect
import json
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, time
from decimal import Decimal
from enum import Enum
from functools import cache, cached_property, lru_cache
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any
from uuid import UUID

from dedup.choices import list_in, load, name_of
from dedup.limits import LONGEST_SCOPE, LONGEST_URL, shorten_url, split_url
from dedup.text import writable

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
    name = split_url(url).hostname or ""
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
    parts = split_url(root)
    name = parts.netloc.rpartition("@")[2].lower()
    return name.removesuffix(_DEFAULT_PORT.get(parts.scheme, ":"))


@cache
def _extract_domain() -> "TLDExtract":
    from tldextract import TLDExtract

    # With the package's own list of suffixes: no download, no cache on disk.
    return TLDExtract(suffix_list_urls=(), cache_dir=None)


OF_ITEM = "item "
"""With it begins the name of a scope that an item told."""
_FIELD = "field:"


@dataclass(frozen=True)
class Scope:
    """Which pages a page is compared with: those for which all of its parts are equal.

    A part is a function of any of *url*, *language* and *item*, by these names. *name* stands for
    the parts wherever settings are compared, and makes the scope again: `Scope.of`.
    """

    name: str
    parts: tuple[Callable[..., Any], ...]

    @classmethod
    def of(cls, value: Any) -> "Scope":
        """Return the scope of a name, of several (in a list, or after commas), or of a function.

        >>> Scope.of("host, language").name == Scope.of(["language", "host"]).name
        True
        >>> Scope.of("hots")
        Traceback (most recent call last):
        ValueError: must be ... got 'hots'; did you mean host?

        Raises ValueError for anything else, also for functions that cannot be imported by their
        names, such as those within others, of which several may have one name.
        """
        values = list_in(value) or [value]
        parts = {}
        for one in values if isinstance(values, list | tuple) else [values]:
            if isinstance(one, str) and one.startswith(_FIELD) and one != _FIELD:
                part: Any = Field(one.removeprefix(_FIELD))
            else:
                part = load(PARTS, one, f"{_FIELD}NAME")
            parts[_name_of(part)] = part
        if len(parts) > 1:
            parts.pop("crawl", None)
        names = sorted(parts)
        return cls(",".join(names), tuple(parts[name] for name in names))

    @cached_property
    def arguments(self) -> frozenset[str]:
        """Which of *url*, *language* and *item* it depends on."""
        return frozenset().union(*map(_arguments_of, self.parts))

    @cached_property
    def needs_item(self) -> bool:
        """Whether only an item tells it: a page has as many scopes as its items."""
        return "item" in self.arguments

    @cached_property
    def needs_language(self) -> bool:
        """Whether it depends on the language of a page, which has to be read before."""
        return "language" in self.arguments

    @property
    def needs_url(self) -> bool:
        """Whether it depends on the URL: all pages without one have the same scope otherwise."""
        return "url" in self.arguments and self.name != "crawl"

    def name_of(
        self, url: str, language: str | None = None, item: Mapping[str, Any] | None = None
    ) -> str | None:
        """Return the name of the set of pages that a page is compared with.

        ``None`` if a part is not known: nobody can say then which pages it may be compared with.
        Raises whatever a function of somebody else's raises; ValueError if what it returns cannot
        be written down.

        >>> Scope.of("host").name_of("http://a.example/b")
        'a.example'
        >>> Scope.of("field:sku,host").name_of("http://a.example/b", item={"sku": 17})
        'item [17, "a.example"]'
        """
        given: dict[str, Any] = {"url": url, "item": item or {}}
        if self.needs_language:
            given["language"] = PARTS["language"](language) or None
        values = []
        for part in self.parts:
            value = part(**{name: given[name] for name in _arguments_of(part)})
            if value is None:
                return None
            values.append(value)
        if len(values) == 1 and self.name in PARTS:
            return shorten_url(str(values[0]), LONGEST_SCOPE)
        try:
            told = json.dumps(values, ensure_ascii=False, sort_keys=True, default=_as_json)
        except RecursionError as error:
            raise ValueError("a value within too many others cannot be a scope") from error
        return shorten_url(f"{OF_ITEM * self.needs_item}{writable(told)}", LONGEST_SCOPE)


def is_scope_name(name: str) -> bool:
    """Return whether *name* may be that of a `Scope`, without importing what it names."""
    return all(
        part in PARTS or (part.startswith(_FIELD) and part != _FIELD) or "." in part
        for part in name.split(",")
    )


def are_versions(scope: str, other: str) -> bool:
    """Return whether a page under the same key in the *other* scope is a version of one in *scope*.

    The items of a page that have scopes of their own stand for different contents.
    """
    return not is_of_item(scope) or scope == other


def is_of_item(scope: str) -> bool:
    """Return whether an item told the name *scope*: its page has others, too."""
    return scope.startswith(OF_ITEM)


def _name_of(part: Any) -> str:
    """Return the name of *part*; raises ValueError if it has none, or cannot be called."""
    if isinstance(part, Field):
        if "," in part.name:
            raise ValueError(f"cannot take a field with a comma in its name: {part.name!r}")
        return _FIELD + part.name
    for name, known in PARTS.items():
        if part is known:
            return name
    if not callable(part):
        raise ValueError(f"must be functions or names of them, got {part!r:.200}")
    path = name_of(part, part)
    try:
        _arguments_of(part)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{path}: {error}") from error
    with suppress(ImportError, AttributeError, ValueError):
        if resolve_name(path) is part:
            return path
    raise ValueError(
        "must be a function (def) that can be imported by its name, by which a ledger knows it, "
        f"and no method or function within another, got {path!r}"
    )


@cache
def _arguments_of(part: Callable[..., Any]) -> tuple[str, ...]:
    """Return which arguments *part* takes; raises ValueError if it wants another one."""
    if inspect.iscoroutinefunction(part):
        raise ValueError("may not be async")
    signature = inspect.signature(part.__call__ if isinstance(part, Field) else part)
    found = [name for name in ("url", "language", "item") if name in signature.parameters]
    try:
        signature.bind(**dict.fromkeys(found))
    except TypeError as error:
        raise ValueError(f"may take url, language and item, by these names: {error}") from error
    if not found:
        raise ValueError("must take url, language or item, by these names")
    return tuple(found)


def _as_json(value: Any) -> Any:
    """Return what JSON has for *value*; raises ValueError where it may be another each time."""
    if isinstance(value, date | time | Decimal | UUID):
        return str(value)
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return dict(value)
    raise ValueError(f"a value of the type {type(value).__name__} cannot be a scope: {value!r:.60}")
