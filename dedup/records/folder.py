"""A folder of files, each of which is a record."""

import os
import shutil
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any, BinaryIO

from dedup.records.base import Fields, Form, Item, Record, RecordError
from dedup.records.decoding import decoded_html

HTML = (".html", ".htm", ".xhtml")
TEXT = (".txt", ".text", ".md")


class Folder(Form):
    """Files of HTML or text in folders and what is below them, by name; others are left alone.

    The key is the path below the folder, the date that of the last change. Hidden files and
    folders are left out, links to folders are not followed.
    """

    name = "folder"

    def __init__(self, paths: Sequence[Path], fields: Fields) -> None:
        self._names = [(folder, name) for folder in paths for name in _names_in(folder)]
        below = [name for _, name in self._names]
        if len(paths) > 1 and len(set(below)) < len(below):
            twice = next(name for n, name in enumerate(below) if name in below[:n])
            raise RecordError(
                f"{twice} is in more than one of the folders; scan what is above them"
            )
        super().__init__(paths, fields)

    def _files(self) -> Sequence[Path]:
        return [folder / name for folder, name in self._names]

    @property
    def has_html(self) -> bool:
        return any(name.lower().endswith(HTML) for _, name in self._names)

    @property
    def state(self) -> list[list[Any]]:
        """What is equal as long as the files are: of each folder, one digest of them all."""
        digests = {folder: blake2b(digest_size=16) for folder in self.paths}
        for (folder, name), state in zip(self._names, self._found, strict=True):
            digests[folder].update(f"{name}\0{state}\0".encode("utf-8", "surrogateescape"))
        return [[str(path.resolve()), digest.hexdigest()] for path, digest in digests.items()]

    def items(self) -> Iterator[Item]:
        for number, ((folder, name), (size, _)) in enumerate(
            zip(self._names, self._found, strict=True), 1
        ):
            yield Item(str(folder / name), number, size, (str(folder), name))

    def record(self, raw: tuple[str, str]) -> Record:
        path = Path(*raw)
        try:
            data = path.read_bytes()
            date = path.stat().st_mtime
        except OSError as error:
            raise RecordError(f"it cannot be read ({error.strerror})") from error
        if path.suffix.lower() in HTML:
            return Record(decoded_html(data), True, raw[1], date)
        try:
            text = data.decode(self.fields.encoding).removeprefix("\ufeff")
        except UnicodeDecodeError as error:
            encoding = self.fields.encoding
            raise RecordError(f"not {encoding} ({error.reason} at {error.start})") from error
        return Record(text, False, raw[1], date)

    def write(self, file: BinaryIO, path: Path, keep: Sequence[int]) -> None:
        raise NotImplementedError("folders are copied")

    def copy(self, folder: Path, keep: Sequence[int]) -> int:
        """Copy the files whose element of *keep* is not zero into *folder*, with their dates.

        Returns how many bytes these are.
        """
        size = 0
        for (source, name), kept in zip(self._names, keep, strict=True):
            if kept:
                target = folder / name
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source / name, target)
                size += target.stat().st_size
        return size


def _names_in(folder: Path) -> list[str]:
    names = []
    for where, folders, files in os.walk(folder, onerror=_raise):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in files:
            path = Path(where, name)
            if path.suffix.lower() in HTML + TEXT and not name.startswith(".") and path.is_file():
                names.append(path.relative_to(folder).as_posix())
    return sorted(names)


def _raise(error: OSError) -> None:
    raise error
