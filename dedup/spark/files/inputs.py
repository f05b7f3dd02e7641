"""Names of files and folders on any file system -> the files to read, in the order of a scan."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from pyspark.sql import SparkSession

from dedup.records import Fields, Folder, Format, RecordError, format_of_name
from dedup.records.folder import HTML, TEXT
from dedup.records.lines import JsonLines
from dedup.records.parquet import Parquet
from dedup.spark.files.storage import Entry, Storage, local_path

_HIDDEN = (".", "_")
# Of a millisecond, in which file systems tell the time.
_NANOSECONDS = 1_000_000


class InputFile(NamedTuple):
    """A file: its whole *path*, and the *name* that messages call it.

    *below* is its path below the folder that was named, where folders are the records.
    """

    path: str
    name: str
    size: int
    modified: int
    below: str = ""


class Inputs(NamedTuple):
    """All files of a scan, in their order, which have one format.

    *named* are the whole paths of the files and folders that were named, or match a glob.
    """

    kind: type[Format]
    files: Sequence[InputFile]
    links_left_out: int = 0
    named: Sequence[str] = ()

    def have(self, path: str) -> bool:
        """Return whether a whole *path* is an input, or in one."""
        wanted = _resolved(path)
        return any(
            wanted == root or wanted.startswith(root.rstrip("/") + "/")
            for root in map(_resolved, self.named)
        )

    @property
    def nbytes(self) -> int:
        """The total size of the files."""
        return sum(file.size for file in self.files)

    @property
    def has_html(self) -> bool:
        """Whether a folder has a file of HTML."""
        return any(file.below.lower().endswith(HTML) for file in self.files)

    @property
    def is_split(self) -> bool:
        """Whether several tasks can read one of the files."""
        if self.kind is JsonLines:
            return not any(
                PurePosixPath(file.path).suffix in (".gz", ".zst") for file in self.files
            )
        return self.kind is Parquet

    @property
    def suffix(self) -> str:
        """What the names of output files of this format end in."""
        first = PurePosixPath(self.files[0].path.lower())
        # Spark has no .zst without a library of the system's.
        compression = ".gz" if first.suffix == ".gz" else ""
        base = first.name.removesuffix(".gz").removesuffix(".zst")
        return PurePosixPath(base).suffix + compression


def find_inputs(session: SparkSession, names: Sequence[str]) -> Inputs:
    """Return the files that *names* name: files, globs, folders of such files, folders of pages.

    Raises RecordError if one does not exist, or if their formats differ or are unknown.
    """
    storage = Storage(session)
    found = [_inputs_of(storage, name) for name in names]
    kind = _one_format(zip(names, (inputs.kind for inputs in found), strict=True))
    files = [file for inputs in found for file in inputs.files]
    if kind is Folder and (repeated := _first_repeated(file.below for file in files)):
        raise RecordError(
            f"{repeated} is in more than one of the folders; scan their parent folder instead"
        )
    if twice := _first_repeated(file.path for file in files):
        name = next(file.name for file in files if file.path == twice)
        raise RecordError(f"{name} is named twice")
    named = [path for inputs in found for path in inputs.named]
    return Inputs(kind, files, sum(inputs.links_left_out for inputs in found), named)


def _one_format(kinds: Iterable[tuple[str, type[Format]]]) -> type[Format]:
    """Return the format that all have, at least one; raises RecordError, naming one that differs.

    *kinds*: the names of inputs, and the format of each.
    """
    (_, kind), *others = kinds
    for name, other in others:
        if other is not kind:
            raise RecordError(f"all inputs must have one format, and {name} is not {kind.name}")
    return kind


def _first_repeated(names: Iterable[str]) -> str | None:
    """Return the first of *names* that comes again."""
    return next((name for name, count in Counter(names).items() if count > 1), None)


def _inputs_of(storage: Storage, name: str) -> Inputs:
    entries = storage.find(name)
    if not entries:
        raise RecordError(f"{name} does not exist")
    is_itself = len(entries) == 1
    parts = [
        _of_folder(storage, entry, name if is_itself else entry.path)
        if entry.is_folder
        else _of_file(entry, name if is_itself else entry.path)
        for entry in entries
    ]
    paths = [entry.path for entry in entries]
    kind = _one_format(zip(paths, (inputs.kind for inputs in parts), strict=True))
    files = [file for inputs in parts for file in inputs.files]
    links = sum(inputs.links_left_out for inputs in parts)
    return Inputs(kind, files, links, paths)


def _of_file(entry: Entry, name: str) -> Inputs:
    if PurePosixPath(entry.path).name.startswith(_HIDDEN):
        raise RecordError(f"{name}: Spark does not read files whose names begin with . or _")
    kind = format_of_name(Path(name))
    return Inputs(kind, [InputFile(entry.path, name, entry.size, entry.modified)])


def _of_folder(storage: Storage, entry: Entry, name: str) -> Inputs:
    """Return the pages in a folder, or if it has none the files of records in it."""
    here = local_path(entry.path)
    files = sorted(_visible(storage, entry.path))
    belows = [below for below, *_ in files]
    _check_no_doubt(name, belows)
    if here is not None:
        folder = Folder([here], Fields())
        # Links to records are followed, as Spark does.
        if folder.names or (folder.links_left_out and not any(map(_has_records, belows))):
            return Inputs(Folder, list(_pages_here(folder, name)), folder.links_left_out)
    pages = [
        InputFile(path, f"{name}/{below}", size, modified, below)
        for below, path, size, modified in files
        if below.lower().endswith(HTML + TEXT)
    ]
    if pages or not files:
        return Inputs(Folder, pages)
    kind = _one_format((f"{name}/{below}", format_of_name(Path(name) / below)) for below in belows)
    return Inputs(
        kind,
        [
            InputFile(path, f"{name}/{below}", size, modified)
            for below, path, size, modified in files
        ],
    )


def _check_no_doubt(name: str, belows: Sequence[str]) -> None:
    """Raise RecordError for a folder of records that has a README: that is not what was meant."""
    pages = [below for below in belows if below.lower().endswith(HTML + TEXT)]
    records = [below for below in belows if _has_records(below)]
    if pages and records and not any(below.lower().endswith(HTML) for below in pages):
        raise RecordError(
            f"{name} has both {pages[0]} and {records[0]}; name those that are meant, as in "
            f"'{name}/*{''.join(PurePosixPath(records[0]).suffixes)}'"
        )


def _resolved(path: str) -> str:
    """Return a whole *path*, of this machine without links."""
    here = local_path(path)
    return path if here is None else f"file:{here.resolve()}"


def _has_records(name: str) -> bool:
    with suppress(RecordError):
        return format_of_name(Path(name)) is not Folder
    return False


def _pages_here(folder: Folder, name: str) -> Iterator[InputFile]:
    for (root, below), (size, modified) in zip(folder.names, folder.states, strict=True):
        path = f"file:{root.absolute() / below}"
        yield InputFile(path, f"{name}/{below}", size, modified // _NANOSECONDS, below)


def _visible(storage: Storage, folder: str) -> Iterator[tuple[str, str, int, int]]:
    """Yield the path below *folder*, the whole path and the state of each file."""
    root = folder.rstrip("/") + "/"
    for entry in storage.files_below(folder):
        below = entry.path.removeprefix(root)
        if not any(part.startswith(_HIDDEN) for part in below.split("/")):
            yield below, entry.path, entry.size, entry.modified


def check_unchanged(storage: Storage, inputs: Inputs) -> None:
    """Raise RecordError if a file has changed since it was found."""
    for file in inputs.files:
        here = local_path(file.path)
        if here is not None:
            state = here.lstat() if inputs.kind is Folder else here.stat()
            now = state.st_size, state.st_mtime_ns // _NANOSECONDS
        else:
            now = next(((found.size, found.modified) for found in storage.find(file.path)), (0, 0))
        if now != (file.size, file.modified):
            raise RecordError(f"{file.name} has changed while it was read; scan it again")
