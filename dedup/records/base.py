"""The interface of a record format, and the records it yields."""

import json
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from hashlib import blake2b
from pathlib import Path
from types import MappingProxyType
from typing import Any, BinaryIO, ClassVar, NamedTuple, TypeVar

from dedup.atomic_file import replacing

T = TypeVar("T")


class RecordError(ValueError):
    """A record is malformed, or its file cannot be read beyond it."""


@dataclass(frozen=True, slots=True)
class Fields:
    """The fields or columns that hold the parts of a record.

    *content* names the field of the text, of the HTML if *is_html*, or of what a crawl has written
    there in place of it, an object, if *is_object*. If *key* is ``None``, the field "url" is the
    key where it exists, if it is "", there is none; so "canonical" is what the page names as its
    canonical URL. *with_all*: what all fields hold is wanted, too.
    """

    content: str = "text"
    is_html: bool = False
    key: str | None = None
    date: str | None = None
    is_object: bool = False
    with_all: bool = False
    canonical: str | None = None


DEFAULT_KEY = "url"
DEFAULT_CANONICAL = "canonical"


class RawRecord(NamedTuple):
    """A record as it stands in its file, before it is parsed.

    *source* and *number* (1, 2, ... in each file) say where it is, *place* for messages. *size* is
    its length in bytes or characters. *data* is the argument of `Format.parse`; it counts only if
    there is no *error*. *line* is what is written back, where that is something else.
    """

    source: str
    number: int
    size: int
    data: Any
    error: str | None = None
    line: bytes = b""

    @property
    def place(self) -> str:
        return f"{self.source}, record {self.number}"


Piece = tuple[Any, ...]
"""What a `RawRecord` has besides its source and number."""


class Record(NamedTuple):
    """A parsed record; ``None`` stands for a missing or empty field.

    *content* is a text, or an object where `Fields` say so, *date* in seconds since 1970; *fields*
    are what all fields hold, if that is wanted.
    """

    content: Any
    is_html: bool = False
    key: str | None = None
    date: float | None = None
    fields: Mapping[str, Any] = MappingProxyType({})
    canonical: str | None = None


