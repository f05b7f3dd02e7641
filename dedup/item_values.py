"""What an item says: its single values under their names, but for what is no content.

An item is dropped only if a stored item of a page that its own repeats says all of it.
"""

import re
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from datetime import time as time_of_day
from enum import Enum
from functools import cached_property, partial
from hashlib import blake2b, md5, sha1, sha256
from itertools import chain
from numbers import Number
from pathlib import PurePath
from typing import Any, NamedTuple
from uuid import UUID

import regex

from dedup.evidence import Evidence, digest_of_title, split_title
from dedup.limits import shorten, split_url
from dedup.record import MARK, MOST_VALUES, SIZE_OF_VALUE, values_in

LONG_TEXT = 300
"""A longer text may be the main text of the page: characters."""
ALL_FIELDS = "*"
"""Among the names of ignored fields: no field says anything."""
_DEEPEST, _MOST_VISITS = 20, 100_000
_MOST_SEARCHED = 1 << 30  # characters: in about a second
_SINGLE = str, bytes, bytearray, Number, date, time_of_day, timedelta, UUID, PurePath, Enum


class UnreadableItemError(Exception):
    """The value of a field cannot be read or compared; the message names the field."""


def _no_item(value: Any) -> Mapping[str, Any]:
    raise TypeError(f"{type(value).__name__} is no mapping")


class Value(NamedTuple):
    """A single value: the *path* that leads to it, and the *field*, which is that without places.

    >>> [tuple(value) for value in values_of({"offers": [{"price": 5}, {"price": 6}]})]
    [('offers.0.price', 'offers.price', 5), ('offers.1.price', 'offers.price', 6)]
    """

    path: str
    field: str
    content: Any


def values_of(
    item: Any,
    adapter: Callable[[Any], Mapping[str, Any]] = _no_item,
    ignored: Collection[str] = (),
) -> list[Value]:
    """Return the single values of *item*, a mapping or what *adapter* makes one of.

    But for the fields *ignored*, by their names without places.

    ``None``, empty strings and empty containers say nothing. What is in lists and tuples counts by
    place, what is in sets does not. Raises UnreadableItemError.
    """
    found: list[Value] = []
    # Each with the way to it, and how deep it lies.
    left: list[tuple[Any, str, str, int]] = [(item, "", "", 0)]
    visits = 0
    while left:
        value, path, field, depth = left.pop()
        visits += 1
        if value is None or (field in ignored and field):
            continue
        if hasattr(type(value), "unicode_string"):  # a URL of pydantic
            value = str(value)
        if isinstance(value, _SINGLE):
            found.append(Value(path, field, value))
            continue
        try:
            if depth > _DEEPEST or visits > _MOST_VISITS:
                raise ValueError("too deep, or too many")
            members = list(_members(value, adapter))[::-1]
        except Exception as error:  # of the item's own code, too
            raise UnreadableItemError(field) from error
        for name, place, member in members:
            within = f"{field}.{name}" if field and name else field or name
            left.append((member, ".".join(filter(None, (path, name, place))), within, depth + 1))
    return found


def has_long_text(values: Iterable[Value]) -> bool:
    """Return whether one of *values* may be the main text of its page."""
    return any(isinstance(v.content, str) and len(v.content) > LONG_TEXT for v in values)


def _is_flat(values: Iterable[Any]) -> bool:
    return all(value is None or isinstance(value, _SINGLE) for value in values)


def _members(
    value: Any, adapter: Callable[[Any], Mapping[str, Any]]
) -> Iterable[tuple[str, str, Any]]:
    """Return what *value* is made of: each with its name, or its place where the order counts.

    Raises TypeError if nobody knows.
    """
    if isinstance(value, list | tuple | deque | set | frozenset):
        if isinstance(value, set | frozenset):
            if _is_flat(value):
                return [("", "", member) for member in value]
            if not all(isinstance(member, tuple) and _is_flat(member) for member in value):
                raise TypeError("the order of a set is another one in each process")
            value = sorted(value, key=repr)
        # Blanks stand between tags: another menu would give all that follows other places.
        shown = (member for member in value if not (isinstance(member, str) and member.isspace()))
        return [("", str(place), member) for place, member in enumerate(shown)]
    fields = value if isinstance(value, Mapping) else adapter(value)
    # Of a pydantic model that allows others than its own, itemadapter leaves these out.
    extra = getattr(value, "__pydantic_extra__", None) or {}
    return [(str(name), "", member) for name, member in (*fields.items(), *extra.items())]


