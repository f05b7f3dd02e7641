"""Files of a few arrays: replaced atomically, checked when read, mapped into memory."""

import json
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import xxhash

from dedup.arrays import Array
from dedup.atomic_file import replacing

_MAGIC = b"scrapy-dedup index 3\n"
_ALIGNED = 64


def write_file(path: Path, header: dict[str, Any], arrays: list[Array]) -> None:
    """Write *header* and *arrays* to *path*, which is replaced atomically: a crash leaves the old.

    The header and the shapes, dtypes and checksums of the arrays are a line of JSON.
    """
    described = [[a.dtype.str, list(a.shape), xxhash.xxh3_64_hexdigest(a.data)] for a in arrays]
    line = json.dumps({**header, "arrays": described}).encode()
    with replacing(path) as file:
        file.write(_MAGIC + xxhash.xxh3_64_hexdigest(line).encode() + b" " + line + b"\n")
        for array in arrays:
            file.write(bytes(-file.tell() % _ALIGNED))
            file.write(np.ascontiguousarray(array).data)


def read_file(path: Path) -> tuple[dict[str, Any], list[Array]]:
    """Return the header and arrays of a file, mapped into memory; changes are not written back.

    Raises ValueError if it is not such a file or is damaged, and OSError if it cannot be read.
    """
    with path.open("rb") as file:
        if file.read(len(_MAGIC)) != _MAGIC:
            raise ValueError(f"{path} is not an index file of this version")
        checksum, _, line = file.readline().rstrip(b"\n").partition(b" ")
        if xxhash.xxh3_64_hexdigest(line).encode() != checksum:
            raise ValueError(f"{path} is damaged at its beginning; build the index again")
        header = json.loads(line)
        arrays, position = [], file.tell()
        for dtype, shape, digest in header.pop("arrays"):
            position += -position % _ALIGNED
            try:
                # Map the open file: another process may replace the path meanwhile.
                array = _map_array(file, dtype, tuple(shape), position)
            except (ValueError, OSError) as error:
                raise ValueError(f"{path} is damaged ({error}); build the index again") from error
            if xxhash.xxh3_64_hexdigest(array.data) != digest:
                raise ValueError(f"{path} is damaged at {position}; build the index again")
            arrays.append(array)
            position += array.nbytes
    return header, arrays


def _map_array(file: BinaryIO, dtype: str, shape: tuple[int, ...], position: int) -> Array:
    if not all(shape):
        return np.empty(shape, dtype)
    return np.memmap(file, np.dtype(dtype), "c", position, shape)
