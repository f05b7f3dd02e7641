"""Files that are replaced atomically."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def replacing(path: Path, *, is_new: bool = False) -> Iterator[BinaryIO]:
    """Yield a file to write; it replaces *path* when the block ends without an error.

    *is_new*: raise FileExistsError if *path* exists by then.

    After any error, *path* is unchanged. If it is a link, the file behind it is replaced. The mode
    of an existing file is kept. Raises OSError, also if *path* is not a regular file.
    """
    path = path.resolve()
    if path.exists() and not path.is_file():
        raise OSError(f"{path} is not a regular file")
    descriptor, aside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    try:
        with open(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(aside, path.stat().st_mode & 0o7777 if path.exists() else 0o666 & ~_umask())
        if is_new:
            try:
                os.link(aside, path)  # unlike os.replace, fails if the path exists
            except FileExistsError as error:
                raise FileExistsError(f"{path} was created by another process meanwhile") from error
        else:
            os.replace(aside, path)
    finally:
        Path(aside).unlink(missing_ok=True)


def _umask() -> int:
    # It can only be read by setting it.
    mask = os.umask(0)
    os.umask(mask)
    return mask
