"""Files that are compressed if their suffix says so."""

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
def reading(path: Path) -> Iterator[tuple[BinaryIO, BinaryIO]]:
    """Open *path* to read its decompressed content; yield that, and the file as it is.

    Raises RecordError if the file turns out to be damaged or cut off.
    """
    with open(path, "rb") as file:
        try:
            yield _decompress(file, path.suffix.lower()), file
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise RecordError(f"the file is damaged or cut off here ({error})") from error
        except Exception as error:
            if type(error).__name__ != "ZstdError":
                raise
            raise RecordError(f"the file is damaged ({error})") from error


def _decompress(file: BinaryIO, suffix: str) -> BinaryIO:
    if suffix == ".gz":
        return cast(BinaryIO, io.BufferedReader(gzip.GzipFile(fileobj=file), _BUFFER))
    if suffix == ".zst":
        return cast(BinaryIO, io.BufferedReader(zstd().ZstdFile(file), _BUFFER))
    return file


@contextmanager
def writing(file: BinaryIO, path: Path) -> Iterator[BinaryIO]:
    """Yield a file that writes to *file*, compressed as the suffix of *path* says."""
    suffix = path.suffix.lower()
    if suffix == ".gz":
        with gzip.GzipFile("", "wb", 6, file, mtime=0) as output:
            yield cast(BinaryIO, output)
    elif suffix == ".zst":
        with zstd().ZstdFile(file, "w") as output:
            yield output
    else:
        yield file


def zstd() -> Any:
    """Return Python 3.14's zstd module, or its backport; raises RecordError without either."""
    name = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise RecordError(".zst needs: pip install 'scrapy-dedup[zstd]'") from error