class Format(ABC):
    """Files of one format, which together form one collection of records.

    They are read twice: once to judge the records, and once to write the unique ones. An instance
    can be sent to other processes, which then call `parse`; for that alone, it needs no files.
    """

    name: ClassVar[str]

    suffixes: ClassVar[tuple[str, ...]] = ()
    """The ends of such file names, in lower case and without the suffix of a compression."""

    compressions: ClassVar[tuple[str, ...]] = ()
    """The suffixes of the compressions that such files may have."""

    follows_links: ClassVar[bool] = True
    """Whether a file may be a link to it."""

    # Of the pass that is under way: the bytes of the files before, and the file that is open.
    _bytes_before = 0
    _descriptor = -1

    def __init__(self, paths: Sequence[Path], fields: Fields) -> None:
        """Prepare to read *paths*; raises RecordError if that is sure to fail."""
        self.paths = paths
        self.fields = fields
        self._states = self._states_now()

    @property
    def _files(self) -> Sequence[Path]:
        """The files that are read: what was named, or what is in that."""
        return self.paths

    def raw_records(self) -> Iterator[RawRecord]:
        """Yield the records, in the same order each time; raises OSError."""
        for path, file in self._open_files():
            source, number = str(path), 0
            try:
                for number, piece in enumerate(self._read(path, file), 1):
                    yield RawRecord(source, number, *piece)
            except RecordError as error:
                problem = f"{error}; nothing after it is read"
                yield RawRecord(source, number + 1, 0, None, problem)

    def read_each(self, read: Callable[[RawRecord], T]) -> Iterator[T | RecordError]:
        """Yield what *read* makes of each record, or why it is bad, with its place.

        A record is bad, too, if *read* raises ValueError.
        """
        for raw in self.raw_records():
            try:
                if raw.error is not None:
                    raise RecordError(raw.error)
                yield read(raw)
            except ValueError as error:
                yield RecordError(f"{raw.place}: {error}")

    def _open_files(self) -> Iterator[tuple[Path, BinaryIO]]:
        self._bytes_before = 0
        for path, (size, _) in zip(self._files, self._states, strict=True):
            with open(path, "rb") as file:
                self._descriptor = file.fileno()
                yield path, file
                self._descriptor = -1
            self._bytes_before += size

    @abstractmethod
    def _read(self, path: Path, file: BinaryIO) -> Iterator[Piece]:
        """Yield the records of *file*; raises RecordError for one after which nothing is read."""

    @abstractmethod
    def parse(self, data: Any) -> Record:
        """Return the record that `RawRecord.data` holds; raises RecordError if it is malformed."""

    @contextmanager
    def writing(self, path: Path, keep: Sequence[int]) -> Iterator[int]:
        """Write the records whose element of *keep* is not zero, unchanged and in order.

        Yield how many bytes that are; they are put at *path*, where there is nothing, when the
        block ends without an error.
        """
        with replacing(path, is_new=True) as file:
            self._write(file, path, keep)
            yield file.tell()

    @abstractmethod
    def _write(self, file: BinaryIO, path: Path, keep: Sequence[int]) -> None:
        """Write what is kept to *file*, which will be at *path*: its suffix says in what form."""

    def check_output(self, path: Path) -> None:
        """Raise RecordError if `write` cannot write to *path*."""
        ends = [end + suffix for suffix in ("", *self.compressions) for end in self.suffixes]
        if ends and not path.name.lower().endswith(tuple(ends)):
            raise RecordError(
                f"{path} must end in one of {', '.join(ends)}: the output has the format of the "
                f"input, {self.name}"
            )

    @property
    def has_html(self) -> bool:
        """Whether any record may be HTML."""
        return self.fields.is_html

    @property
    def nbytes(self) -> int:
        """The total size of the files, in bytes."""
        return sum(size for size, _ in self._states)

    @property
    def bytes_read(self) -> int:
        """How much of the files the pass that is under way has read."""
        with suppress(OSError):  # there is no file open at this moment
            return self._bytes_before + os.lseek(self._descriptor, 0, os.SEEK_CUR)
        return self._bytes_before

    @property
    def state(self) -> str:
        """A digest of the path, size and last change of each file, in their order."""
        digest = blake2b(digest_size=16)
        for path, state in zip(self._files, self._states, strict=True):
            digest.update(f"{path.resolve()}\0{state}\0".encode("utf-8", "surrogateescape"))
        return digest.hexdigest()

    def check_unchanged(self) -> None:
        """Raise RecordError if a file has changed since this object was made."""
        for path, *states in zip(self._files, self._states, self._states_now(), strict=True):
            if states[0] != states[1]:
                raise RecordError(f"{path} has changed while it was read; scan it again")

    def _states_now(self) -> list[tuple[int, int]]:
        states = (os.stat(path, follow_symlinks=self.follows_links) for path in self._files)
        return [(state.st_size, state.st_mtime_ns) for state in states]


def check_column(name: str, columns: Sequence[str], source: object) -> None:
    """Raise RecordError unless one of the *columns* of *source* has the *name*."""
    if (count := columns.count(name)) != 1:
        raise RecordError(
            f"{source} has {count or 'no'} columns named {name!r}; it has {', '.join(columns):.200}"
        )


def columns_of(fields: Fields, names: Sequence[str], source: object) -> list[str]:
    """Return those of *names* that are read: columns of content, key, date and canonical URL.

    These are all where *fields* say so. Raises RecordError unless *source* has one column of each
    name in *fields*, or that is read.
    """
    named = filter(None, (fields.content, fields.key, fields.date, fields.canonical))
    defaults = {DEFAULT_KEY: fields.key, DEFAULT_CANONICAL: fields.canonical}
    # Several only have this name.
    by_default = [name for name, own in defaults.items() if own is None and names.count(name) == 1]
    columns = list(dict.fromkeys([*named, *by_default, *(names if fields.with_all else ())]))
    for name in columns:
        check_column(name, names, source)
    return columns


