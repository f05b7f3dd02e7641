"""Which feeds of a crawl replace what an earlier one stored there."""

import os
import re
from collections.abc import Iterable, Iterator
from typing import Any, TypeGuard

from scrapy.extensions.feedexport import (
    FeedSlot,
    FileFeedStorage,
    GCSFeedStorage,
    S3FeedStorage,
    StdoutFeedStorage,
)

_HAS_TIME = re.compile(r"%\((batch_)?time\)")


def overwritten_files(slots: Iterable[FeedSlot]) -> Iterator[str]:
    """Yield the local files with content that *slots* are going to overwrite."""
    for slot in slots:
        storage = slot.storage
        if _is_file(storage) and storage.write_mode == "wb":
            path = storage.path
            if os.path.isfile(path) and os.path.getsize(path):
                yield path


def overwritten_uris(slots: Iterable[FeedSlot]) -> Iterator[str]:
    """Yield the URIs of feeds that replace what is there, if there is anything: nobody can tell.

    But for those with the time in their names. They may have passwords.
    """
    for slot in slots:
        has_time = _HAS_TIME.search(slot.uri_template)
        if not _is_file(slot.storage) and not has_time and _overwrites(slot):
            yield slot.uri


def _is_file(storage: Any) -> TypeGuard[FileFeedStorage]:
    # A derived class with a constructor of its own may lack the mode.
    return isinstance(storage, FileFeedStorage) and hasattr(storage, "write_mode")


def _overwrites(slot: FeedSlot) -> bool:
    """Return whether the storage, which is not Scrapy's for files, replaces what it has."""
    storage = slot.storage
    if isinstance(storage, StdoutFeedStorage):
        return False
    if isinstance(storage, S3FeedStorage | GCSFeedStorage):
        return True
    # That of FTP by default.
    return bool(getattr(storage, "overwrite", slot.feed_options.get("overwrite")))
