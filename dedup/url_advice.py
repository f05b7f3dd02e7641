"""URLs and which of them have equal content -> what in URLs never changed it.

The other way round than URL filters work, which are told what does not matter. Here pages that were
read say what did not: a part of a URL is left out, or another put in its place, and if that URL was
crawled too, the contents of both can be compared.

Source: Bar-Yossef, Keidar, Schonfeld, "Do Not Crawl in the DUST: Different URLs with Similar Text",
WWW 2007. They mine the rules from a list of URLs and sample pages to test them; here every page has
been read.
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from math import sqrt
from typing import Any, NamedTuple
from urllib.parse import urlsplit

_MOST_PARTS = 20
LEAST_COMPARED = 5
"""How many pages must have been compared before anything is advised."""

LEAST_CONFIDENCE = 0.9
"""How sure it must be that content is equal, where a page was found that differs."""

_VERSION = re.compile(
    r"v?\d+(?:\.\d+)*(?:[-.]?(?:a|b|rc|alpha|beta|dev|post)\.?\d*)?"
    r"|latest|stable|current|next|dev|develop|main|master|trunk|nightly|edge"
)
_YEAR_OR_LESS = re.compile(r"\d{1,8}")
_INDEX = re.compile(r"(?:index|default|home)(?:\.[a-z]{2,5})?", re.IGNORECASE)
_EXTENSION = re.compile(r"(?<=.)\.[A-Za-z]\w{0,9}$")
# As in tea-print.html and tea.amp.html; an extension alone is met above.
_LAST_WORD = re.compile(
    r"(?<=.)(?:[-_][A-Za-z]{2,12}(?=(?:\.\w{1,10})?$)|\.[A-Za-z]{2,12}(?=\.\w{1,10}$))"
)
_PATH_PARAMETER = re.compile(r";([^=;/]*)[^;/]*")
# Of siblings, such as the versions of a documentation, each is compared with each.
_MOST_SIBLINGS = 64
_DEEPEST_SIBLINGS = 3
_MOST_SHOWN = 40
# Below, contents depend on the part: that is what it is for.
_LEAST_TELLING = 0.5


@dataclass(frozen=True, slots=True)
class Advice:
    """A part of URLs, and how the content of pages depended on it.

    *kind* says what *name* is: a "parameter" of the query, "parameters" that come together
    (separated by commas), a "path-parameter" (``;sid=1``), a
    "segment" of the path, an "index" page, a last "slash", a "suffix" of the last segment, a
    "version" (any in this place), a "value" (this one in this place), a "host" (with its scheme).
    What it is compared with is the URL without it, or, of a value or host, with *other*.

    *pages*: how many URLs have it; *compared*: how many URLs could have been left out, since
    another one differs in this part only; *agreed*: how many of these had the content of one that
    would have stayed; *alone*: how many of the pages have no such URL; *confidence*: lower bound
    of the share that agrees (95 %, Wilson). *examples*, *counterexamples*: pairs of URLs.

    *discarder*: the rule for duplicate-url-discarder, *deny*: the regular expression for a link
    extractor, where one can be given.
    """

    kind: str
    name: str
    other: str | None
    host: str
    pages: int
    compared: int
    agreed: int
    alone: int
    confidence: float
    is_advised: bool
    examples: tuple[tuple[str, str], ...]
    counterexamples: tuple[tuple[str, str], ...]
    discarder: Mapping[str, Any] | None
    deny: str | None


@dataclass(frozen=True, slots=True)
class Followed:
    """What it would have meant to crawl with all the rules: pages not fetched, contents not met."""

    pages: int
    contents: int


@dataclass(frozen=True, slots=True)
class UrlAdvice:
    """All of the advice, of *pages* that were looked at; the surest and most useful first."""

    pages: int
    advice: tuple[Advice, ...]
    with_deny: Followed
    with_discarder: Followed

    def as_dict(self) -> dict[str, Any]:
        """Return it in the form of the JSON report."""
        return json.loads(json.dumps(asdict(self)))  # type: ignore[no-any-return]  # a dictionary


def url_advice(pages: Iterable[tuple[str, Hashable]]) -> UrlAdvice:
    """Return what in URLs never changed the content, from pairs of a URL and a content group.

    Pages of equal group have equal or nearly equal content. A rule is advised if at least 5 URLs
    were compared and all agreed, or with a confidence above .9; a regular expression to deny is
    given only if each page that it would bar has another one, not barred, with its content.

    >>> shop = "http://shop.example/"
    >>> pages = [(f"{shop}{n}{query}", n) for n in range(9) for query in ("", "?ref=home")]
    >>> advice = url_advice(pages).advice[0]
    >>> advice.kind, advice.name, advice.agreed, advice.compared, advice.alone
    ('parameter', 'ref', 9, 9, 0)
    >>> advice.deny
    '^https?://shop\\\\.example/[^#]*[?&]ref(?:[=&#]|$)'
    """
    return _Evidence(pages).advice()


def confidence(agreed: int, compared: int) -> float:
    """Return the lower bound of a share of which *agreed* of *compared* were seen, 0 to 1.

    >>> round(confidence(5, 5), 2), round(confidence(40, 40), 2), confidence(0, 0)
    (0.57, 0.91, 0.0)

    Source: Wilson, "Probable Inference", JASA 22, 1927; at 95 %.
    """
    if not compared:
        return 0.0
    share, z2 = agreed / compared, 1.96**2
    spread = sqrt(z2 * (share * (1 - share) + z2 / (4 * compared)) / compared)
    return max(0.0, (share + z2 / (2 * compared) - spread) / (1 + z2 / compared))


def is_version(segment: str) -> bool:
    """Return whether a segment of a path names a version, and is no mere number.

    >>> [is_version(segment) for segment in ("v1.2", "3.0rc1", "latest", "2024", "print")]
    [True, True, True, False, False]
    """
    return bool(_VERSION.fullmatch(segment)) and not _YEAR_OR_LESS.fullmatch(segment)


class _Url(NamedTuple):
    scheme: str
    host: str
    path: str
    query: tuple[str, ...]

    @classmethod
    def parse(cls, url: str) -> "_Url | None":
        try:
            split = urlsplit(url)
        except ValueError:
            return None
        if split.scheme not in ("http", "https") or not split.netloc:
            return None
        query = tuple(sorted(split.query.split("&"))) if split.query else ()
        return cls(split.scheme, split.netloc.lower(), split.path or "/", query)

    def with_path(self, path: str) -> "_Url":
        return _Url(self.scheme, self.host, path, self.query)

    @property
    def origin(self) -> str:
        return f"{self.scheme}://{self.host}"


class _Part(NamedTuple):
    """What is compared: URLs that have it, with the one without it, or with each other."""

    kind: str
    host: str
    name: str


_Bases = dict[_Url, list[_Url]]
"""What is left when a part is left out, and the URLs that have it."""

_Judged = tuple[Advice, set[_Url]]


class _Evidence:
    """The URLs of a crawl by what is left when a part of them is left out."""

    def __init__(self, pages: Iterable[tuple[str, Hashable]]) -> None:
        self._urls: dict[_Url, str] = {}
        self._groups: dict[_Url, Hashable] = {}
        self._by_host: dict[str, list[_Url]] = defaultdict(list)
        self._slash_matters: set[str] = set()
        for text, group in pages:
            if (url := _Url.parse(text)) and url not in self._urls:
                self._urls[url] = text
                self._groups[url] = group
                self._by_host[url.host].append(url)

    def advice(self) -> UrlAdvice:
        found = [*self._removals(), *self._versions(), *self._siblings()]
        found = [
            item for item in found if item[0].is_advised or item[0].confidence >= _LEAST_TELLING
        ]
        found.sort(key=lambda item: (not item[0].is_advised, -item[0].agreed, item[0].name))
        found = self._without_joint_losses(found)[:_MOST_SHOWN]
        barred = {url for advice, members in found if advice.deny for url in members}
        found, with_discarder = self._discarded(found)
        return UrlAdvice(
            len(self._urls),
            tuple(advice for advice, _ in found),
            self._followed([url for url in self._urls if url not in barred]),
            with_discarder,
        )

    def _discarded(self, found: list[_Judged]) -> tuple[list[_Judged], Followed]:
        """Return the advice, without rules that lose more together than alone."""
        while True:
            rules = [advice for advice, _ in found if advice.discarder]
            if not rules:
                return found, Followed(0, 0)
            passed = self._first_of_each([advice.discarder or {} for advice in rules])
            followed = self._followed(passed)
            if followed.contents <= sum(advice.compared - advice.agreed for advice in rules):
                return found, followed
            least = rules[-1]
            found = [
                (replace(advice, discarder=None) if advice is least else advice, members)
                for advice, members in found
            ]

    def _followed(self, fetched: Sequence[_Url]) -> Followed:
        contents = len(set(self._groups.values())) - len({self._groups[url] for url in fetched})
        return Followed(len(self._urls) - len(fetched), contents)

    def _first_of_each(self, rules: Sequence[Mapping[str, Any]]) -> list[_Url]:
        """Return the URLs that duplicate-url-discarder lets pass: the first of each form."""
        by_host: dict[str, list[tuple[str, Mapping[str, Any]]]] = defaultdict(list)
        for rule in rules:
            for pattern in rule["urlPattern"]["include"]:
                host, slash, path = pattern.partition("/")
                for name in (host, "www." + host):  # as duplicate-url-discarder has it
                    by_host[name].append((slash + path, rule))
        first: dict[_Url, _Url] = {}
        for url in self._urls:
            canonical = url
            for path, rule in by_host.get(url.host, ()):
                if url.path.startswith(path):
                    canonical = _canonical(canonical, rule)
            first.setdefault(canonical, url)
        return list(first.values())

    def _without_joint_losses(self, found: list[_Judged]) -> list[_Judged]:
        """Return the advice; without the regular expressions that together would lose a content."""
        left = Counter(self._groups.values())
        checked, barred = [], set[_Url]()
        for advice, members in found:
            lost = Counter(self._groups[url] for url in members - barred)
            if advice.deny and any(left[group] <= count for group, count in lost.items()):
                advice = replace(advice, deny=None)
            elif advice.deny:
                left -= lost
                barred |= members
            checked.append((advice, members))
        return checked

    def _removals(self) -> Iterator[_Judged]:
        """Yield what URLs can be without."""
        found: dict[_Part, _Bases] = defaultdict(lambda: defaultdict(list))
        pages: Counter[_Part] = Counter()
        for url in self._urls:
            for kind, name, base in _without_parts(url):
                part = _Part(kind, url.host, name)
                pages[part] += 1
                # Of most parts, each URL leaves another base: those that nobody has tell nothing.
                if kind in _HAVE_VALUES or base in self._urls:
                    found[part][base].append(url)
        slash_matters = set()
        for part, bases in found.items():
            if part.kind == "slash":
                compared, agreed = self._evidence(bases)
                if agreed < compared:
                    slash_matters.add(part.host)
        self._slash_matters = slash_matters
        for part, bases in found.items():
            yield from self._judged(part, bases, pages[part])

    def _judged(self, part: _Part, bases: _Bases, pages: int) -> Iterator[_Judged]:
        compared, agreed = self._evidence(bases)
        if compared < LEAST_COMPARED:
            return
        members = {url for urls in bases.values() for url in urls}
        alone = pages - sum(len(urls) for base, urls in bases.items() if base in self._urls)
        is_advised = _is_advised(agreed, compared)
        advice = Advice(
            part.kind,
            part.name,
            None,
            part.host,
            pages,
            compared,
            agreed,
            alone,
            round(confidence(agreed, compared), 4),
            is_advised,
            *self._pairs(bases),
            _rule(part, bases) if is_advised else None,
            # A page that differs from what is left over would be lost.
            self._deny(part, members) if is_advised and not alone and agreed == compared else None,
        )
        yield advice, members

    def _deny(self, part: _Part, members: set[_Url]) -> str | None:
        """Return the regular expression that bars *members*, ``None`` if it barred others too."""
        if part.kind not in _DENY:
            return None
        names = "|".join(map(re.escape, _names(part)))
        deny = _DENY[part.kind](re.escape(part.host), names)
        barred = re.compile(deny).search
        host = part.host or part.name.partition("://")[2]
        others = (self._urls[url] for url in self._by_host[host] if url not in members)
        return None if any(map(barred, others)) else deny

    def _evidence(self, bases: _Bases) -> tuple[int, int]:
        """Return how many URLs could be left out, and how many of them had a content that stays."""
        compared = agreed = 0
        for base, urls in bases.items():
            together = [*urls, base] if base in self._urls else urls
            compared += len(together) - 1
            agreed += len(together) - len({self._groups[url] for url in together})
        return compared, agreed

    def _pairs(self, bases: _Bases) -> tuple[Any, Any]:
        """Return two pairs of URLs that agree, and two that do not."""
        agreeing: list[tuple[str, str]] = []
        differing: list[tuple[str, str]] = []
        for base, urls in bases.items():
            first, *others = [base, *urls] if base in self._urls else urls
            for url in others:
                same = self._groups[url] == self._groups[first]
                (agreeing if same else differing).append((self._urls[url], self._urls[first]))
            if len(agreeing) > 1 and len(differing) > 1:
                break
        return tuple(agreeing[:2]), tuple(differing[:2])

    def _versions(self) -> Iterator[_Judged]:
        """Yield the places where any version may stand, with what they say together."""
        bases: dict[_Part, _Bases] = defaultdict(lambda: defaultdict(list))
        for url in self._urls:
            segments = url.path.split("/")
            for place, segment in enumerate(segments[1:-1], 1):
                if is_version(segment):
                    before = "/".join(segments[:place])
                    path = "/".join([*segments[:place], "{version}", *segments[place + 1 :]])
                    name = f"{before}/{{version}}/"
                    bases[_Part("version", url.host, name)][url.with_path(path)].append(url)
        for part, found in bases.items():
            yield from self._judged(part, found, sum(map(len, found.values())))

    def _siblings(self) -> Iterator[_Judged]:
        """Yield folders and hosts that repeat another one, page by page."""
        members: dict[_Part, dict[_Url, _Url]] = defaultdict(dict)
        for url in self._urls:
            site = url._replace(scheme="", host="")
            members[_Part("host", "", url.origin)][site] = url
            segments = url.path.split("/")
            for place, segment in enumerate(segments[1:-1][:_DEEPEST_SIBLINGS], 1):
                before = "/".join(segments[:place]) + "/"
                base = url.with_path(before + "\0" + "/".join(segments[place + 1 :]))
                members[_Part("value", url.host, before + segment + "/")][base] = url
        shared: dict[_Url, list[_Part]] = defaultdict(list)
        for part, found in members.items():
            if len(found) >= LEAST_COMPARED:
                for base in found:
                    shared[base].append(part)

        def preference(part: _Part) -> tuple[Any, ...]:
            # More pages, then https, then the later version.
            return len(members[part]), part.name.startswith("https:"), _natural(part.name)

        compared: Counter[tuple[_Part, _Part]] = Counter()
        agreed: Counter[tuple[_Part, _Part]] = Counter()
        for base, parts in shared.items():
            for one, other in combinations(parts[:_MOST_SIBLINGS], 2):
                if one.kind == other.kind:
                    same = self._groups[members[one][base]] == self._groups[members[other][base]]
                    for pair in ((one, other), (other, one)):
                        compared[pair] += 1
                        agreed[pair] += same
        rivals: dict[_Part, list[_Part]] = defaultdict(list)
        for (one, other), count in compared.items():
            if count >= LEAST_COMPARED and preference(other) > preference(one):
                rivals[one].append(other)
        for one, others in rivals.items():
            # Whatever the best one repeats itself, the better one repeats too: it is that one.
            other = max(others, key=lambda other: (agreed[one, other], preference(other)))
            bases = {base: [url] for base, url in members[one].items() if base in members[other]}
            yield self._judged_sibling(one, other, bases, members)

    def _judged_sibling(
        self,
        one: _Part,
        other: _Part,
        bases: _Bases,
        members: Mapping[_Part, Mapping[_Url, _Url]],
    ) -> _Judged:
        agreeing: list[tuple[str, str]] = []
        differing: list[tuple[str, str]] = []
        barred = set(members[one].values())
        for base, (url,) in bases.items():
            counterpart = members[other][base]
            same = self._groups[url] == self._groups[counterpart]
            (agreeing if same else differing).append((self._urls[url], self._urls[counterpart]))
        pages, compared, agreed = len(members[one]), len(bases), len(agreeing)
        is_advised = _is_advised(agreed, compared)
        is_safe = is_advised and agreed == pages
        host = one.host or one.name.partition("://")[2]
        rule = None
        if one.kind == "host" and is_advised:
            rule = _www_rule(one.name, other.name)
            if {one.name.partition("://")[2], other.name.partition("://")[2]} & self._slash_matters:
                rule = None  # it would ignore slashes too
        advice = Advice(
            one.kind,
            one.name,
            other.name,
            host,
            pages,
            compared,
            agreed,
            pages - compared,
            round(confidence(agreed, compared), 4),
            is_advised,
            tuple(agreeing[:2]),
            tuple(differing[:2]),
            rule,
            self._deny(one, barred) if is_safe else None,
        )
        return advice, barred


def _is_advised(agreed: int, compared: int) -> bool:
    if compared < LEAST_COMPARED:
        return False
    return agreed == compared or confidence(agreed, compared) > LEAST_CONFIDENCE


def _without_parts(url: _Url) -> Iterator[tuple[str, str, _Url]]:
    """Yield kind and name of each part that *url* may do without, and what it is then."""
    if max(len(url.query), url.path.count("/")) > _MOST_PARTS:
        return  # of each part there would be a URL without it
    if url.query:
        names = dict.fromkeys(pair.partition("=")[0] for pair in url.query)
        for name in names:
            yield "parameter", name, _without_parameters(url, {name})
        families: dict[str, set[str]] = defaultdict(set)
        for name in names:
            families[name.partition("_")[0]].add(name)
        # Such as utm_source and utm_medium, of which none ever comes alone; and all together.
        for family in {frozenset(family) for family in (*families.values(), names)}:
            if len(family) > 1 and not any("," in name for name in family):
                yield "parameters", ",".join(sorted(family)), _without_parameters(url, family)
    if ";" in url.path:
        for name in dict.fromkeys(_PATH_PARAMETER.findall(url.path)):
            path = re.sub(rf";{re.escape(name)}(?:=[^;/]*)?(?=[;/]|$)", "", url.path)
            yield "path-parameter", name, url.with_path(path or "/")
    *folders, last = segments = url.path.split("/")
    if not last and len(folders) > 1:
        yield "slash", "/", url.with_path(url.path[:-1])
    if _INDEX.fullmatch(last):
        yield "index", last, url.with_path("/".join([*folders, ""]))
    for name in dict.fromkeys(segment for segment in segments if segment):
        kept = [segment for segment in segments if segment != name]
        yield "segment", name, url.with_path("/".join(kept) if len(kept) > 1 else "/")
    for pattern in (_EXTENSION, _LAST_WORD):
        if match := pattern.search(last):
            rest = last[: match.start()] + last[match.end() :]
            yield "suffix", match.group(), url.with_path("/".join([*folders, rest]))


def _without_parameters(url: _Url, names: Container[str]) -> _Url:
    query = tuple(pair for pair in url.query if pair.partition("=")[0] not in names)
    return _Url(url.scheme, url.host, url.path, query)


# Parts that may have one value in one URL and another in the next one.
_HAVE_VALUES = {"parameter", "parameters", "path-parameter"}

# What bars the URLs with a part, given host and name as regular expressions.
_DENY: dict[str, Callable[[str, str], str]] = {
    "parameter": lambda host, name: rf"^https?://{host}/[^#]*[?&]{name}(?:[=&#]|$)",
    "parameters": lambda host, name: rf"^https?://{host}/[^#]*[?&](?:{name})(?:[=&#]|$)",
    "path-parameter": lambda host, name: rf"^https?://{host}/[^?#]*;{name}(?:[=;/?#]|$)",
    "slash": lambda host, _: rf"^https?://{host}/[^?#]+/(?:[?#]|$)",
    "index": lambda host, name: rf"^https?://{host}/(?:[^?#]*/)?{name}(?:[?#]|$)",
    "segment": lambda host, name: rf"^https?://{host}/(?:[^?#]*/)?{name}(?:[/?#]|$)",
    "suffix": lambda host, name: rf"^https?://{host}/[^?#]*[^/?#]{name}(?:\.\w{{1,10}})*(?:[?#]|$)",
    "value": lambda host, name: rf"^https?://{host}{name}",
    "host": lambda _, name: rf"^{name}(?:[/?#]|$)",
}


def _rule(part: _Part, bases: _Bases) -> dict[str, Any] | None:
    """Return the rule for duplicate-url-discarder, ``None`` if it has none for such a part.

    It takes URLs for one that differ in the part only, and fetches the first of them it meets.
    """
    everywhere = [part.host + "/"]
    if part.kind in ("parameter", "parameters"):
        return _rule_for(everywhere, "queryRemoval", *_names(part))
    if part.kind == "version":
        before = part.name.removesuffix("{version}/")
        place = before.count("/") - 1
        folders = {
            "/".join(url.path.split("/")[: place + 2]) for urls in bases.values() for url in urls
        }
        return _rule_for(
            sorted(part.host + folder + "/" for folder in folders), "subpathRemoval", place
        )
    return _rule_for(everywhere, "normalizer") if part.kind == "slash" else None


def _names(part: _Part) -> list[str]:
    return part.name.split(",") if part.kind == "parameters" else [part.name]


def _rule_for(include: list[str], processor: str, *arguments: Any) -> dict[str, Any]:
    rule = {"order": 100, "urlPattern": {"include": include}, "processor": processor}
    return {**rule, "args": list(arguments)} if arguments else rule


def _www_rule(one: str, other: str) -> dict[str, Any] | None:
    """Return the rule for two origins that differ in www. only, ``None`` for others."""
    (scheme, _, host), (other_scheme, _, other_host) = one.partition("://"), other.partition("://")
    bare = _without_www(host)
    is_www = scheme == other_scheme and bare == _without_www(other_host)
    return (
        _rule_for([f"{name}/" for name in sorted({bare, host, other_host})], "normalizer")
        if is_www
        else None
    )


def _canonical(url: _Url, rule: Mapping[str, Any]) -> _Url:
    """Return what duplicate-url-discarder makes of *url* by *rule*."""
    arguments = rule.get("args", [])
    if rule["processor"] == "queryRemoval":
        return _without_parameters(url, arguments)
    if rule["processor"] == "subpathRemoval":
        segments = re.findall(r"/[^/]*", url.path)
        path = "".join(s for place, s in enumerate(segments) if place not in arguments)
        return url.with_path(path)
    return url._replace(host=_without_www(url.host), path=url.path.rstrip("/"))


def _without_www(host: str) -> str:
    return re.sub(r"^www\d*\.", "", host)


def _natural(name: str) -> tuple[tuple[bool, int, str], ...]:
    """Return a key by which v1.10 comes after v1.9."""
    return tuple(
        (not part.isdecimal(), int(part) if part.isdecimal() else 0, part)
        for part in re.split(r"(\d+)", name)
    )
