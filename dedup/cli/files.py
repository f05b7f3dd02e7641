"""The files that a command makes."""

import os
from pathlib import Path

from dedup.cli.errors import CommandError


def check_new(*paths: Path | None) -> None:
    """Raise CommandError unless *paths* can be made; ``None`` is no file."""
    outputs = [path for path in paths if path]
    for path in outputs:
        folder = path.resolve().parent
        if os.path.lexists(path):
            raise CommandError(f"{path} exists: remove it, or choose another name")
        if not folder.is_dir():
            raise CommandError(f"{path} must be in a folder that exists")
        if not os.access(folder, os.W_OK | os.X_OK):
            raise CommandError(f"{path} cannot be written: its folder is not writable")
    if len({path.resolve() for path in outputs}) < len(outputs):
        raise CommandError(f"{outputs[0]} is given for two outputs")
