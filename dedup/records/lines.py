"""JSONL: a JSON object in each line."""

import json
from codecs import BOM_UTF8
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from dedup.records.base import (
    DEFAULT_KEY,
    Format,
    RawRecord,
    Record,
    RecordError,
    key_of,
    named,
    timestamp,
)
from dedup.records.compressed import COMPRESSIONS, reading, writing

# A file that has no lines, or a small one that decompresses to endless ones, shall not take all
# memory. A line of short numbers takes some 40 times its length.
_LONGEST_LINE = 1 << 26
_TOO_LONG = f"the line has more than {_LONGEST_LINE >> 20} MB"


class JsonLines(Format):
    """Lines of JSON, which are written back byte for byte; empty ones are no records."""

    name = "jsonl"
    suffixes = (".jsonl", ".jl", ".ndjson", ".json")
    compressions = COMPRESSIONS

    def raw_records(self) -> Iterator[RawRecord]:
        for path in self.paths:
            source, number = str(path), 0
            try:
                with reading(path) as file:
                    for line in _lines(file):
                        if number == 0 and line:
                            line = line.removeprefix(BOM_UTF8)
                        if line is not None and (line.isspace() or not line):
                            continue
                        number += 1
                        if line is None:
                            yield RawRecord(source, number, 0, None, _TOO_LONG)
                        else:
                            yield RawRecord(source, number, len(line), line)
            except RecordError as error:
                yield RawRecord(source, number + 1, 0, None, str(error))

    def parse(self, data: bytes) -> Record:
        fields = self.fields
        try:
            value = json.loads(data.decode(fields.encoding))
        except UnicodeDecodeError as error:
            raise RecordError(f"not {fields.encoding} ({error.reason} at {error.start})") from error
        except (ValueError, RecursionError) as error:
            whole = "" if data.endswith(b"\n") else ", and the line does not end: half-written?"
            raise RecordError(f"no JSON ({error}){whole}") from error
        if not isinstance(value, dict):
            raise RecordError(f"a JSON object was expected, got {type(value).__name__}")
        return Record(
            named(value.get(fields.content), fields.content),
            fields.is_html,
            key_of(value.get(fields.key or DEFAULT_KEY)),
            timestamp(value.get(fields.date), fields.date) if fields.date else None,
        )

    def write(self, file: BinaryIO, path: Path, keep: Sequence[int]) -> None:
        with writing(file, path) as output:
            for raw, kept in zip(self.raw_records(), keep, strict=True):
                if kept:
                    output.write(raw.data)
                    if not raw.data.endswith(b"\n"):  # the last one of a file
                        output.write(b"\n")


def _lines(file: BinaryIO) -> Iterator[bytes | None]:
    """Yield the lines; ``None`` for one that is too long."""
    while line := file.readline(_LONGEST_LINE + 1):
        if len(line) <= _LONGEST_LINE:
            yield line
            continue
        while line and not line.endswith(b"\n"):
            line = file.readline(_LONGEST_LINE)
        yield None
