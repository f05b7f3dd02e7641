"""A URL -> the URL without one of its parts, or with a placeholder for it."""

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from dedup.limits import LONGEST_URL, split_url

_INDEX = re.compile(r"(?:index|default|home)(?:\.[a-z]{2,5})?", re.IGNORECASE)
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
        parts = split_url(url)
        if parts.scheme not in ("http", "https") or not parts.netloc:
            return None
        query = tuple(sorted(parts.query.split("&"))) if parts.query else ()
        return cls(parts.scheme, parts.netloc.lower(), parts.path or "/", query)


class Part(NamedTuple):
    """A part of URLs: kind and name as in `Advice`, and the host ("" if the part is a host)."""

    kind: str
    host: str
    name: str

    @property
    def names(self) -> list[str]:
        """The names of the parameters if there are several, else the one name."""
        return self.name.split(",") if self.kind == "parameters" else [self.name]


def parts_of(url: Url) -> Iterator[Part]:
    """Yield the parts that `without` can remove."""
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
    *folders, last = url.path.split("/")
    if not last and len(folders) > 1:
        yield Part("slash", host, "/")
    if _INDEX.fullmatch(last):
        yield Part("index", host, last)


def without(url: Url, part: Part) -> Url:
    """Return *url* without a *part* of `parts_of`."""
    if part.kind == "slash":
        return url._replace(path=url.path[:-1])
    if part.kind == "index":
        return url._replace(path=url.path.removesuffix(part.name))
    names = part.names
    query = tuple(pair for pair in url.query if pair.partition("=")[0] not in names)
    return url._replace(query=query)


def in_any_folder(url: Url) -> Iterator[tuple[Part, Url]]:
    """Yield the host and the upper folders of *url*, each with a copy of *url* that lacks it.

    Two URLs that differ in this part only have equal copies.
    """
    yield Part("host", "", f"{url.scheme}://{url.host}"), Url("", "", url.path, url.query)
    segments = url.path.split("/")
    for place, segment in enumerate(segments[1:-1][:_DEEPEST_SIBLINGS], 1):
        before = "/".join(segments[:place]) + "/"
        elsewhere = url._replace(path=before + "\0" + "/".join(segments[place + 1 :]))
        yield Part("value", url.host, f"{before}{segment}/"), elsewhere
