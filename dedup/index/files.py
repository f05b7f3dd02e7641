"""Files of a few arrays: written at once, checked when read, mapped into memory."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import xxhash

from dedup.index.fingerprints import Array

_MAGIC = b"scrapy-dedup index 1\n"
_ALIGNED = 64


def write_file(path: Path, header: dict[str, Any], arrays: list[Array]) -> None:
    """Write arrays behind a line of JSON that describes them; durable and at once."""
    described = [[a.dtype.str, list(a.shape), xxhash.xxh3_64_hexdigest(a.data)] for a in arrays]
    line = _MAGIC + json.dumps({**header, "arrays": described}).encode() + b"\n"
    aside = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with aside.open("wb") as file:
            file.write(line)
            for array in arrays:
                file.write(bytes(-file.tell() % _ALIGNED))
                file.write(np.ascontiguousarray(array).data)
            file.flush()
            os.fsync(file.fileno())
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)


def read_file(path: Path) -> tuple[dict[str, Any], list[Array]]:
    """Return the header and the arrays of a file, mapped; raises ValueError if it is no good."""
    with path.open("rb") as file:
        if file.read(len(_MAGIC)) != _MAGIC:
            raise ValueError(f"{path} is no index file of this version")
        try:
            header = json.loads(file.readline())
            arrays, position = [], file.tell()
            for dtype, shape, checksum in header.pop("arrays"):
                position += -position % _ALIGNED
                # Changes (pages that are forgotten) stay in memory.
                array = (
                    np.memmap(path, np.dtype(dtype), "c", position, tuple(shape))
                    if all(shape)
                    else np.empty(tuple(shape), dtype)
                )
                if xxhash.xxh3_64_hexdigest(array.data) != checksum:
                    raise ValueError("an array has changed")
                arrays.append(array)
                position += array.nbytes
        except (ValueError, KeyError, TypeError, OSError) as error:
            raise ValueError(f"{path} is damaged ({error}); build the index again") from error
    return header, arrays
