"""Files of records, in the forms that pages are kept in: read in order, written back unchanged."""

from collections.abc import Sequence
from pathlib import Path

from dedup.records.base import Fields, Form, Item, Record, RecordError
from dedup.records.compressed import COMPRESSIONS
from dedup.records.delimited import Delimited
from dedup.records.folder import Folder
from dedup.records.lines import JsonLines
from dedup.records.parquet import Parquet
from dedup.records.warc import Warc

FORMS: dict[str, type[Form]] = {
    "jsonl": JsonLines,
    "csv": Delimited,
    "parquet": Parquet,
    "warc": Warc,
    "folder": Folder,
}

__all__ = [
    "FORMS",
    "Fields",
    "Folder",
    "Form",
    "Item",
    "Record",
    "RecordError",
    "form_of",
    "form_of_name",
]


def form_of(paths: Sequence[Path]) -> type[Form]:
    """Return the one form that *paths* have by their suffixes.

    Raises RecordError if they have different ones or none, or do not exist.
    """
    kinds = {path: _form_of(path) for path in paths}
    for path, kind in kinds.items():
        if kind is not kinds[paths[0]]:
            raise RecordError(
                f"all inputs must have one form, and {path} is no {kinds[paths[0]].name}"
            )
    return kinds[paths[0]]


def _form_of(path: Path) -> type[Form]:
    if path.is_dir():
        return Folder
    if not path.exists():
        raise RecordError(f"{path} does not exist")
    if not path.is_file():  # it is read twice
        raise RecordError(f"{path} is no regular file")
    return form_of_name(path)


def form_of_name(path: Path) -> type[Form]:
    """Return the form of a file by the suffixes of its name; raises RecordError if it has none."""
    name = path.name.lower()
    compression = next((end for end in COMPRESSIONS if name.endswith(end)), "")
    for form in FORMS.values():
        if name.removesuffix(compression).endswith(form.suffixes):
            if compression and compression not in form.compressions:
                raise RecordError(f"{path}: {form.name} with {compression} cannot be read")
            return form
    suffixes = [suffix for form in FORMS.values() for suffix in form.suffixes]
    raise RecordError(
        f"{path} is of no known form: its name must end in one of {', '.join(suffixes)} "
        f"({', '.join(COMPRESSIONS)} after it), or it must be a folder"
    )
