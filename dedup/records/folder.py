"""Folders whose files are the records."""

import os
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO

from dedup.records.base import Fields, Format, Piece, RawRecord, Record, RecordError, decode_html

HTML = (".html", ".htm", ".xhtml")
TEXT = (".txt", ".text", ".md")


class Folder(Format):
    """The HTML and text files in folders and their subfolders, sorted by path.

    The key is the path below the folder, the date that of the last change. Hidden files and
    folders are skipped, and so are links: they may lead to files that must not be copied.
    """

    name = "folder"
    follows_links = False

    def __init__(self, paths: Sequence[Path], fields: Fields) -> None:
        self._names = [(folder, name) for folder in paths for name in _names_in(folder)]
        names = [name for _, name in self._names]
        if paths and not names:
            folders, suffixes = ", ".join(map(str, paths)), " ".join(HTML + TEXT)
            raise RecordError(f"there is no record in {folders}: no file {suffixes}")
        if len(paths) > 1 and len(set(names)) < len(names):
            [(repeated, _)] = Counter(names).most_common(1)
            raise RecordError(
                f"{repeated} is in more than one of the folders; scan their parent folder instead"
            )
        super().__init__(paths, fields)

    @property
    def _files(self) -> Sequence[Path]:
        # Not kept: there may be millions, in each process that parses them.
        return [folder / name for folder, name in self._names]

    @property
    def has_html(self) -> bool:
        return any(name.lower().endswith(HTML) for _, name in self._names)

    def raw_records(self) -> Iterator[RawRecord]:
        self._bytes_before = 0
        for (folder, name), (size, _) in zip(self._names, self._states, strict=True):
            yield RawRecord(str(folder / name), 1, size, (str(folder), name))
            self._bytes_before += size

    def _read(self, path: Path, file: BinaryIO) -> Iterator[Piece]:
        raise NotImplementedError("files of folders are read by `parse`")

    def parse(self, data: tuple[str, str]) -> Record:
        folder, key = data
        path = Path(folder, key)
        try:
            content = path.read_bytes()
            date = path.stat().st_mtime
        except OSError as error:
            raise RecordError(f"cannot be read ({error.strerror})") from error
        if path.suffix.lower() in HTML:
            return Record(decode_html(content), True, key, date)
        try:
            return Record(content.decode().removeprefix("\ufeff"), False, key, date)
        except UnicodeDecodeError as error:
            raise RecordError(f"not utf-8 ({error.reason} at {error.start})") from error

    @contextmanager
    def writing(self, path: Path, keep: Sequence[int]) -> Iterator[int]:
        """Copy the files whose element of *keep* is not zero, with their dates."""
        size = self._bytes_before = 0
        parent, prefix = path.resolve().parent, f".{path.name}."
        with TemporaryDirectory(dir=parent, prefix=prefix, ignore_cleanup_errors=True) as aside:
            folder = Path(aside, "new")
            folder.mkdir()
            states = zip(self._names, self._states, keep, strict=True)
            for (source, name), (size_before, _), is_unique in states:
                self._bytes_before += size_before
                if is_unique:
                    target = folder / name
                    target.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy2(source / name, target)
                    size += target.stat().st_size
            yield size
            os.rename(folder, path)

    def _write(self, file: BinaryIO, path: Path, keep: Sequence[int]) -> None:
        raise NotImplementedError("folders are copied")


def _names_in(folder: Path) -> list[str]:
    def fail(error: OSError) -> None:
        raise error

    names: list[str] = []
    for current, folders, files in os.walk(folder, onerror=fail):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in files:
            path = Path(current, name)
            is_page = path.suffix.lower() in HTML + TEXT and not name.startswith(".")
            if is_page and path.is_file() and not path.is_symlink():
                names.append(path.relative_to(folder).as_posix())
    return sorted(names)
