"""Files that are put in place at once."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def replacing(path: Path, *, is_new: bool = False) -> Iterator[BinaryIO]:
    """Yield a file to write; it takes the place of *path* when the block ends.

    *is_new*: raise FileExistsError if there is one by then.

    Whatever goes wrong leaves what was there. A link stays, and the file behind it is replaced; the
    mode of a file that was there is kept. Raises OSError, also if *path* is no regular file.
    """
    path = path.resolve()
    if path.exists() and not path.is_file():
        raise OSError(f"{path} is no regular file")
    descriptor, aside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    try:
        with open(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(aside, path.stat().st_mode & 0o7777 if path.exists() else 0o666 & ~_umask())
        if is_new:
            try:
                os.link(aside, path)  # unlike a replacement, it fails where there is one
            except FileExistsError as error:
                raise FileExistsError(f"{path} was made by another meanwhile") from error
        else:
            os.replace(aside, path)
    finally:
        Path(aside).unlink(missing_ok=True)


def _umask() -> int:
    # There is no way to read it but to set it.
    mask = os.umask(0)
    os.umask(mask)
    return mask
