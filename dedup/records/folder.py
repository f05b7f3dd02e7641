"""Folders whose files are the records."""

import os
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any, BinaryIO

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

    @property
    def state(self) -> list[list[Any]]:
        """Each folder with a digest of its files: equal as long as they are unchanged."""
        digests = {folder: blake2b(digest_size=16) for folder in self.paths}
        for (folder, name), state in zip(self._names, self._states, strict=True):
            digests[folder].update(f"{name}\0{state}\0".encode("utf-8", "surrogateescape"))
        return [[str(path.resolve()), digest.hexdigest()] for path, digest in digests.items()]

    def raw_records(self) -> Iterator[RawRecord]:
        self.bytes_read = 0
        for number, ((folder, name), (size, _)) in enumerate(
            zip(self._names, self._states, strict=True), 1
        ):
            yield RawRecord(str(folder / name), number, size, (str(folder), name))
            self.bytes_read += size

    def _read(self, path: Path, file: BinaryIO) -> Iterator[Piece]:
        raise NotImplementedError("files of folders are read by `parse`")

    def parse(self, data: tuple[str, str]) -> Record:
        path = Path(*data)
        try:
            content = path.read_bytes()
            date = path.stat().st_mtime
        except OSError as error:
            raise RecordError(f"cannot be read ({error.strerror})") from error
        if path.suffix.lower() in HTML:
            return Record(decode_html(content), True, data[1], date)
        try:
            text = content.decode().removeprefix("\ufeff")
        except UnicodeDecodeError as error:
            raise RecordError(f"not utf-8 ({error.reason} at {error.start})") from error
        return Record(text, False, data[1], date)

    def write(self, file: BinaryIO, path: Path, keep: Sequence[int]) -> None:
        raise NotImplementedError("folders are copied")

    def copy(self, folder: Path, keep: Sequence[int]) -> int:
        """Copy the files whose element of *keep* is not zero into *folder*, with their dates.

        Return their total size in bytes.
        """
        size = self.bytes_read = 0
        for (source, name), (size_before, _), is_unique in zip(
            self._names, self._states, keep, strict=True
        ):
            self.bytes_read += size_before
            if is_unique:
                target = folder / name
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source / name, target)
                size += target.stat().st_size
        return size


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
