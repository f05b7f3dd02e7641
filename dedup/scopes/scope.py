"""URL, language and item -> the name of the set of pages that a page is compared with."""

import importlib
import inspect
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date, time
from decimal import Decimal
from difflib import get_close_matches
from enum import Enum
from functools import cache
from typing import Any
from uuid import UUID

from dedup.limits import LONGEST_SCOPE, shorten_url
from dedup.scopes.parts import PARTS, Field
from dedup.scopes.scope_names import OF_ITEM

_FIELD = "field:"
_ARGUMENTS = ("url", "language", "item")
_BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
_REST = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
_CHOICES = (
    f"must be {' or '.join(map(repr, PARTS))} or 'field:NAME', the import path of a function, "
    "or several of these"
)


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
        ValueError: must be ... got 'hots'; did you mean 'host'?

        Raises ValueError for anything else, also for functions that cannot be imported by their
        names: methods, and those within others, of which several may have one name.
        """
        if isinstance(value, str):
            values: Iterable[Any] = [name.strip() for name in value.split(",")]
        elif isinstance(value, list | tuple) and value:
            values = value
        else:
            values = [value]
        parts = {}
        for one in values:
            part = _part_named(one) if isinstance(one, str) else one
            parts[_name_of(part)] = part
        if len(parts) > 1:
            parts.pop("crawl", None)
        names = sorted(parts)
        return cls(",".join(names), tuple(parts[name] for name in names))

    @property
    def arguments(self) -> frozenset[str]:
        """Which of *url*, *language* and *item* it depends on."""
        return frozenset().union(*map(_arguments_of, self.parts))

    @property
    def needs_item(self) -> bool:
        """Whether only an item tells it: a page has as many scopes as its items."""
        return "item" in self.arguments

    @property
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
        primary = PARTS["language"](language) or None
        given = {"url": url, "language": primary, "item": item or {}}
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
        told = told.encode("utf-8", "backslashreplace").decode()
        return shorten_url(f"{OF_ITEM if self.needs_item else ''}{told}", LONGEST_SCOPE)


def is_scope_name(name: str) -> bool:
    """Return whether *name* may be that of a `Scope`, without importing what it names."""
    return all(
        part in PARTS or (part.startswith(_FIELD) and part != _FIELD) or "." in part
        for part in name.split(",")
    )


def _part_named(name: str) -> Callable[..., Any]:
    """Return the part with a short *name*, that of a field, or that at an import path."""
    if name in PARTS:
        return PARTS[name]
    if name.startswith(_FIELD) and name != _FIELD:
        return Field(name.removeprefix(_FIELD))
    error = f"{_CHOICES}, got {name!r}"
    kind, colon, rest = name.partition(":")
    choices = [f"{kind}:"] if colon and not kind else [*PARTS, _FIELD]
    if near := get_close_matches(kind + colon, choices, 1):
        error += f"; did you mean {near[0] + (rest or 'NAME' if near[0] == _FIELD else '')!r}?"
    module, _, attribute = name.rpartition(".")
    if not module or colon:
        raise ValueError(error)
    try:
        part = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, TypeError, ValueError) as cause:
        raise ValueError(f"{error}: {cause}") from cause
    except Exception as cause:  # whatever the module does when it is imported
        told = f"{module} raises {type(cause).__name__}: {cause}"
        raise ValueError(f"{error}: {told}") from cause
    if not callable(part):
        raise ValueError(f"{error}, which is no function")
    return part  # type: ignore[no-any-return]


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
        raise ValueError(f"{_CHOICES}, got {part!r:.200}")
    name = getattr(part, "__qualname__", "<lambda>")
    if name.endswith("<lambda>"):
        raise ValueError(
            f"must be a function that has a name, by which a ledger knows it (def), got {part!r}"
        )
    try:
        _arguments_of(part)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{part.__module__}.{name}: {error}") from error
    path = f"{part.__module__}.{name}"
    if not _is_at(part, path):
        raise ValueError(
            "must be a function of a module, which can be imported by its name, and no method or "
            f"function within another, got {path!r}"
        )
    return path


def _is_at(part: Any, path: str) -> bool:
    """Return whether *part* is what is imported from *path*."""
    module, _, attribute = path.rpartition(".")
    try:
        return getattr(importlib.import_module(module), attribute, None) is part
    except (ImportError, ValueError):
        return False


@cache
def _arguments_of(part: Callable[..., Any]) -> tuple[str, ...]:
    """Return which arguments *part* takes; raises ValueError if it wants another one."""
    if inspect.iscoroutinefunction(part):
        raise ValueError("may not be async")
    found = []
    for name, parameter in inspect.signature(
        part.__call__ if isinstance(part, Field) else part
    ).parameters.items():
        has_default = parameter.default is not inspect.Parameter.empty
        if name in _ARGUMENTS and parameter.kind in _BY_NAME:
            found.append(name)
        elif not has_default and parameter.kind not in _REST:
            raise ValueError(f"may take url, language and item, by these names, and not {name!r}")
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
