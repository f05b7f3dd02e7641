"""Files of records: read in order, and written back unchanged."""

from collections.abc import Sequence
from pathlib import Path

from dedup.records.base import Fields, Format, RawRecord, Record, RecordError
from dedup.records.delimited import Delimited
from dedup.records.folder import Folder
from dedup.records.lines import COMPRESSIONS, JsonLines
from dedup.records.parquet import Parquet
from dedup.records.warc import Warc

FORMATS: dict[str, type[Format]] = {
    kind.name: kind for kind in (JsonLines, Delimited, Parquet, Warc, Folder)
}

__all__ = [
    "FORMATS",
    "Fields",
    "Folder",
    "Format",
    "RawRecord",
    "Record",
    "RecordError",
    "format_of",
    "format_of_name",
]


def format_of(paths: Sequence[Path]) -> type[Format]:
    """Return the format that all *paths* share, by their suffixes.

    Raises RecordError if the formats differ, one is unknown, or a path does not exist.
    """
    for path in paths:
        if not path.exists():
            raise RecordError(f"{path} does not exist")
        if not (path.is_file() or path.is_dir()):
            raise RecordError(f"{path} is not a regular file, which can be read twice")
    kinds = [Folder if path.is_dir() else format_of_name(path) for path in paths]
    for path, kind in zip(paths, kinds, strict=True):
        if kind is not kinds[0]:
            raise RecordError(f"all inputs must have one format, and {path} is not {kinds[0].name}")
    return kinds[0]


def format_of_name(path: Path) -> type[Format]:
    """Return the format of a file by its suffixes; raises RecordError if they are unknown."""
    name = path.name.lower()
    compression = next((end for end in COMPRESSIONS if name.endswith(end)), "")
    for format_ in FORMATS.values():
        if name.removesuffix(compression).endswith(format_.suffixes):
            if compression and compression not in format_.compressions:
                raise RecordError(f"{path}: {format_.name} with {compression} cannot be read")
            return format_
    suffixes = [suffix for format_ in FORMATS.values() for suffix in format_.suffixes]
    raise RecordError(
        f"{path} has an unknown format: its name must end in one of {', '.join(suffixes)} "
        f"({', '.join(COMPRESSIONS)} after it), or it must be a folder"
    )