@dataclass(frozen=True)
class ItemValues:
    """What an item says: a field and its content as text, by the 8 bytes that stand for each value.

    *wholes*: what stands for main texts as they were, which count where the same page is met again.
    """

    contents: Mapping[bytes, tuple[str, str]]
    wholes: frozenset[bytes] = frozenset()

    @cached_property
    def keys(self) -> frozenset[bytes]:
        """What stands for the values; for more than `MOST_VALUES`, one for all of them."""
        if len(self.contents) <= MOST_VALUES:
            return frozenset(self.contents)
        return frozenset([_key("", b"".join(sorted(self.contents)).hex())])

    def to_bytes(self) -> bytes:
        """Return what is stored of it: 8 bytes a value or mark, sorted."""
        wholes = sorted(self.wholes)[:MOST_VALUES]
        return b"".join(sorted({*self.keys, *wholes}))

    def beyond(self, stored: Iterable[bytes]) -> dict[str, str]:
        """Return what that one of the *stored* items which says most of it does not say.

        A value by the name of each field, up to 60 characters of it.
        """
        known = max(map(values_in, stored), key=lambda keys: len(keys & self.keys), default=())
        return {
            name: shorten(text, 60)
            for key, (name, text) in self.contents.items()
            if key not in known
        }


_MAIN_TEXT = "\0main text"
"""What stands for the main text of the item's page, in place of its words."""
_NUMBER = "\0number"
"""What stands for the path that leads to a number of a main text."""
NUMBERS_OF = "numbers of "
"""With it begins what stands for the field of that, before the name of the one with the text."""
NOTHING = ItemValues({})
"""What an item says where the page alone decides."""


def _key(path: str, text: str, *, is_mark: bool = False) -> bytes:
    """Return what stands for a value, or a mark, in 8 bytes: `values_in` tells them apart."""
    data = f"{path}\0{text}".encode("utf-8", "surrogatepass")
    first, *others = blake2b(data, digest_size=SIZE_OF_VALUE).digest()
    return bytes([first | MARK if is_mark else first & ~MARK, *others])


def what_numbers_say(field: str, numbers: Iterable[str]) -> ItemValues:
    """Return what the *numbers* of the main text say, which the *field* of an item has."""
    name = f"{NUMBERS_OF}{field}"
    return ItemValues({_key(_NUMBER, number): (name, number) for number in numbers})


