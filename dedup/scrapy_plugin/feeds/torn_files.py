"""Feed files that items are appended to: whether they are torn, and how to mend them.

A crawl that was killed leaves half of an item at the end of its feed. In files of lines or records,
adding an end mends that. In all others nobody could read what is appended, so they are refused.
"""

import codecs
import csv
import io
import lzma
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, BinaryIO, NamedTuple

from scrapy import exporters
from scrapy.extensions.feedexport import FeedSlot, FileFeedStorage
from scrapy.utils.misc import load_object

from dedup.scrapy_plugin.feeds.whole_files import (
    BLOCK,
    CHECKS,
    CHECKS_OF_PLUGINS,
    LARGEST_ITEM,
    text_of,
)

_PLAIN_ENCODINGS = ("utf-8", "ascii", "iso8859-1")
_DOCUMENTS = (exporters.JsonItemExporter, exporters.XmlItemExporter)
_MENDABLE = (
    exporters.CsvItemExporter,
    exporters.JsonLinesItemExporter,
    exporters.PprintItemExporter,
)


class TornFeedError(Exception):
    """A feed is torn, and nobody could read what is appended to it."""


def is_appended_to(slot: FeedSlot) -> bool:
    """Return whether the next item of *slot* opens a file with content, to append to it."""
    storage = slot.storage
    return (
        slot.file is None
        and type(storage) is FileFeedStorage
        and storage.write_mode == "ab"
        and os.path.isfile(storage.path)
        and os.path.getsize(storage.path) > 0
    )


def mend(slot: FeedSlot, beginning: Callable[[], bytes]) -> None:
    """Mend the file of *slot*, which `is_appended_to`, if it is torn and its format allows that.

    *beginning* returns what would be written first to an empty file.

    Raises TornFeedError if it must be cut and may only be appended to, and OSError.
    """
    exporter = slot.exporters[slot.format]
    path = slot.storage.path  # type: ignore[attr-defined]  # it is_appended_to
    if not (_is_mendable(slot) and os.access(path, os.R_OK)):
        return
    with open(path, "rb") as file:
        if issubclass(exporter, exporters.CsvItemExporter):
            missing = _missing_in_csv(file, slot.feed_options, beginning)
        elif issubclass(exporter, exporters.JsonLinesItemExporter):
            missing = _missing_in_lines(file, slot.feed_options["encoding"])
        else:
            missing = _missing_in_lines(file, "utf-8")
        size = file.seek(0, os.SEEK_END)
    with open(path, "ab", buffering=0) as end:
        if missing.cut:
            try:
                end.truncate(size - missing.cut)
            except PermissionError as error:
                if missing.must_cut:
                    raise TornFeedError(f"{path} is torn, and can only be appended to") from error
        if missing.added:
            end.write(missing.added)


def check(slot: FeedSlot) -> bool:
    """Return whether readers of the file of *slot* are sure to find what is appended to it.

    Only for files that `is_appended_to` is true of. Raises TornFeedError if they will not find it,
    OSError if the file cannot be read.
    """
    path = slot.storage.path  # type: ignore[attr-defined]  # it is_appended_to
    if not os.access(path, os.R_OK):
        return False
    if _is_mendable(slot):
        return True
    whole = is_whole(slot)
    if whole is False:
        raise TornFeedError(
            f"{path} is torn, as if a crawl was killed: nobody could read what is appended to it. "
            "Move it away (all but its end can still be used), or use another file for this crawl"
        )
    return whole is not None


def is_whole(slot: FeedSlot) -> bool | None:
    """Return whether the local file of *slot* can be read to its end, ``None`` if unknown."""
    check = _check_of(slot)
    if check is None or not isinstance(slot.storage, FileFeedStorage):
        return None
    with open(slot.storage.path, "rb") as file:
        return check(file)


def is_document(slot: FeedSlot) -> bool:
    """Return whether the format allows one document a file, as JSON and XML do."""
    return "postprocessing" not in slot.feed_options and slot.exporters[slot.format] in _DOCUMENTS


def _is_mendable(slot: FeedSlot) -> bool:
    exporter = slot.exporters[slot.format]
    return "postprocessing" not in slot.feed_options and issubclass(exporter, _MENDABLE)


def _check_of(slot: FeedSlot) -> Callable[[BinaryIO], bool] | None:
    if "postprocessing" in slot.feed_options:
        # The last plugin writes the file.
        plugin = load_object(slot.feed_options["postprocessing"][-1])
        if slot.feed_options.get("lzma_format") == lzma.FORMAT_RAW:
            return None
        return CHECKS_OF_PLUGINS.get(plugin)
    exporter = slot.exporters[slot.format]
    encoding = codecs.lookup(slot.feed_options["encoding"] or "utf-8").name
    if exporter in _DOCUMENTS and encoding not in _PLAIN_ENCODINGS:
        return None
    return CHECKS.get(exporter)


class _Missing(NamedTuple):
    """What a torn file lacks."""

    added: bytes = b""
    """What must be added."""
    cut: int = 0
    """How many bytes, part of a character, must be removed before that."""
    must_cut: bool = False
    """Whether nobody could read what is added unless they are removed."""


def _missing_in_lines(file: BinaryIO, encoding: str | None) -> _Missing:
    text, cut, encoding = _end_of(file, encoding or "utf-8")
    added = "" if text.endswith("\n") or not text else "\n"
    return _Missing(_encode(added, encoding), cut, _is_wide(encoding))


