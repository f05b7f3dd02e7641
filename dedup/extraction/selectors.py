"""XPath selectors without regular expressions in XPath: the same elements, in the same order.

For each ``re:test`` of each element, libxml2 calls Python. But most elements have attributes that
others had before them. So a selector becomes a walk over the elements that it is about, and what it
says of the values of some attributes is remembered.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice, permutations
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from lxml.html import HtmlElement

Elements = Iterable["HtmlElement"]
Selector = Callable[["HtmlElement"], "list[HtmlElement]"]
Walk = Callable[["HtmlElement"], Elements]
Filter = Callable[[Elements], Elements]
Values = tuple[str | None, ...]
T = TypeVar("T")


class UnknownSelectorError(ValueError):
    """A selector of another form than `compiled` knows."""


def compiled(xpath: str) -> Selector:
    """Return a function that finds what *xpath* does below an element.

    It knows what trafilatura has: unions and first ones of ``.//name``, with predicates of ``or``,
    ``not``, ``self::``, ``.//name``, ``@name``, ``=``, ``contains``, ``starts-with``, ``translate``
    and ``re:test``. Raises UnknownSelectorError for anything else.

    >>> from lxml.html import fromstring
    >>> page = fromstring("<div><p id='a'>one</p><p id='b' class='note'>two</p></div>")
    >>> find = compiled(".//p[@id='c' or re:test(@class, '^(note|hint)')]")
    >>> [element.text for element in find(page)]
    ['two']
    """
    walk = _Parser(xpath).selector()
    return lambda tree: list(walk(tree))


@dataclass(frozen=True, slots=True)
class _Path:
    """The descendants with one of *tags* that all filters let through."""

    tags: tuple[str, ...]
    filters: tuple[Filter, ...] = ()

    def __call__(self, tree: "HtmlElement") -> Elements:
        elements: Elements = tree.iterdescendants(*self.tags)
        for let_through in self.filters:
            elements = let_through(elements)
        return elements


@dataclass(frozen=True, slots=True)
class _Test:
    """What a predicate asks of the attributes of an element, in their order, and of the element.

    *names*: the attributes that matter; *ordered*: those of which the first one may matter more.
    *tags*: those that it holds for, if nothing else matters. *needs_element*: more than attributes
    matters.
    """

    holds: "Callable[[Mapping[str, str], HtmlElement], bool]"
    names: frozenset[str] = frozenset()
    ordered: frozenset[str] = frozenset()
    tags: tuple[str, ...] = ()
    needs_element: bool = False


_STRING, _NAME = r"'[^']*'|\"[^\"]*\"", r"[A-Za-z_][\w-]*"
_TOKEN = re.compile(rf"{_STRING}|\.//|self::|re:test|{_NAME}|\S")


class _Parser:
    """Reads a selector from left to right."""

    def __init__(self, xpath: str) -> None:
        self._xpath = xpath
        self._tokens = _TOKEN.findall(xpath)[::-1]

    def selector(self) -> Walk:
        walk = self._union()
        if self._tokens:
            raise UnknownSelectorError(self._xpath)
        return walk

    def _skips(self, pattern: str) -> bool:
        """Return whether the next token matches *pattern*; then it is taken."""
        is_next = bool(self._tokens and re.compile(pattern).fullmatch(self._tokens[-1]))
        return is_next and bool(self._tokens.pop())

    def _take(self, *patterns: str) -> str:
        """Take tokens that match *patterns*; return the last one."""
        for pattern in patterns:
            token = self._tokens[-1] if self._tokens else ""
            if not self._skips(pattern):
                raise UnknownSelectorError(self._xpath)
        return token

    def _string(self) -> str:
        return self._take(_STRING)[1:-1]

    def _list(self, separator: str, read: Callable[[], T]) -> list[T]:
        parts = [read()]
        while self._skips(separator):
            parts.append(read())
        return parts

    def _union(self) -> Walk:
        return _union_of(self._list(r"\|", self._path))

    def _path(self) -> Walk:
        if self._skips(r"\("):
            walk = self._union()
            self._take(r"\)", r"\[", "1", r"\]")
            return lambda tree: islice(walk(tree), 1)
        tags: tuple[str, ...] = (self._take(r"\.//", rf"\*|{_NAME}"),)
        filters: list[Filter] = []
        while self._skips(r"\["):
            if self._skips("1"):
                filters.append(_first_of_each_parent)
            elif (test := self._alternatives()).tags and tags == ("*",) and not filters:
                tags = test.tags
            else:
                filters.append(_filter_of(test))
            self._take(r"\]")
        return _Path(tags, tuple(filters))

    def _alternatives(self) -> _Test:
        return _any_of(self._list("or", self._test))

    def _test(self) -> _Test:
        kind = self._take(r"@|self::|\.//|not|contains|starts-with|re:test")
        if kind == "@":
            return self._attribute(self._take(_NAME))
        if kind == "self::":
            tag = self._take(_NAME)
            return _Test(lambda _, element: element.tag == tag, tags=(tag,), needs_element=True)
        if kind == ".//":
            path = f".//{self._take(_NAME)}"
            return _Test(lambda _, element: element.find(path) is not None, needs_element=True)
        self._take(r"\(")
        test = self._negation() if kind == "not" else self._comparison(kind)
        self._take(r"\)")
        return test

    def _negation(self) -> _Test:
        test = self._alternatives()
        return replace(test, holds=lambda *what: not test.holds(*what), tags=())

    def _attribute(self, name: str) -> _Test:
        if not self._skips("="):
            return _Test(lambda attributes, _: name in attributes, frozenset([name]))
        value = self._string()
        return _Test(lambda attributes, _: attributes.get(name) == value, frozenset([name]))

    def _comparison(self, kind: str) -> _Test:
        value, names = self._value()
        self._take(",")
        pattern = self._string()
        if kind != "re:test":
            pattern = (r"\A" if kind == "starts-with" else "") + re.escape(pattern)
        search = re.compile(pattern, self._flags()).search
        ordered = names if len(names) > 1 else frozenset()
        return _Test(lambda attributes, _: search(value(attributes)) is not None, names, ordered)

    def _flags(self) -> re.RegexFlag:
        if not self._skips(","):
            return re.NOFLAG
        self._take("'i'|\"i\"")
        return re.IGNORECASE

    def _value(self) -> tuple[Callable[[Mapping[str, str]], str], frozenset[str]]:
        """Return what gives the string of the first of some attributes, and their names."""
        if self._skips("translate"):
            self._take(r"\(")
            value, names = self._value()
            before, after = (self._take(",") and self._string() for _ in range(2))
            self._take(r"\)")
            if len(before) != len(after):
                raise UnknownSelectorError(self._xpath)
            table = dict(zip(map(ord, reversed(before)), reversed(after), strict=True))
            return lambda attributes: value(attributes).translate(table), names
        names = frozenset(self._list(r"\|", lambda: self._take("@", _NAME)))
        if len(names) == 1:
            [only] = names
            return lambda attributes: attributes.get(only, ""), names
        return lambda attributes: next(
            (value for name, value in attributes.items() if name in names), ""
        ), names


def _any_of(tests: Sequence[_Test]) -> _Test:
    if len(tests) == 1:
        return tests[0]
    return _Test(
        lambda *what: any(test.holds(*what) for test in tests),
        frozenset().union(*(test.names for test in tests)),
        frozenset().union(*(test.ordered for test in tests)),
        tuple(tag for test in tests for tag in test.tags)
        if all(test.tags for test in tests)
        else (),
        any(test.needs_element for test in tests),
    )


def _union_of(walks: Sequence[Walk]) -> Walk:
    """Return what finds the elements of several walks, in the order of the document."""
    bare = [walk for walk in walks if isinstance(walk, _Path) and not walk.filters]
    if bare:  # the names alone take one walk
        tags = tuple(tag for walk in bare for tag in walk.tags)
        walks = [_Path(tags), *(walk for walk in walks if walk not in bare)]
    if len(walks) == 1:
        return walks[0]

    def walk(tree: "HtmlElement") -> Elements:
        found = [elements for one in walks if (elements := list(one(tree)))]
        if len(found) < 2:
            return chain.from_iterable(found)
        every = set(chain.from_iterable(found))
        return (element for element in tree.iterdescendants("*") if element in every)

    return walk


def _first_of_each_parent(elements: Elements) -> Elements:
    parents = set()
    for element in elements:
        if (parent := element.getparent()) not in parents:
            parents.add(parent)
            yield element


def _filter_of(test: _Test) -> Filter:
    """Return what lets the elements through that *test* holds for."""
    if not test.needs_element:
        return _Memory(test)
    return lambda elements: (one for one in elements if test.holds(dict(one.items()), one))


class _Memory:
    """Lets the elements through that a test of their attributes holds for, and remembers which."""

    most = 5_000
    longest = 500  # characters, so that pictures in style attributes take no memory

    def __init__(self, test: _Test) -> None:
        self._test = test
        self._names = sorted(test.names)
        self._known: set[Values] = set()
        # Of these: which the test holds for, and for which that depends on the order.
        self._hits: set[Values] = set()
        self._undecided: set[Values] = set()

    def __call__(self, elements: Elements) -> Elements:
        # Elements of a page have few values, mostly known: what is done for each of them is in C.
        elements = list(elements)
        columns = [[element.get(name) for element in elements] for name in self._names]
        values = list(zip(*columns, strict=True)) if columns else [()] * len(elements)
        distinct = set(values)
        hits, undecided = distinct & self._hits, distinct & self._undecided
        for one in distinct - self._known:
            answer = self._answer(one)
            if answer is not False:
                (hits if answer else undecided).add(one)
        if not (hits or undecided):
            return ()
        return (
            element
            for element, one in zip(elements, values, strict=True)
            if one in hits
            or (one in undecided and self._test.holds(dict(element.items()), element))
        )

    def _answer(self, values: Values) -> bool | None:
        """Return whether elements with *values* go through; ``None`` if their order decides."""
        pairs = zip(self._names, values, strict=True)
        present = {name: value for name, value in pairs if value is not None}
        ordered = [name for name in present if name in self._test.ordered]
        orders = (dict.fromkeys(first, "") | present for first in permutations(ordered))
        answers = {self._test.holds(attributes, None) for attributes in orders}
        answer = answers.pop() if len(answers) == 1 else None
        if sum(map(len, present.values())) <= self.longest:
            if len(self._known) >= self.most:
                for remembered in (self._known, self._hits, self._undecided):
                    remembered.clear()
            self._known.add(values)
            if answer is not False:
                (self._hits if answer else self._undecided).add(values)
        return answer
