"""A URL -> the URL without one of its parts, or with a placeholder for it."""

import re
from collections import defaultdict
from collections.abc import Container, Iterator
from typing import NamedTuple
from urllib.parse import urlsplit

from dedup.text import LONGEST_URL
from dedup.versions import is_version

_INDEX = re.compile(r"(?:index|default|home)(?:\.[a-z]{2,5})?", re.IGNORECASE)
_EXTENSION = re.compile(r"(?<=.)\.[A-Za-z]\w{0,9}$")
# As in tea-print.html and tea.amp.html; _EXTENSION matches an extension alone.
_LAST_WORD = re.compile(
    r"(?<=.)(?:[-_][A-Za-z]{2,12}(?=(?:\.\w{1,10})?$)|\.[A-Za-z]{2,12}(?=\.\w{1,10}$))"
)
_PATH_PARAMETER = re.compile(r";([^=;/]*)[^;/]*")
_DEEPEST_SIBLINGS = 3


class Url(NamedTuple):
    """An http or https URL without its fragment; *query* has its parameters, sorted."""

    scheme: str
    host: str
    path: str
    query: tuple[str, ...]

    @classmethod
    def parse(cls, url: str) -> "Url | None":
        """Return the parts of *url*, ``None`` if it is too long or not an http or https URL."""
        if len(url) > LONGEST_URL:
            return None
        try:
            parts = urlsplit(url)
        except ValueError:
            return None
        if parts.scheme not in ("http", "https") or not parts.netloc:
            return None
        query = tuple(sorted(parts.query.split("&"))) if parts.query else ()
        return cls(parts.scheme, parts.netloc.lower(), parts.path or "/", query)

    def with_path(self, path: str) -> "Url":
        return Url(self.scheme, self.host, path, self.query)

    def without_parameters(self, names: Container[str]) -> "Url":
        query = tuple(pair for pair in self.query if pair.partition("=")[0] not in names)
        return Url(self.scheme, self.host, self.path, query)

    @property
    def number_of_parts(self) -> int:
        """The approximate number of parts: parameters, segments and path parameters."""
        return len(self.query) + self.path.count("/") + self.path.count(";")

    @property
    def origin(self) -> str:
        return f"{self.scheme}://{self.host}"


class Part(NamedTuple):
    """A part of URLs: kind and name as in `Advice`, and the host ("" if the part is a host)."""

    kind: str
    host: str
    name: str

    @property
    def names(self) -> list[str]:
        """The names of the parameters if there are several, else the one name."""
        return self.name.split(",") if self.kind == "parameters" else [self.name]

    @property
    def host_alone(self) -> str:
        return self.host or self.name.partition("://")[2]


def parts_with_values(url: Url) -> Iterator[Part]:
    """Yield the parts of *url* whose value may differ in other URLs: parameters and versions.

    `without` removes one.
    """
    host = url.host
    if url.query:
        names = dict.fromkeys(pair.partition("=")[0] for pair in url.query)
        for name in names:
            yield Part("parameter", host, name)
        families: dict[str, set[str]] = defaultdict(set)
        for name in names:
            families[name.partition("_")[0]].add(name)
        # Families such as utm_source and utm_medium, which never come alone, and all together.
        for family in {frozenset(family) for family in (*families.values(), names)}:
            if len(family) > 1 and not any("," in name for name in family):
                yield Part("parameters", host, ",".join(sorted(family)))
    if ";" in url.path:
        for name in dict.fromkeys(_PATH_PARAMETER.findall(url.path)):
            yield Part("path-parameter", host, name)
    segments = url.path.split("/")
    for place, segment in enumerate(segments[1:-1], 1):
        if is_version(segment):
            yield Part("version", host, "/".join([*segments[:place], "{version}", ""]))


def without(url: Url, part: Part) -> Url:
    """Return *url* without a *part* of `parts_with_values`, a placeholder for a version."""
    if part.kind == "version":
        segments = url.path.split("/")
        segments[part.name.count("/") - 1] = "{version}"
        return url.with_path("/".join(segments))
    if part.kind == "path-parameter":
        path = _PATH_PARAMETER.sub(lambda m: "" if m[1] == part.name else m[0], url.path)
        return url.with_path(path or "/")
    return url.without_parameters(frozenset(part.names))


def without_parts(url: Url) -> Iterator[tuple[Part, Url]]:
    """Yield each other part that can be removed, and *url* without it."""
    host = url.host
    *folders, last = segments = url.path.split("/")
    if not last and len(folders) > 1:
        yield Part("slash", host, "/"), url.with_path(url.path[:-1])
    if _INDEX.fullmatch(last):
        yield Part("index", host, last), url.with_path("/".join([*folders, ""]))
    for name in dict.fromkeys(segment for segment in segments if segment):
        rest = [segment for segment in segments if segment != name]
        shorter = url.with_path("/".join(rest) if len(rest) > 1 else "/")
        yield Part("segment", host, name), shorter
    for pattern in (_EXTENSION, _LAST_WORD):
        if match := pattern.search(last):
            name = last[: match.start()] + last[match.end() :]
            yield Part("suffix", host, match.group()), url.with_path("/".join([*folders, name]))


def in_any_folder(url: Url) -> Iterator[tuple[Part, Url]]:
    """Yield the host and the upper folders of *url*, each with a copy of *url* that lacks it.

    Two URLs that differ in this part only have equal copies.
    """
    yield Part("host", "", url.origin), Url("", "", url.path, url.query)
    segments = url.path.split("/")
    for place, segment in enumerate(segments[1:-1][:_DEEPEST_SIBLINGS], 1):
        before = "/".join(segments[:place]) + "/"
        elsewhere = url.with_path(before + "\0" + "/".join(segments[place + 1 :]))
        yield Part("value", url.host, f"{before}{segment}/"), elsewhere
