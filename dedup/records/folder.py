"""A folder of files, each of which is a record."""

import os
import shutil
from collections import deque
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any, BinaryIO

from dedup.records.base import Fields, Format, RawRecord, Record, RecordError
from dedup.records.decoding import decoded_html

HTML = (".html", ".htm", ".xhtml")
TEXT = (".txt", ".text", ".md")


class Folder(Format):
    """Files of HTML or text in folders and what is below them, by name; others are left alone.

    The key is the path below the folder, the date that of the last change. Hidden files and
    folders are left out, and so are links, which may lead to files that are nobody's to be copied.
    """

    name = "folder"

    def __init__(
        self, paths: Sequence[Path], fields: Fields, *, follow_links: bool = False
    ) -> None:
        """Find the files; with *follow_links*, those that links lead to as well.

        Each folder is then read once, by the first of its names.
        """
        found = [(folder, *_names_in(folder, follow_links=follow_links)) for folder in paths]
        self._names = [(folder, name) for folder, names, _ in found for name in names]
        self._state_of = os.stat if follow_links else os.lstat  # shows what has become a link
        self.links_left_out = sum(links for _, _, links in found)
        below = [name for _, name in self._names]
        if len(paths) > 1 and len(set(below)) < len(below):
            twice = next(name for n, name in enumerate(below) if name in below[:n])
            raise RecordError(
                f"{twice} is in more than one of the folders; scan what is above them"
            )
        super().__init__(paths, fields)

    def _files(self) -> Sequence[Path]:
        return [folder / name for folder, name in self._names]

    def _states(self) -> list[tuple[int, int]]:
        return [(state.st_size, state.st_mtime_ns) for state in map(self._state_of, self._files())]

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

    def raw_records(self) -> Iterator[RawRecord]:
        for number, ((folder, name), (size, _)) in enumerate(
            zip(self._names, self._found, strict=True), 1
        ):
            yield RawRecord(str(folder / name), number, size, (str(folder), name))

    def parse(self, data: tuple[str, str]) -> Record:
        path = Path(*data)
        try:
            content = path.read_bytes()
            date = path.stat().st_mtime
        except OSError as error:
            raise RecordError(f"it cannot be read ({error.strerror})") from error
        if path.suffix.lower() in HTML:
            return Record(decoded_html(content), True, data[1], date)
        try:
            text = content.decode(self.fields.encoding).removeprefix("\ufeff")
        except UnicodeDecodeError as error:
            encoding = self.fields.encoding
            raise RecordError(f"not {encoding} ({error.reason} at {error.start})") from error
        return Record(text, False, data[1], date)

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


def _names_in(folder: Path, *, follow_links: bool) -> tuple[list[str], int]:
    """Return the names of the files below *folder*, in order, and how many links were left out."""
    names: list[str] = []
    left_out = 0
    seen: set[tuple[int, int]] = set()
    # What is in the folder comes first: a link to a part of it adds nothing.
    folders, linked = deque([folder]), deque[Path]()
    while folders or linked:
        where = folders.popleft() if folders else linked.popleft()
        state = where.stat()
        if (state.st_dev, state.st_ino) in seen:
            continue
        seen.add((state.st_dev, state.st_ino))
        with os.scandir(where) as entries:
            found = sorted(entries, key=lambda entry: entry.name)
        for entry in found:
            path = Path(entry.path)
            is_folder = os.path.isdir(path)  # of a link, too, and never an error
            is_page = path.suffix.lower() in HTML + TEXT and os.path.isfile(path)
            if entry.name.startswith(".") or not (is_folder or is_page):
                continue
            if entry.is_symlink() and not follow_links:
                left_out += 1
            elif is_folder:
                (linked if entry.is_symlink() else folders).append(path)
            else:
                names.append(path.relative_to(folder).as_posix())
    return sorted(names), left_out