class PageOfItem:
    """The page that an item is made of, as far as it tells which values are no content.

    *urls*: under which it was asked for and found. *moments*: Unix times of its fetch and of the
    start of the crawl. *numbers* are those of its main text, and *text_field* the field that will
    have that, if any. *main_text* is to be there only for what `has_long_text`.
    """

    def __init__(
        self,
        urls: Collection[str] = (),
        moments: Collection[float] = (),
        html: str = "",
        evidence: Evidence | None = None,
        numbers: Iterable[str] = (),
        text_field: str | None = None,
        main_text: str | None = None,
    ) -> None:
        self._urls = urls
        self._moments = moments
        self._html = html
        self._evidence = evidence
        self._numbers = numbers
        self._text_field = text_field
        self.main_text = main_text

    @cached_property
    def _hosts(self) -> set[str]:
        return {host for url in self._urls if (host := split_url(url).netloc)}

    def what_says(self, values: Iterable[Value]) -> ItemValues:
        """Return what *values* of an item say.

        Not counted are: the URLs of the page and their usual hashes, the host in others of its own
        host, and in its title the version that they name; times within three minutes of its fetch
        or of the start; the main text, but its numbers, that there is one, and what its value has
        besides it. Raises UnreadableItemError.
        """
        contents: dict[bytes, tuple[str, str]] = {}
        wholes = set()
        text_field = self._text_field
        for path, name, content in values:
            try:
                whole = text = self._content_of(content)
                is_long = isinstance(content, str) and len(whole) > LONG_TEXT
                if is_long and len(self.main_text or "") > LONG_TEXT:
                    text = self._beside_main_text(whole)
            except Exception as error:  # of the value's own code
                raise UnreadableItemError(name) from error
            if text != whole:
                wholes.add(_key(path, whole, is_mark=True))
                contents[_key(path, _MAIN_TEXT)] = name, whole
                text_field = text_field or name
            if text:
                contents[_key(path, text)] = name, text
        if text_field:
            contents |= what_numbers_say(text_field, self._numbers).contents
        return ItemValues(contents, frozenset(wholes))

    def _content_of(self, value: Any) -> str:
        """Return *value* as text with single blanks, empty if it is no content."""
        if isinstance(value, Enum):
            value = value.value
        if isinstance(value, str):
            return self._content_of_text(" ".join(value.split()))
        if isinstance(value, datetime | int | float) and self._is_of_fetch(value):
            return ""
        if isinstance(value, bytes | bytearray):
            return blake2b(value, digest_size=16).hexdigest() if value else ""
        return value.isoformat() if isinstance(value, date) else str(value)

    def _content_of_text(self, text: str) -> str:
        if _URL.match(text):
            if text in self._urls:
                return ""
            url, *fragment = text.partition("#")
            if url in self._urls:  # a permalink: its fragment names a part of the page
                return "".join(fragment)
            host = split_url(text).netloc
            return text.partition(f"//{host}")[2] or "/" if host in self._hosts else text
        if _TIME.match(text) and self._is_of_fetch(text):
            return ""
        make = _HASHES.get(len(text))
        if make and any(make(url.encode()).hexdigest() == text.lower() for url in self._urls):
            return ""
        if self._versions and self._is_title(text):
            name, site = split_title(text)
            words = [word for word in site.split() if _version(word) not in self._versions]
            return " ".join([name, *words])
        return text

    def _is_title(self, text: str) -> bool:
        title = self._evidence.title if self._evidence else b""
        return bool(title) and len(text) <= LONG_TEXT and digest_of_title(text) == title

    @cached_property
    def _versions(self) -> set[str]:
        folders = (folder for url in self._urls for folder in split_url(url).path.split("/"))
        # Without a v, it may be a date, a size or a section, and tell a page from others of a name.
        return {_version(folder) for folder in folders if _VERSION.fullmatch(folder)}

    def _is_of_fetch(self, value: datetime | float | str) -> bool:
        try:
            value = datetime.fromisoformat(value) if isinstance(value, str) else value
            if not isinstance(value, datetime):
                times = [value, value / 1000]
            elif value.tzinfo:
                times = [value.timestamp()]
            else:  # nobody knows whether it is local or UTC
                times = [value.timestamp(), value.replace(tzinfo=UTC).timestamp()]
        except (ArithmeticError, OSError, ValueError):  # none, or one such as the year 1
            return False
        return any(abs(at - moment) <= 180 for at in times for moment in self._moments)

    def _beside_main_text(self, text: str) -> str:
        """Return what of a long *text* is not the main text; all of it, if it is another one.

        Those parts, in order and as they are, that have a word which neither the main text has nor
        a menu of the page that *text* has, too. Of HTML, attributes and scripts are parts, too,
        each with the next word of the main text: which of several is chosen may be all it says.
        """
        if text[0] + text[-1] in ("[]", "{}"):  # JSON
            return text
        is_html = "</" in text
        parts = _parts_of(text) if is_html else text.split()
        words = _words(" ".join(parts))
        if 2 * len(words & self._main_words) < len(self._main_words):
            return text
        others = words - self._main_words
        menus = self._menus_within("".join(parts)) if others else []
        glued = {word for word in _words("".join(menus)) if not word.isnumeric()}
        others -= _words(" ".join(menus)) | glued
        # In Chinese, words are not separated: a piece of text may begin and end elsewhere.
        pieces = {word for word in others if _UNSEPARATED.search(word)}
        shown = _squeeze("".join([self.main_text or "", *menus]))
        if len(pieces) * len(shown) < _MOST_SEARCHED:  # else all of them count
            others -= {one for one in pieces if one in shown}
        told: list[str] = []
        is_before_main = False
        for part in parts:
            if not others.isdisjoint(_words(part)):
                told.append(part)
                is_before_main = is_html
            elif is_before_main and (found := _words(part) & self._main_words):
                told.append(next(word for word in _WORD.findall(part) if word.casefold() in found))
                is_before_main = False
        return " ".join(told)

    @cached_property
    def _main_words(self) -> set[str]:
        return _words(self.main_text or "")

    def _menus_within(self, text: str) -> list[str]:
        """Return the pieces of the menus of the page of which *text* has every piece.

        A word of another menu may be what the text is about: of all towns there, the one here.
        """
        squeezed, left = _squeeze(text), _MOST_SEARCHED
        found: list[str] = []
        for menu in self._menus:
            left -= len(menu) * len(squeezed)
            if left > 0 and all(_squeeze(piece) in squeezed for piece in menu):
                found += menu
        return found

    @cached_property
    def _menus(self) -> list[list[str]]:
        found = _texts_of_menus(self._html)
        # One that has the main text is a tag that nobody has closed.
        words = _words(" ".join(chain.from_iterable(found)))
        return found if 2 * len(words & self._main_words) < len(self._main_words) else []


