"""The file of sketches of a scan: what was read, to go on after an interruption."""

import json
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO

from filelock import FileLock, Timeout

from dedup.lost_text import Sequences
from dedup.record import PageRecord
from dedup.records import RecordError
from dedup.scan.read_record import ReadRecord
from dedup.stores.identity import differences

_VERSION = 2
_RECORDS_AT_ONCE = 256


class SketchesFile:
    """What was read of the records of a scan: a JSON object in each line, in their order.

    The first line says what the records depend on; the last one of a whole file, how many they are.
    A process that is killed leaves the records up to some number.
    """

    def __init__(self, path: Path, identity: Mapping[str, Any]) -> None:
        """Open or create the file *path*, and lock it.

        *identity*: what the records depend on, an object of JSON; its "inputs" are a list of lists
        of a path and what tells its state.

        Raises RecordError if the file is in use, is no file of sketches, or has another identity;
        OSError if it cannot be made.
        """
        self._path = path.resolve()
        self.count_before = 0
        """How many records were there, once they are read."""
        self.is_whole = False
        """Whether these are all."""
        with ExitStack() as closing_on_failure:
            self._file: BinaryIO = closing_on_failure.enter_context(self._path.open("a+b"))
            try:
                closing_on_failure.enter_context(FileLock(f"{self._path}.lock", timeout=0))
            except Timeout as error:
                raise self._error("is in use: one scan at a time; wait for it, or") from error
            self._file.seek(0)
            if first := self._file.readline():
                self._check_first(first, json.loads(json.dumps(identity)))
            else:
                self._write({"sketches": _VERSION, "identity": identity})
            self._closing = closing_on_failure.pop_all()

    def _check_first(self, line: bytes, identity: dict[str, Any]) -> None:
        try:
            version, stored = (json.loads(line)[name] for name in ("sketches", "identity"))
        except (ValueError, TypeError, KeyError) as error:
            raise self._error("is not a file of sketches;") from error
        if version != _VERSION:
            raise self._error(f"has sketches of version {version}, not {_VERSION};")
        if stored != identity:
            raise RecordError(
                f"{self._path} is of another scan: {'; '.join(_describe(stored, identity))}. Name "
                "another file, or remove this one if it is of no use any more"
            )

    def _error(self, problem: str) -> RecordError:
        return RecordError(f"{self._path} {problem} name another file")

    def read_records(self) -> Iterator[list[ReadRecord]]:
        """Yield the records that are there, in order, in pieces; call it once, before `add`.

        Raises RecordError if a line is damaged; the end of one that a kill tore is cut off.
        """
        records: list[ReadRecord] = []
        end = self._file.tell()
        while (line := self._file.readline()).endswith(b"\n"):
            end += len(line)
            try:
                if self.is_whole:
                    raise ValueError("more lines than records")
                values = json.loads(line)
                if values == {"records": self.count_before}:
                    self.is_whole = True
                    continue
                records.append(_record(values, self.count_before + 1))
                self.count_before += 1
            except (AttributeError, KeyError, TypeError, ValueError) as error:
                where = f"{self._path}, line {self.count_before + 2 + self.is_whole}"
                raise RecordError(f"{where}: it is damaged; name another file") from error
            if len(records) == _RECORDS_AT_ONCE:
                yield records
                records = []
        self._file.truncate(end)
        yield records

    def add(self, number: int, records: Sequence[ReadRecord]) -> None:
        """Keep the next *records*, the first of which has this *number*, from 1."""
        self._write(*(_values(*record) for record in enumerate(records, number)))

    def end(self, number: int) -> None:
        """Note that there are so many records, and no more."""
        self._write({"records": number})

    def _write(self, *lines: Mapping[str, Any]) -> None:
        self._file.write("".join(f"{json.dumps(line)}\n" for line in lines).encode())
        self._file.flush()

    def close(self) -> None:
        """Close and unlock the file."""
        self._closing.close()


def _describe(stored: dict[str, Any], own: dict[str, Any]) -> Iterator[str]:
    yield from differences(stored, own, sorted({*stored, *own} - {"inputs"}))
    if stored["inputs"] != own["inputs"]:
        yield "the inputs changed since, are others, or in another order"


def _values(number: int, record: ReadRecord) -> dict[str, Any]:
    """Return what the line of *record* says: what is not as it is by default."""
    values = {
        name: value
        for name, value in record._asdict().items()
        if value != ReadRecord._field_defaults[name]
    }
    values["page"] = record.page.as_json()
    if record.sequences:
        values["sequences"] = b64encode(record.sequences.to_bytes()).decode("ascii")
    return {"number": number, **values}


def _record(values: dict[str, Any], number: int) -> ReadRecord:
    """Return the record of a line; raises ValueError, KeyError or TypeError if it is damaged."""
    if values.pop("number") != number:
        raise ValueError(f"must be number {number}")
    values["page"] = PageRecord.of_json(values["page"])
    if "sequences" in values:
        values["sequences"] = Sequences.from_bytes(b64decode(values["sequences"]))
    return ReadRecord(**values)
