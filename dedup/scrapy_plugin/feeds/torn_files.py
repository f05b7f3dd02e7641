"""Feed files that are appended to: whether they are whole, and what ends what is torn in them.

A crawl that was killed leaves half of an item at the end of its feed. Formats of lines and records
are mended by what is added; in all others, what is appended cannot be read, so it is refused.
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


_MENDED = (
    exporters.CsvItemExporter,
    exporters.JsonLinesItemExporter,
    exporters.PprintItemExporter,
)


class TornFeedError(Exception):
    """A feed is torn, and what is appended to it could not be read."""


def is_appended_to(slot: FeedSlot) -> bool:
    """Return whether the items of *slot* are going to be appended to a file with content."""
    storage = slot.storage
    return (
        slot.file is None
        and type(storage) is FileFeedStorage
        and storage.write_mode == "ab"
        and os.path.isfile(storage.path)
        and os.path.getsize(storage.path) > 0
    )


def mend(slot: FeedSlot, beginning: Callable[[], bytes]) -> None:
    """End what is torn in the file of *slot*, which `is_appended_to`, if its form can be mended.

    *beginning* returns what would be written first to an empty file.

    Raises TornFeedError if it can be mended but for that the file may be appended to only, OSError.
    """
    exporter = slot.exporters[slot.format]
    if "postprocessing" in slot.feed_options or not issubclass(exporter, _MENDED):
        return
    path = slot.storage.path  # type: ignore[attr-defined]  # it is_appended_to
    if not os.access(path, os.R_OK):
        return  # it may be written only, so nobody can look
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
                    raise TornFeedError(f"{path} is torn, and may only be appended to") from error
        if missing.added:
            end.write(missing.added)


def check(slot: FeedSlot) -> bool:
    """Return whether it is known that the file of *slot*, which `is_appended_to`, can be read on.

    Raises TornFeedError if it cannot, OSError if it cannot be read.
    """
    path = slot.storage.path  # type: ignore[attr-defined]  # it is_appended_to
    if not os.access(path, os.R_OK):
        return False
    if "postprocessing" not in slot.feed_options and issubclass(
        slot.exporters[slot.format], _MENDED
    ):
        return True
    whole = is_whole(slot)
    if whole is False:
        raise TornFeedError(
            f"{path} is torn, as by a crawl that was killed: what is appended to it could not be "
            "read. Move it away, it is still good for what was stored up to there, or use another "
            "file for this crawl"
        )
    return whole is not None


def is_whole(slot: FeedSlot) -> bool | None:
    """Return whether the local file of *slot* can be read to its end; ``None``: who knows."""
    check = _check_of(slot)
    if check is None or not isinstance(slot.storage, FileFeedStorage):
        return None
    with open(slot.storage.path, "rb") as file:
        return check(file)


def is_document(slot: FeedSlot) -> bool:
    """Return whether a file has to end with the crawl: two of them in one file are no valid one."""
    kinds = (exporters.JsonItemExporter, exporters.XmlItemExporter)
    return "postprocessing" not in slot.feed_options and slot.exporters[slot.format] in kinds


def _check_of(slot: FeedSlot) -> Callable[[BinaryIO], bool] | None:
    if "postprocessing" in slot.feed_options:
        # The last plugin is the one that writes the file.
        plugin = load_object(slot.feed_options["postprocessing"][-1])
        if slot.feed_options.get("lzma_format") == lzma.FORMAT_RAW:
            return None
        return CHECKS_OF_PLUGINS.get(plugin)
    exporter = slot.exporters[slot.format]
    encoding = codecs.lookup(slot.feed_options["encoding"] or "utf-8").name
    kinds = (exporters.JsonItemExporter, exporters.XmlItemExporter)
    if exporter in kinds and encoding not in _PLAIN_ENCODINGS:
        return None
    return CHECKS.get(exporter)


class _Missing(NamedTuple):
    """What a torn file lacks."""

    added: bytes = b""
    """What is to be added."""
    cut: int = 0
    """How many bytes are to be removed before, a part of a character."""
    must_cut: bool = False
    """Whether what is added could not be read otherwise."""


def _missing_in_lines(file: BinaryIO, encoding: str | None) -> _Missing:
    text, cut, encoding = _end_of(file, encoding or "utf-8")
    added = "" if text.endswith("\n") or not text else "\n"
    return _Missing(_encoded(added, encoding), cut, _is_wide(encoding))


def _missing_in_csv(
    file: BinaryIO, options: Mapping[str, Any], beginning: Callable[[], bytes]
) -> _Missing:
    kwargs = options["item_export_kwargs"]
    arguments = {name: kwargs[name] for name in _ARGUMENTS_OF_CSV if name in kwargs}
    form = csv.writer(io.StringIO(), **arguments).dialect
    end, cut, encoding = _end_of(file, options["encoding"] or "utf-8")
    is_ended = end.endswith(form.lineterminator) and not cut
    if is_ended and not _is_wide(encoding) and _has_pairs_of_quotes(file, form):
        return _Missing()
    if not is_ended and (size := file.seek(0, os.SEEK_END)) < BLOCK:
        file.seek(0)
        if beginning().startswith(file.read()):  # a torn header, which is going to be written
            return _Missing(cut=size, must_cut=True)
    record = _open_record(file, encoding, form)
    if record is None:
        return _Missing(cut=cut, must_cut=_is_wide(encoding))
    escape, quote = form.escapechar or "", form.quotechar or ""
    ends = [closed + form.lineterminator for closed in ("", quote, escape, escape + quote)]
    if record.endswith("\r") and form.lineterminator == "\r\n":
        ends.insert(0, "\n")
    for added in ends:
        if _is_closed(record + added, form):
            return _Missing(_encoded(added, encoding), cut, _is_wide(encoding))
    raise TornFeedError(f"{file.name} is torn within a field that cannot be closed")


_ARGUMENTS_OF_CSV = (
    "dialect", "delimiter", "doublequote", "escapechar", "lineterminator", "quotechar", "quoting",
    "skipinitialspace", "strict",
)  # fmt: skip


def _has_pairs_of_quotes(file: BinaryIO, form: Any) -> bool:
    """Return whether the file is sure to end outside of quotes, without reading records."""
    quote = form.quotechar or ""
    if form.escapechar or not form.doublequote or form.quoting == csv.QUOTE_NONE:
        return False
    if not (quote and quote.isascii()):
        return False
    file.seek(0)
    number = 0
    while block := file.read(BLOCK):
        number += block.count(quote.encode())
    return number % 2 == 0


def _open_record(file: BinaryIO, encoding: str, form: Any) -> str | None:
    """Return the last record of a file if it has no end, as a reader of the format takes it."""
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
    with text_of(file, encoding) as text, _fields_of_any_size():
        try:
            for _ in csv.reader(lines(text), _readable(form)):
                has_ended = True
        except csv.Error as error:
            raise TornFeedError(f"{file.name} is no CSV of its feed ({error})") from error
    found = "".join(record)
    return found if is_open or (found and not found.endswith(form.lineterminator)) else None


def _is_closed(record: str, form: Any) -> bool:
    """Return whether a reader takes what follows *record* for another one."""
    following = f"0{form.lineterminator}"
    with _fields_of_any_size():
        rows = list(csv.reader(io.StringIO(record + following, newline=""), _readable(form)))
        return rows[-1:] == list(csv.reader([following], _readable(form))) and len(rows) > 1


def _readable(form: Any) -> Any:
    """Return *form* for a reader, which shall leave numbers alone and take what is wrong."""
    if form.quoting == csv.QUOTE_NONE:
        return csv.reader([], form, strict=False).dialect
    return csv.reader([], form, quoting=csv.QUOTE_MINIMAL, strict=False).dialect


@contextmanager
def _fields_of_any_size() -> Iterator[None]:
    limit = csv.field_size_limit(LARGEST_ITEM)
    try:
        yield
    finally:
        csv.field_size_limit(limit)


def _end_of(file: BinaryIO, encoding: str) -> tuple[str, int, str]:
    """Return the end of a text file, the length of a torn character there, and the encoding.

    The encoding is one that writes no mark at its beginning.
    """
    file.seek(0)
    encoding = _without_mark(encoding, file.read(4))
    size = file.seek(0, os.SEEK_END)
    begin = max(0, size - BLOCK)
    file.seek(begin - begin % 4)
    end = file.read()
    if not _is_wide(encoding):  # a character of some encodings is found from the line's begin only
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


def _encoded(text: str, encoding: str) -> bytes:
    encoder = codecs.getincrementalencoder(encoding)()
    encoder.setstate(0)  # as in the middle of a file
    return encoder.encode(text, True)
