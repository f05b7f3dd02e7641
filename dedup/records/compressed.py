"""Files of lines, compressed if their suffix says so."""

import gzip
import importlib
import sys
import zlib
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

from dedup.records.base import Format, Piece, RawRecord, RecordError

COMPRESSIONS = (".gz", ".zst")


class LineFormat(Format):
    """Files whose records are one line or several, which are written back byte for byte."""

    compressions = COMPRESSIONS
    _header = b""

    def _read(self, path: Path, file: BinaryIO) -> Iterator[Piece]:
        with decompressed(file, path) as lines:
            yield from self._read_lines(lines)

    @abstractmethod
    def _read_lines(self, file: BinaryIO) -> Iterator[Piece]:
        """Yield the records of a file without compression, with their lines."""

    def _write(self, file: BinaryIO, path: Path, keep: Sequence[int]) -> None:
        with writing(file, path) as output:
            output.write(_with_line_end(self._header))
            for raw, is_unique in zip(self.raw_records(), keep, strict=True):
                if is_unique:
                    output.write(_with_line_end(self._line_of(raw)))

    def _line_of(self, raw: RawRecord) -> bytes:
        return raw.line


def _with_line_end(line: bytes) -> bytes:
    return line + b"\n" if line and not line.endswith(b"\n") else line


@contextmanager
def decompressed(file: BinaryIO, path: Path) -> Iterator[BinaryIO]:
    """Yield what *file* at *path* holds; raises RecordError if it is damaged or cut off."""
    suffix = path.suffix.lower()
    try:
        if suffix == ".gz":
            yield cast(BinaryIO, gzip.GzipFile(fileobj=file))
        elif suffix == ".zst":
            yield zstd().ZstdFile(file)
        else:
            yield file
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise RecordError(f"the file is damaged or cut off here ({error})") from error
    except Exception as error:
        if type(error).__name__ != "ZstdError":
            raise
        raise RecordError(f"the file is damaged ({error})") from error


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
