"""Which feeds of a crawl replace what an earlier one stored there."""

import os
import re
from collections.abc import Iterable, Iterator

from scrapy.extensions.feedexport import (
    FeedSlot,
    FileFeedStorage,
    GCSFeedStorage,
    S3FeedStorage,
    StdoutFeedStorage,
)

_HAS_TIME = re.compile(r"%\((batch_)?time\)")


def names_of_overwritten(slots: Iterable[FeedSlot]) -> Iterator[str]:
    """Yield the files with content that *slots* are going to overwrite.

    And the URIs of those that are elsewhere, where nobody can tell whether there is a file: but for
    such as have the time in their names. They may have passwords.
    """
    for slot in slots:
        storage = slot.storage
        # A derived class with a constructor of its own may lack the mode.
        if isinstance(storage, FileFeedStorage) and hasattr(storage, "write_mode"):
            path = storage.path
            if storage.write_mode == "wb" and os.path.isfile(path) and os.path.getsize(path):
                yield path
        elif _overwrites(slot) and not _HAS_TIME.search(slot.uri_template):
            yield f"{slot.uri} (if it is there)"


def _overwrites(slot: FeedSlot) -> bool:
    """Return whether the storage, which is not Scrapy's for files, replaces what it has."""
    storage = slot.storage
    if isinstance(storage, StdoutFeedStorage):
        return False
    if isinstance(storage, S3FeedStorage | GCSFeedStorage):
        return True
    # That of FTP by default.
    return bool(getattr(storage, "overwrite", slot.feed_options.get("overwrite")))
