"""Files that the operating system may not have written to the disk yet."""

import os
import stat
from collections.abc import Hashable
from typing import IO


class Disk:
    """Makes the system write files to the disk; others may rename, remove or close them meanwhile.

    What is written to a file after `take` waits for the next time. After one failure nothing can be
    relied on any more, since the system forgets what it could not write.
    """

    def __init__(self) -> None:
        self._descriptors: dict[Hashable, int] = {}
        self._changed: set[Hashable] = set()
        self._failure: OSError | None = None

    def note_write(self, key: Hashable, file: IO[bytes]) -> None:
        """Note that something was written to *file*, called *key*; ignore it if it is a pipe."""
        if key not in self._descriptors:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return
            self._descriptors[key] = os.dup(file.fileno())
        self._changed.add(key)

    def take(self) -> list[int]:
        """Return new descriptors of the files written to since the last call, for `synchronise`."""
        taken = [os.dup(self._descriptors[key]) for key in self._changed]
        self._changed.clear()
        return taken

    def synchronise(self, taken: list[int]) -> None:
        """Write the files *taken* to the disk, and close them; may be called in another thread.

        Raises OSError if that fails, or has failed before.
        """
        for descriptor in taken:
            self._synchronise(descriptor)
        if self._failure:
            raise self._failure

    def finish(self, key: Hashable) -> None:
        """Write the file called *key*, which was closed, to the disk, and forget it."""
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
