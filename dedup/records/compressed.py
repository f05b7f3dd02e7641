"""Files that may be compressed, as the end of their names tells."""

import gzip
import importlib
import io
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

from dedup.records.base import RecordError

COMPRESSIONS = (".gz", ".zst")
_BUFFER = 1 << 20


@contextmanager
def reading(path: Path) -> Iterator[BinaryIO]:
    """Open *path*, decompressed, to be read.

    Whatever shows the file to be damaged or cut off raises RecordError.
    """
    with open(path, "rb") as file:
        try:
            yield _decompressed(file, path.suffix.lower())
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise RecordError(f"the file is damaged or cut off here ({error})") from error
        except Exception as error:
            if type(error).__name__ != "ZstdError":
                raise
            raise RecordError(f"the file is damaged ({error})") from error


def _decompressed(file: BinaryIO, suffix: str) -> BinaryIO:
    if suffix == ".gz":
        return cast(BinaryIO, io.BufferedReader(gzip.GzipFile(fileobj=file), _BUFFER))
    if suffix == ".zst":
        return cast(BinaryIO, io.BufferedReader(zstd().ZstdFile(file), _BUFFER))
    return file


@contextmanager
def writing(file: BinaryIO, path: Path) -> Iterator[BinaryIO]:
    """Yield what compresses into *file* as the name *path* asks for."""
    suffix = path.suffix.lower()
    if suffix == ".gz":
        with gzip.GzipFile("", "wb", 6, file, mtime=0) as compressed:
            yield cast(BinaryIO, compressed)
    elif suffix == ".zst":
        with zstd().ZstdFile(file, "w") as compressed:
            yield compressed
    else:
        yield file


def zstd() -> Any:
    """Return the module of Python 3.14, or its backport; raises RecordError if there is none."""
    name = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise RecordError(".zst needs: pip install 'scrapy-dedup[zstd]'") from error
