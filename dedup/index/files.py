"""Files of a few arrays: written at once, checked when read, mapped into memory."""

import json
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import xxhash

from dedup.files import replacing
from dedup.methods.hashing import Array

_MAGIC = b"scrapy-dedup index 3\n"
_ALIGNED = 64


def write_file(path: Path, header: dict[str, Any], arrays: list[Array]) -> None:
    """Write arrays behind a line of JSON that describes them, and put the file in place at once.

    A crash leaves the old file.
    """
    described = [[a.dtype.str, list(a.shape), xxhash.xxh3_64_hexdigest(a.data)] for a in arrays]
    line = json.dumps({**header, "arrays": described}).encode()
    with replacing(path) as file:
        file.write(_MAGIC + xxhash.xxh3_64_hexdigest(line).encode() + b" " + line + b"\n")
        for array in arrays:
            file.write(bytes(-file.tell() % _ALIGNED))
            file.write(np.ascontiguousarray(array).data)


def read_file(path: Path) -> tuple[dict[str, Any], list[Array]]:
    """Return the header and the arrays of a file, mapped into memory; changes stay there.

    Raises ValueError if it is no such file or damaged, OSError if it cannot be read.
    """
    with path.open("rb") as file:
        if file.read(len(_MAGIC)) != _MAGIC:
            raise ValueError(f"{path} is no index file of this version")
        checksum, _, line = file.readline().rstrip(b"\n").partition(b" ")
        if xxhash.xxh3_64_hexdigest(line).encode() != checksum:
            raise ValueError(f"{path} is damaged at its beginning; build the index again")
        header = json.loads(line)
        arrays, position = [], file.tell()
        for dtype, shape, digest in header.pop("arrays"):
            position += -position % _ALIGNED
            try:
                # Of the open file: another process may put a new one in its place meanwhile.
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