def decode_html(body: bytes, content_type: str | None = None) -> str:
    """Decode HTML as a browser does.

    The byte order mark decides, then the header, then the page's own declaration, then a guess.
    Never fails: invalid bytes become U+FFFD, and a declared codec that is not for text is ignored.
    """
    from w3lib.encoding import html_to_unicode

    def guess(data: bytes) -> str:
        try:
            data.decode()
        except UnicodeDecodeError:
            return "cp1252"
        return "utf-8"

    try:
        return html_to_unicode(content_type, body, auto_detect_fun=guess)[1]
    except (LookupError, UnicodeError):  # such as hex, which Python has, too
        return body.decode("utf-8", "replace")


def _text_of(value: Any, field: str) -> str | None:
    if value is None or isinstance(value, str):
        return value
    raise RecordError(f"the field {field!r} must be a string, got {type(value).__name__}")


def record_of(values: Mapping[str, Any], fields: Fields) -> Record:
    """Return the record that *values* are, by the names of their fields.

    A number as key becomes its string, and bytes of HTML are decoded. Raises RecordError if one
    that *fields* name is malformed.
    """
    content = values.get(fields.content)
    if fields.is_html and isinstance(content, bytes | bytearray):
        content = decode_html(bytes(content))
    canonical = values.get(DEFAULT_CANONICAL if fields.canonical is None else fields.canonical)
    if fields.canonical:
        canonical = _text_of(canonical, fields.canonical)
    elif not isinstance(canonical, str):  # a field that only has this name
        canonical = None
    key = values.get(DEFAULT_KEY if fields.key is None else fields.key)
    key = None if key is None or key == "" else str(key)
    seconds = timestamp(values.get(fields.date), fields.date) if fields.date else None
    all_fields = values if fields.with_all else MappingProxyType({})
    if fields.is_object:
        content = _object_of(content, fields.content)
    else:
        content = _text_of(content, fields.content)
    return Record(content, fields.is_html, key, seconds, all_fields, canonical)


def _object_of(value: Any, field: str) -> dict[str, Any] | None:
    """Return the object that *value* is, or is in JSON; ``None`` if it is ``None`` or empty."""
    if isinstance(value, str) and value:
        try:
            value = json.loads(value)
        except (ValueError, RecursionError) as error:
            raise RecordError(f"the field {field!r} must be an object in JSON") from error
    if value is None or value == "" or isinstance(value, dict):
        return value or None
    raise RecordError(f"the field {field!r} must be an object, got {type(value).__name__}")


def timestamp(value: Any, field: str) -> float | None:
    """Return a date in seconds since 1970; ``None`` for an empty value.

    *value* is a number of such seconds, or a date as ISO 8601 or an HTTP header writes it. A date
    without a time zone is in UTC. Raises RecordError for anything else.

    >>> timestamp("2024-05-01", "date"), timestamp("Wed, 01 May 2024 00:00:00 GMT", "date")
    (1714521600.0, 1714521600.0)
    """
    if value is None or value == "":
        return None
    text = str(value).strip()  # also of columns of dates and times
    try:
        if any(sign in text[1:] for sign in "-:T"):
            moment = _date_in(text)
        else:
            moment = datetime.fromtimestamp(float(text), UTC)  # refuses such as milliseconds
    except (ValueError, TypeError, OverflowError, OSError) as error:
        raise RecordError(
            f"the field {field!r} must be an ISO 8601 date, an HTTP date or seconds since 1970, "
            f"got {value!r:.60}"
        ) from error
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _date_in(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return parsedate_to_datetime(text)
