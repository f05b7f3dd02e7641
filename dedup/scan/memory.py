"""How much memory a scan will take, estimated before it reads."""

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from dedup.methods.base import KeyMethod, Method
from dedup.methods.fingerprint_method import FingerprintMethod
from dedup.scan.reader import ReadTask, RecordReader
from dedup.text import Document
from dedup.workers import InlinePool, ReadError

_RECORDS_READ = 64
_LONGEST_READ = 1 << 16
# Of NumPy, and of all that is imported; what trafilatura takes besides.
_PROCESS, _WORKER, _WORKER_OF_HTML = 80 << 20, 60 << 20, 170 << 20
# A digest with its key, and the number of the record; what is kept of the evidence of a page.
_TEXT, _EVIDENCE = 42, 60
_KEY, _ENDS = 16, 8
# A fingerprint in a sorted table.
_BYTES_OF_A_TABLE = 12
# What is remembered of a record until the best is known, besides its sketch.
_RANKED = 90
_KEY_OF_A_RECORD = 60


class Expected(NamedTuple):
    """About how many records there are, and how many bytes all processes of a scan will take.

    *growth* is the part of *nbytes* that grows with the records.
    """

    records: float
    growth: float
    nbytes: float


def expected_memory(
    reader: RecordReader, *, workers: int, is_sorted: bool = False, with_keys: bool = False
) -> Expected:
    """Return about how much memory a scan takes, by the first records and the sizes of the files.

    It is for records of which none is left out, so that there will rather be less. Raises what
    reading the files raises.
    """
    format_ = reader.format
    records = format_.count_at_first()
    sketches = _sketches(reader)
    growth = records * (1 + _TEXT) + _bytes_of_index(reader.method, sketches, records)
    if format_.has_html or format_.fields.is_object or reader.scope is not None:
        growth += records * _EVIDENCE
    if is_sorted:
        growth += records * (_RANKED + _mean(sketches))
    if with_keys:
        growth += records * _KEY_OF_A_RECORD
    own = _WORKER_OF_HTML if format_.has_html else _WORKER * (workers > 1)
    return Expected(records, growth, _PROCESS + workers * own + growth)


def _sketches(reader: RecordReader) -> list[bytes]:
    """Return the sketches of the first records, or else of a text of this file."""
    sketches: list[bytes] = []
    # Methods of somebody else's may raise anything.
    pool = InlinePool(reader)
    with suppress(ReadError):
        if not reader.format.has_html:  # which may be hostile: this process shall not read it
            raws = [
                raw.data
                for raw in islice(reader.format.raw_records(), _RECORDS_READ)
                if raw.error is None and raw.size <= _LONGEST_READ
            ]
            read = pool.submit(ReadTask(raws)).result()
            sketches += [record.page.sketch for record in read if record.page.sketch]
        if not sketches:
            sketches += pool.submit(_SampleTask()).result()
    return sketches


@dataclass(frozen=True, slots=True)
class _SampleTask:
    """The task to sketch a text of some length."""

    def run(self, reader: RecordReader) -> list[bytes]:
        text = Document(" ".join(f"word{number % 300}" for number in range(500)))
        sketch = reader.method.sketch(text)
        return [] if sketch is None else [reader.method.to_bytes(sketch)]


def _bytes_of_index(method: Method, sketches: list[bytes], records: float) -> float:
    if isinstance(method, FingerprintMethod):
        tables = _BYTES_OF_A_TABLE * (method.max_distance + 1)
        return records * (tables + _KEY + method.bits / 8)
    if isinstance(method, KeyMethod) and sketches:
        keys, _, payloads = method.keys_of_many(sketches)
        of_keys = _KEY * len(keys) / len(sketches)
        varies = len(set(map(len, payloads))) > 1
        return records * (_mean(payloads) + of_keys + _ENDS * varies)
    return 2 * records * _mean(sketches)


def _mean(values: Sequence[bytes]) -> float:
    return sum(map(len, values)) / max(1, len(values))


def memory_of_machine() -> int | None:
    """Return how many bytes of memory this process may have at most; ``None`` if nobody knows."""
    limits = []
    with suppress(ValueError, OSError, AttributeError):  # not on Windows
        limits.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    with suppress(ValueError, OSError):  # the limit of a container, or "max"
        limits.append(int(Path("/sys/fs/cgroup/memory.max").read_text()))
    return min(limits, default=None)