def _missing_in_csv(
    file: BinaryIO, options: Mapping[str, Any], beginning: Callable[[], bytes]
) -> _Missing:
    kwargs = options["item_export_kwargs"]
    arguments = {name: kwargs[name] for name in _ARGUMENTS_OF_CSV if name in kwargs}
    dialect = csv.writer(io.StringIO(), **arguments).dialect
    end, cut, encoding = _end_of(file, options["encoding"] or "utf-8")
    is_ended = end.endswith(dialect.lineterminator) and not cut
    if is_ended and not _is_wide(encoding) and _has_pairs_of_quotes(file, dialect):
        return _Missing()
    if not is_ended and (size := file.seek(0, os.SEEK_END)) < BLOCK:
        file.seek(0)
        if beginning().startswith(file.read()):  # a torn header, which will be written again
            return _Missing(cut=size, must_cut=True)
    record = _open_record(file, encoding, dialect)
    if record is None:
        return _Missing(cut=cut, must_cut=_is_wide(encoding))
    escape, quote = dialect.escapechar or "", dialect.quotechar or ""
    ends = [closed + dialect.lineterminator for closed in ("", quote, escape, escape + quote)]
    if record.endswith("\r") and dialect.lineterminator == "\r\n":
        ends.insert(0, "\n")
    for added in ends:
        if _is_closed(record + added, dialect):
            return _Missing(_encode(added, encoding), cut, _is_wide(encoding))
    raise TornFeedError(f"{file.name} is torn within a field that cannot be closed")


_ARGUMENTS_OF_CSV = (
    "dialect", "delimiter", "doublequote", "escapechar", "lineterminator", "quotechar", "quoting",
    "skipinitialspace", "strict",
)  # fmt: skip


def _has_pairs_of_quotes(file: BinaryIO, dialect: Any) -> bool:
    """Return whether the file is certain to end outside of quotes; reads no records."""
    quote = dialect.quotechar or ""
    if dialect.escapechar or not dialect.doublequote or dialect.quoting == csv.QUOTE_NONE:
        return False
    if not (quote and quote.isascii()):
        return False
    file.seek(0)
    number = 0
    while block := file.read(BLOCK):
        number += block.count(quote.encode())
    return number % 2 == 0


def _open_record(file: BinaryIO, encoding: str, dialect: Any) -> str | None:
    """Return the last record of a file if a reader of the format finds no end of it."""
    record: list[str] = []
    has_ended = is_open = False

    def lines(text: io.TextIOWrapper) -> Iterator[str]:
        nonlocal has_ended, is_open
        length = 0
        while line := text.readline(LARGEST_ITEM):
            if has_ended:
                record.clear()
                has_ended, length = False, 0
            length += len(line)
            if length >= LARGEST_ITEM:
                raise csv.Error("too long")
            record.append(line.removeprefix("\ufeff"))
            yield record[-1]
        is_open = bool(record) and not has_ended

    file.seek(0)
    with text_of(file, encoding) as text, _allow_large_fields():
        try:
            for _ in csv.reader(lines(text), _dialect_of_reader(dialect)):
                has_ended = True
        except csv.Error as error:
            raise TornFeedError(f"{file.name} is not the CSV of its feed ({error})") from error
    found = "".join(record)
    return found if is_open or (found and not found.endswith(dialect.lineterminator)) else None


def _is_closed(record: str, dialect: Any) -> bool:
    """Return whether a reader finds another record in what follows *record*."""
    following, dialect = f"0{dialect.lineterminator}", _dialect_of_reader(dialect)
    with _allow_large_fields():
        rows = list(csv.reader(io.StringIO(record + following, newline=""), dialect))
        return len(rows) > 1 and rows[-1:] == list(csv.reader([following], dialect))


def _dialect_of_reader(dialect: Any) -> Any:
    """Return *dialect* for a reader that converts no numbers and tolerates errors."""
    if dialect.quoting == csv.QUOTE_NONE:
        return csv.reader([], dialect, strict=False).dialect
    return csv.reader([], dialect, quoting=csv.QUOTE_MINIMAL, strict=False).dialect


@contextmanager
def _allow_large_fields() -> Iterator[None]:
    limit = csv.field_size_limit(LARGEST_ITEM)
    try:
        yield
    finally:
        csv.field_size_limit(limit)


def _end_of(file: BinaryIO, encoding: str) -> tuple[str, int, str]:
    """Return the end of a text file, the length of a torn character there, and the encoding.

    The encoding returned writes no byte order mark.
    """
    file.seek(0)
    encoding = _without_mark(encoding, file.read(4))
    size = file.seek(0, os.SEEK_END)
    begin = max(0, size - BLOCK)
    file.seek(begin - begin % 4)
    end = file.read()
    if not _is_wide(encoding):  # some encodings can only be decoded from the beginning of a line
        end = end[end.rfind(b"\n", 0, -1) + 1 :]
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    text = decoder.decode(end)
    return text, len(decoder.getstate()[0]), encoding


def _without_mark(encoding: str, beginning: bytes) -> str:
    name = codecs.lookup(encoding).name
    if name == "utf-8-sig":
        return "utf-8"
    if name in ("utf-16", "utf-32"):
        marks = {getattr(codecs, f"BOM_UTF{name[4:]}_{order}"): order for order in ("LE", "BE")}
        order = marks.get(beginning[: int(name[4:]) // 8], sys.byteorder[0].upper() + "E")
        return f"{name}-{order.lower()}"
    return name


def _is_wide(encoding: str) -> bool:
    return encoding.startswith(("utf-16", "utf-32"))


def _encode(text: str, encoding: str) -> bytes:
    encoder = codecs.getincrementalencoder(encoding)()
    encoder.setstate(0)  # as in the middle of a file
    return encoder.encode(text, True)
