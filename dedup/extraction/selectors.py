"""XPath selectors that remember what their predicates say of attributes.

For each ``re:test`` of each element, libxml2 calls Python. But most elements have attributes that
others had before them. So a selector becomes a walk over the elements that it is about, and XPath
is asked once for each combination of a tag and the values of the attributes in a predicate.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from lxml.etree import XPath
    from lxml.html import HtmlElement

Elements = Iterable["HtmlElement"]
Selector = Callable[["HtmlElement"], "list[HtmlElement]"]
Filter = Callable[[Elements], Elements]
Values = tuple[str | None, ...]

# Of a selector whose strings are "$s".
_PREDICATE = re.compile(r"\[([^\[\]]*)\]\s*")
_PATH = re.compile(
    rf"(?P<first>\(\s*)?\.//(?P<name>\*|\w+)\s*(?P<predicates>(?:{_PREDICATE.pattern})*)"
    r"(?(first)\)\s*\[1\]\s*)(?:\|\s*|\Z)"
)
_STRING = re.compile(r"'[^']*'|\"[^\"]*\"")
_PLACE_OF_STRING = re.compile(r"\$s")
_TAGS = re.compile(r"\A\s*self::\w+(?:\s+or\s+self::\w+)*\s*\Z")
_TAG = re.compile(r"self::(\w+)")
_ATTRIBUTE = re.compile(r"@([\w-]+)")
# What a predicate may say: of the tag and the attributes of an element, and of what is below it.
_KNOWN = re.compile(
    r"(?:@[\w-]+|self::\w+|\.//\w+|\b(?:or|and|not|contains|starts-with|translate|re:test)\b"
    r"|\$s|[\s=,|()])*"
)


class UnknownSelectorError(ValueError):
    """A selector of another form than `compiled` knows."""


def compiled(xpath: str) -> Selector:
    """Return a function that finds what *xpath* does below an element, in the same order.

    It knows ``.//name`` with predicates on tags, attributes and descendants, the first one of all
    or of each parent, and unions of these. Raises UnknownSelectorError for anything else.

    >>> from lxml.html import fromstring
    >>> page = fromstring("<div><p id='a'>one</p><p id='b' class='note'>two</p></div>")
    >>> find = compiled(".//p[@id='c' or re:test(@class, '^(note|hint)')]")
    >>> [element.text for element in find(page)]
    ['two']
    """
    form, strings = _STRING.sub("$s", xpath).strip(), iter(_STRING.findall(xpath))
    walks, place = [], 0
    while path := _PATH.match(form, place):
        walks.append(_walk(path, strings))
        place = path.end()
    if place < len(form) or not walks or form.endswith("|"):
        raise UnknownSelectorError(xpath)
    bare = [walk for walk in walks if not walk.filters and walk.most is None]
    tags = tuple(tag for walk in bare for tag in walk.tags)  # of names alone, one walk finds all
    walks = [_Walk(tags), *(walk for walk in walks if walk not in bare)] if bare else walks
    return partial(_select, walks)


def _select(walks: "list[_Walk]", tree: "HtmlElement") -> "list[HtmlElement]":
    found = [elements for walk in walks if (elements := walk(tree))]
    if len(found) < 2:
        return found[0] if found else []
    every = set(chain.from_iterable(found))
    return [element for element in tree.iterdescendants("*") if element in every]


class _Walk(NamedTuple):
    """The descendants with one of *tags* that all *filters* let through, or the first *most*."""

    tags: tuple[str, ...]
    filters: tuple[Filter, ...] = ()
    most: int | None = None

    def __call__(self, tree: "HtmlElement") -> "list[HtmlElement]":
        elements: Elements = tree.iterdescendants(*self.tags)
        for let_through in self.filters:
            elements = let_through(elements)
        return list(islice(elements, self.most))


def _walk(path: re.Match[str], strings: Iterator[str]) -> _Walk:
    tags: tuple[str, ...] = (path["name"],)
    filters: list[Filter] = []
    for form in _PREDICATE.findall(path["predicates"]):
        if form.strip() == "1":
            filters.append(_first_of_each_parent)
        elif _TAGS.match(form) and tags == ("*",) and not filters:
            tags = tuple(_TAG.findall(form))
        else:
            filters.append(_filter_of(form, strings))
    return _Walk(tags, tuple(filters), 1 if path["first"] else None)


def _first_of_each_parent(elements: Elements) -> Elements:
    parents = set()
    for element in elements:
        if (parent := element.getparent()) not in parents:
            parents.add(parent)
            yield element


def _filter_of(form: str, strings: Iterator[str]) -> Filter:
    """Return what lets the elements through that a predicate holds for."""
    from lxml.etree import XPath, XPathError

    predicate = _PLACE_OF_STRING.sub(lambda _: next(strings), form)
    if not _KNOWN.fullmatch(form):
        raise UnknownSelectorError(predicate)
    try:
        holds = XPath(
            f"boolean(self::*[{predicate}])",
            namespaces={"re": "http://exslt.org/regular-expressions"},
        )
    except XPathError as error:
        raise UnknownSelectorError(predicate) from error
    return partial(filter, holds) if ".//" in form else _Memory(holds, form)


class _Memory:
    """Lets the elements through that a predicate holds for, and remembers for which values."""

    most = 5_000
    longest = 500  # characters, so that pictures in style attributes take no memory

    def __init__(self, holds: "XPath", form: str) -> None:
        self._holds = holds
        self._names = sorted(set(_ATTRIBUTE.findall(form)))
        # Of `@id|@class`, the attribute that an element has first counts.
        self._has_union = "|" in form
        self._has_tags = "self::" in form or not self._names
        self._answers: dict[Values, bool] = {}

    def __call__(self, elements: Elements) -> Elements:
        # Elements of a page have few values, mostly known: what is done for each of them is in C.
        elements = list(elements)
        columns = [[element.get(name) for element in elements] for name in self._names]
        if self._has_tags:
            columns.append([element.tag for element in elements])
        values: list[Values] = list(zip(*columns, strict=True))
        examples = dict(zip(values, elements, strict=True))
        if self._has_union and any(len(one) - one.count(None) > 1 for one in examples):
            values = [
                (*one, *element.keys()) if len(one) - one.count(None) > 1 else one
                for one, element in zip(values, elements, strict=True)
            ]
            examples = dict(zip(values, elements, strict=True))
        hits = {one for one, element in examples.items() if self._answer(one, element)}
        if not hits:
            return ()
        return (element for element, one in zip(elements, values, strict=True) if one in hits)

    def _answer(self, values: Values, element: "HtmlElement") -> bool:
        answer = self._answers.get(values)
        if answer is None:
            answer = self._holds(element)
            if sum(map(len, filter(None, values))) <= self.longest:
                if len(self._answers) >= self.most:
                    self._answers.clear()
                self._answers[values] = answer
        return answer
