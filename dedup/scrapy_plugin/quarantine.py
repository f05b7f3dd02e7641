"""Dropped items, in a file."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

from scrapy.utils.serialize import ScrapyJSONEncoder

from dedup.detector import Verdict


class Quarantine:
    """Appends dropped items to a JSONL file, with their verdict, so that none is lost for good."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: BinaryIO | None = None
        self._encoder = _AnyItemEncoder()

    def add(self, item: Any, url: str, verdict: Verdict) -> None:
        """Write *item* of the page at *url*; raises OSError if that fails."""
        line = self._encoder.encode(
            {
                "url": url,
                "verdict": verdict.kind.value,
                "original": verdict.original,
                "distance": verdict.distance,
                "method": verdict.method,
                "dropped": datetime.now(UTC).isoformat(timespec="seconds"),
                "item": item,
            }
        )
        if self._file is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self._path.open("ab", buffering=0)
        self._write(self._file, f"{line}\n".encode())

    def _write(self, file: BinaryIO, line: bytes) -> None:
        end = file.tell()
        while line:
            try:
                line = line[file.write(line) :]
            except OSError:
                file.truncate(end)  # half a line would spoil the next one
                raise

    def close(self) -> None:
        if self._file:
            self._file.close()


class _AnyItemEncoder(ScrapyJSONEncoder):
    """Writes what JSON has no form for as text."""

    def default(self, o: Any) -> Any:
        if isinstance(o, bytes):
            return o.decode("utf-8", "backslashreplace")
        try:
            return super().default(o)
        except TypeError:
            return str(o)
