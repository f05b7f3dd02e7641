"""Every duplicate of a crawl, as lines of JSON beside its report."""

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, NamedTuple

from dedup.limits import shorten
from dedup.logs import get_logger
from dedup.readable_url import readable_url
from dedup.report.json_form import as_json
from dedup.report.report import Copy
from dedup.rule import Verdict

logger = get_logger(__name__)

_LONGEST_TITLE = 200


class CopyOf(NamedTuple):
    """A duplicate, and the URL of the page that it repeats."""

    original: str
    copy: Copy


def copy_of(verdict: Verdict, url: str, title: str | None = None) -> Copy:
    """Return what a report tells of the duplicate at *url*."""
    readable = readable_url(url)
    return Copy(
        url,
        verdict.kind.value,
        verdict.distance,
        shorten(title, _LONGEST_TITLE) if title else None,
        None if readable == url else readable,
    )


def name_of_copies(report: Path) -> str:
    """Return the name of the file that has the copies of a *report*."""
    return f"{report.stem}.copies.jsonl"


class CopyLog:
    """Writes duplicates to a file as they come, so that they take no memory, however many.

    The file is in the folder of the reports, with a name that ends in ``.part`` until the report
    has its own. If it cannot be written, no more are, and `lost` counts them; nothing is raised.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file: Any = None
        self.lost = 0

    def __bool__(self) -> bool:
        """Return whether there is a copy."""
        return self._file is not None

    def add(self, original: str, copy: Copy) -> None:
        """Write one line."""
        if self.lost:
            self.lost += 1
            return
        try:
            if self._file is None:
                self._folder.mkdir(parents=True, exist_ok=True)
                self._file = NamedTemporaryFile(  # noqa: SIM115  # it is open as long as the crawl
                    "w+", dir=self._folder, prefix="copies-", suffix=".jsonl.part", delete=False,
                    encoding="utf-8",
                )  # fmt: skip
            line = {"original": original, **as_json(copy)}
            self._file.write(json.dumps(line) + "\n")
        except OSError as error:
            self._fail(error)

    def __iter__(self) -> Iterator[CopyOf]:
        """Iterate over all lines, in the order in which they were written."""
        if self._file is None:
            return
        try:
            self._file.seek(0)
            for line in self._file:
                values = json.loads(line)
                yield CopyOf(values.pop("original"), Copy(**values))
        except (OSError, ValueError) as error:  # the last line, on a full disk
            self._fail(error)

    def publish(self, path: Path) -> Path | None:
        """Give the file the name *path* and return that; ``None`` if there is no duplicate.

        Raises OSError.
        """
        if self._file is None:
            return None
        self._file.flush()
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(self._file.name, 0o666 & ~umask)
        os.replace(self._file.name, path)
        return path

    def close(self) -> None:
        """Close the file, and remove it if it was not published."""
        if self._file is not None:
            with suppress(OSError):  # of what is thrown away, or has been written
                self._file.close()
            Path(self._file.name).unlink(missing_ok=True)
            self._file = None

    def _fail(self, error: Exception) -> None:
        if not self.lost:
            logger.warning("Dedup: no more copies are written for the report: %s", error)
        self.lost += 1
