"""Files that the system may not have written to the disk yet."""

import os
import stat
from collections.abc import Hashable
from typing import IO


class Disk:
    """Has the system write files to the disk, which others may rename, remove or close meanwhile.

    What comes to a file after `take`, while it is written, is for the next time. If the system
    fails once, nothing can be relied on any more: it forgets what it could not write.
    """

    def __init__(self) -> None:
        self._descriptors: dict[Hashable, int] = {}
        self._changed: set[Hashable] = set()
        self._failure: OSError | None = None

    def changed(self, key: Hashable, file: IO[bytes]) -> None:
        """Remember that *file*, known as *key*, was written to; what is no regular file is not."""
        if key not in self._descriptors:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return
            self._descriptors[key] = os.dup(file.fileno())
        self._changed.add(key)

    def take(self) -> list[int]:
        """Return what was written to since the last time, for `synchronise`: new descriptors."""
        taken = [os.dup(self._descriptors[key]) for key in self._changed]
        self._changed.clear()
        return taken

    def synchronise(self, taken: list[int]) -> None:
        """Have the system write what was *taken* to the disk; may be called in another thread.

        Raises OSError if that fails, or has failed before.
        """
        for descriptor in taken:
            self._synchronise(descriptor)
        if self._failure:
            raise self._failure

    def closed(self, key: Hashable) -> None:
        """Synchronise the file known as *key*, which was closed, and forget it."""
        self._changed.discard(key)
        if key in self._descriptors:
            self._synchronise(self._descriptors.pop(key))

    def _synchronise(self, descriptor: int) -> None:
        try:
            os.fsync(descriptor)
        except OSError as error:
            self._failure = error
        finally:
            os.close(descriptor)

    def close(self) -> None:
        """Forget all files."""
        while self._descriptors:
            os.close(self._descriptors.popitem()[1])
