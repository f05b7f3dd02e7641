"""The file of sketches of a scan: what was read, to go on after an interruption."""

import json
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Self

from filelock import FileLock, Timeout

from dedup.lost_text import Sequences
from dedup.record import PageRecord
from dedup.records import RecordError
from dedup.scan.reader import ReadRecord
from dedup.stores.identity import differences

_FORMAT = 3
_RECORDS_AT_ONCE = 256


class SketchesFile:
    """What was read of the records of a scan: a JSON object in each line, in their order.

    The first line says what the records depend on; the last one of a whole file, how many they are.
    A process that is killed leaves the records up to some number.
    """

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self._path, self._file = path, file
        self.count_before = 0
        """How many records were there, once they are read."""
        self.is_whole = False
        """Whether these are all."""

    @classmethod
    @contextmanager
    def open(cls, path: Path, identity: Mapping[str, Any]) -> Iterator[Self]:
        """Yield the file *path*, which is made if there is none, and locked meanwhile.

        *identity*: what the records depend on, an object of JSON. Raises RecordError if the file is
        in use, is no file of sketches, or has another identity; OSError if it cannot be made.
        """
        path, own = path.resolve(), json.loads(json.dumps({"format": _FORMAT, **identity}))
        try:
            lock = FileLock(f"{path}.lock", timeout=0).acquire()
        except Timeout as error:
            in_use = "is in use: one scan at a time; wait for it, or name another file"
            raise RecordError(f"{path} {in_use}") from error
        with lock, path.open("a+b") as file:
            saved = cls(path, file)
            file.seek(0)
            if not (first := file.readline()):
                saved._write(own)
            elif (stored := _identity_in(first)) is None:
                raise RecordError(f"{path} is not a file of sketches; name another file")
            elif stored != own:
                told = list(differences(stored, own, sorted({*stored, *own} - {"inputs"})))
                if stored.get("inputs") != own.get("inputs"):
                    told.append("the inputs changed since, are others, or in another order")
                raise RecordError(
                    f"{path} is of another scan: {'; '.join(told)}. Name another file, or "
                    "remove this one if it is of no use any more"
                )
            yield saved

    def read_records(self) -> Iterator[list[ReadRecord]]:
        """Yield the records that are there, in order, in pieces; call it once, before `add`.

        Raises RecordError if a line is damaged; the end of one that a kill tore is cut off.
        """
        records: list[ReadRecord] = []
        end = self._file.tell()
        while (line := self._file.readline()).endswith(b"\n"):
            end += len(line)
            try:
                values = json.loads(line)
                self.is_whole = values == {"records": self.count_before}
                if self.is_whole:
                    continue
                records.append(_record(values, self.count_before + 1))
            except (AttributeError, KeyError, TypeError, ValueError) as error:
                where = f"{self._path}, line {self.count_before + 2}"
                raise RecordError(f"{where}: it is damaged; name another file") from error
            self.count_before += 1
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


def _identity_in(line: bytes) -> dict[str, Any] | None:
    try:
        values = json.loads(line)
    except ValueError:
        return None
    return values if isinstance(values, dict) and "format" in values else None


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
