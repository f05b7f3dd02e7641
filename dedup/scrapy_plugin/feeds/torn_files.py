"""Feed files that items are appended to: whether they are torn, and how to mend them.

A crawl that was killed leaves half of an item at the end of its feed. In files of lines or records,
adding an end mends that. In all others nobody could read what is appended, so they are refused.
"""

import codecs
import lzma
import os
from collections.abc import Callable
from typing import BinaryIO

from scrapy import exporters
from scrapy.extensions.feedexport import FeedSlot, FileFeedStorage
from scrapy.utils.misc import load_object

from dedup.scrapy_plugin.feeds.torn_csv import missing_in_csv
from dedup.scrapy_plugin.feeds.torn_lines import TornFeedError, missing_in_lines
from dedup.scrapy_plugin.feeds.whole_files import CHECKS, CHECKS_OF_PLUGINS

_PLAIN_ENCODINGS = ("utf-8", "ascii", "iso8859-1")
_DOCUMENTS = (exporters.JsonItemExporter, exporters.XmlItemExporter)
_MENDABLE = (
    exporters.CsvItemExporter,
    exporters.JsonLinesItemExporter,
    exporters.PprintItemExporter,
)


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
            missing = missing_in_csv(file, slot.feed_options, beginning)
        elif issubclass(exporter, exporters.JsonLinesItemExporter):
            missing = missing_in_lines(file, slot.feed_options["encoding"])
        else:
            missing = missing_in_lines(file, "utf-8")
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
