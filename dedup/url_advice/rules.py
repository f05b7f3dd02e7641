"""A part of URLs -> the rules against it: for duplicate-url-discarder, and to deny links."""

import re
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Mapping
from typing import Any

from dedup.url_advice.advice import Rule
from dedup.url_advice.urls import Part, Url

_Classes = dict[Url, list[Url]]
"""URLs by their canonical form."""

_SEGMENT = re.compile(r"/[^/]*")
_WWW = re.compile(r"^www\d*\.")
# The expression that bars the URLs with a part, given its host and name as expressions.
_DENY: dict[str, Callable[[str, str], str]] = {
    "parameter": lambda host, name: rf"^https?://{host}/[^#]*[?&]{name}(?:[=&#]|$)",
    "parameters": lambda host, name: rf"^https?://{host}/[^#]*[?&](?:{name})(?:[=&#]|$)",
    "path-parameter": lambda host, name: rf"^https?://{host}/[^?#]*;{name}(?:[=;/?#]|$)",
    "slash": lambda host, _: rf"^https?://{host}/[^?#]+/(?:[?#]|$)",
    "index": lambda host, name: rf"^https?://{host}/(?:[^?#]*/)?{name}(?:[?#]|$)",
    "segment": lambda host, name: rf"^https?://{host}/(?:[^?#]*/)?{name}(?:[/?#]|$)",
    "suffix": lambda host, name: rf"^https?://{host}/[^?#]*[^/?#]{name}(?:\.\w{{1,10}})?(?:[?#]|$)",
    "value": lambda host, name: rf"^https?://{host}{name}",
    "host": lambda _, name: rf"^{name}(?:[/?#]|$)",
}


def deny_rule(part: Part) -> str | None:
    """Return the regular expression that bars the URLs with *part*, ``None`` if there is none."""
    if part.kind not in _DENY:
        return None
    return _DENY[part.kind](re.escape(part.host), "|".join(map(re.escape, part.names)))


def discarder_rule(part: Part, urls: Iterable[Url]) -> Rule | None:
    """Return the rule for duplicate-url-discarder, ``None`` if there is none for such a part.

    With the rule, it fetches only the first of the URLs that differ in nothing but the part.
    *urls*: those with the part.
    """
    everywhere = [part.host + "/"]
    if part.kind in ("parameter", "parameters"):
        return _rule_for(everywhere, "queryRemoval", *part.names)
    if part.kind == "version":
        before = part.name.removesuffix("{version}/")
        place = before.count("/") - 1
        folders = {"/".join(url.path.split("/")[: place + 2]) for url in urls}
        return _rule_for(
            sorted(part.host + folder + "/" for folder in folders), "subpathRemoval", place
        )
    return _rule_for(everywhere, "normalizer") if part.kind == "slash" else None


def www_rule(origin: str, other: str) -> Rule | None:
    """Return the rule for two origins that differ in www. only, ``None`` for others."""
    (scheme, _, host), (other_scheme, _, other_host) = (
        text.partition("://") for text in (origin, other)
    )
    bare = _without_www(host)
    is_www = scheme == other_scheme and bare == _without_www(other_host)
    return (
        _rule_for([f"{name}/" for name in sorted({bare, host, other_host})], "normalizer")
        if is_www
        else None
    )


def hosts_of(rule: Rule) -> set[str]:
    """Return the hosts that a rule for duplicate-url-discarder holds for."""
    hosts = {pattern.partition("/")[0] for pattern in rule["urlPattern"]["include"]}
    return hosts | {"www." + host for host in hosts}


def parameters_of(rule: Rule) -> list[str]:
    """Return the query parameters that a rule removes; an empty list if it removes none."""
    return rule["args"] if rule["processor"] == "queryRemoval" else []


class CanonicalUrls:
    """The canonical forms that duplicate-url-discarder gives URLs, as rules are added.

    It fetches one URL of each form.
    """

    def __init__(self, urls: Container[Url]) -> None:
        self._urls = urls
        # Only URLs that differ from their form, and forms with other members than themselves.
        self._forms: dict[Url, Url] = {}
        self._members: dict[Url, list[Url]] = {}

    def changes(self, rule: Rule, urls: Iterable[Url]) -> dict[Url, Url]:
        """Return the new forms of the *urls* whose form changes with *rule*."""
        patterns = [pattern.partition("/") for pattern in rule["urlPattern"]["include"]]
        folders: dict[str, tuple[str, ...]] = defaultdict(tuple)
        for host, _, path in patterns:
            for name in (host, "www." + host):  # as duplicate-url-discarder matches hosts
                folders[name] += ("/" + path,)
        changes = {}
        for url in urls:
            if url.path.startswith(folders[url.host]):
                form = self._forms.get(url, url)
                if (new := _canonical(form, rule)) != form:
                    changes[url] = new
        return changes

    def classes(self, changes: Mapping[Url, Url]) -> tuple[_Classes, _Classes]:
        """Return the URLs of the affected forms before and after *changes*, which is a preview."""
        forms = {*changes.values(), *(self._forms.get(url, url) for url in changes)}
        before = {form: self._urls_of(form) for form in forms}
        after = {form: [url for url in urls if url not in changes] for form, urls in before.items()}
        for url, form in changes.items():
            after[form].append(url)
        return before, after

    def apply(self, changes: Mapping[Url, Url], after: _Classes) -> None:
        """Apply the changes that `classes` previewed."""
        self._forms.update(changes)
        self._members.update(after)

    def _urls_of(self, form: Url) -> list[Url]:
        if form in self._members:
            return self._members[form]
        return [form] if form in self._urls else []


def _rule_for(include: list[str], processor: str, *arguments: Any) -> Rule:
    rule = {"order": 100, "urlPattern": {"include": include}, "processor": processor}
    return {**rule, "args": list(arguments)} if arguments else rule


def _canonical(url: Url, rule: Rule) -> Url:
    """Return the form that duplicate-url-discarder gives *url* by *rule*."""
    arguments = rule.get("args", [])
    if rule["processor"] == "queryRemoval":
        return url.without_parameters(arguments)
    if rule["processor"] == "subpathRemoval":
        segments = _SEGMENT.findall(url.path)
        path = "".join(s for place, s in enumerate(segments) if place not in arguments)
        return url.with_path(path)
    return url._replace(host=_without_www(url.host), path=url.path.rstrip("/"))


def _without_www(host: str) -> str:
    return _WWW.sub("", host)
