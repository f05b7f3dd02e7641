"""The files that a command writes."""

import os
from collections.abc import Iterable
from pathlib import Path

from dedup.cli.errors import CommandError
from dedup.stores.shared.log_url import LogUrl


def check_outputs(
    *paths: Path | None, overwrite: bool, inputs: Iterable[Path | LogUrl] = ()
) -> None:
    """Raise CommandError unless *paths* can be written and are no *inputs*; ``None`` is no file."""
    outputs = [path for path in paths if path]
    read = {path.resolve() for path in inputs if isinstance(path, Path)}
    for path in outputs:
        if not read.isdisjoint({path.resolve(), *path.resolve().parents}):
            raise CommandError(f"{path} is an input, or in one")
        if problem := _problem_of(path, overwrite):
            raise CommandError(f"{path} {problem}")
    if len({path.resolve() for path in outputs}) < len(outputs):
        raise CommandError(f"{outputs[0]} is given for two outputs")


def _problem_of(path: Path, is_overwritten: bool) -> str | None:
    """Return why *path* cannot be written, ``None`` if it can."""
    folder = path.resolve().parent
    if path.is_dir() or not folder.is_dir():
        return "must be a file in a folder that exists"
    if path.exists() and not path.is_file():
        return "is not a regular file"
    if not is_overwritten and os.path.lexists(path):
        return "exists; --overwrite replaces it"
    if not os.access(folder, os.W_OK | os.X_OK):
        return "cannot be written: its folder is not writable"
    return None