# In re, the vowel signs of Hindi and the like would end a word.
_WORD = regex.compile(r"\w+")
_VERSION = re.compile(r"v\d+(?:\.\w+)+", re.IGNORECASE)
# Of scripts that do not separate words.
_UNSEPARATED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)
_URL = re.compile(r"\A(?:(?:[a-z][a-z0-9+.-]*+:)?+//\S++|/[^\s/]\S*+|data:\S++)\Z", re.IGNORECASE)
_TIME = re.compile(r"\A(?=.{16,40}\Z)\d{4}-\d\d-\d\d[T ]\d\d:\d\d")
_HASHES: dict[int, Callable[[bytes], Any]] = {
    32: partial(md5, usedforsecurity=False),
    40: partial(sha1, usedforsecurity=False),
    64: sha256,
}


# With the headers and footers that are not those of an article.
_MENUS = (
    "//nav | //*[@role='navigation'] | //*[self::header or self::footer or @role='banner' "
    "or @role='contentinfo'][not(ancestor::main or ancestor::article or .//h1)]"
)


def _texts_of_menus(html: str) -> list[list[str]]:
    """Return the pieces of text in each menu of *html*, each once, also those within a word.

    What stands in scripts only is not shown: it may be the data of the page, or of another one.
    """
    from lxml import etree  # which commands do without

    root = _root_of(html)
    hidden = etree.Comment, "script", "style", "noscript", "template"
    etree.strip_elements(root, *hidden, with_tail=False)
    texts: list[list[str]] = []
    for menu in reversed(root.xpath(_MENUS)):  # those within others first
        texts.append([*menu.itertext()])
        menu.clear(keep_tail=True)
    return texts


def _parts_of(html: str) -> list[str]:
    """Return the pieces of text in *html* and the values of attributes, in order.

    Of an attribute without a value, such as "checked", the name.
    """
    from lxml import etree  # which commands do without

    parts = []
    # A union in XPath takes time by the square of the attributes.
    for event, node in etree.iterwalk(_root_of(html), ("start", "end", "comment", "pi")):
        if event == "start":
            parts += [value or name for name, value in node.items()]
            parts.append(node.text)
        else:
            parts.append(node.tail)
    return [part for part in parts if part]


def _root_of(html: str) -> Any:
    from parsel import Selector  # which commands do without

    # Neither taken for JSON, nor refused for half a character.
    return Selector(html.encode("utf-8", "replace").decode(), type="html").root


def _version(word: str) -> str:
    return word.casefold().removeprefix("v")


def _squeeze(text: str) -> str:
    return "".join(text.casefold().split())


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold()))
