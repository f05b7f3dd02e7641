"""The files that a command reads and writes."""

import argparse
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dedup.cli.errors import CommandError


def json_lines(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each object of a JSONL file after its file and line, for messages.

    Raises CommandError for a line that is not an object, and for a file that cannot be read.
    """
    try:
        with path.open(encoding="utf-8-sig") as lines:
            for number, line in enumerate(lines, 1):
                where = f"{path}, line {number}"
                if not line.strip():
                    continue
                try:
                    value = json.loads(line)
                except (ValueError, RecursionError) as error:
                    raise CommandError(f"{where}: not a JSON object") from error
                if not isinstance(value, dict):
                    raise CommandError(f"{where}: not a JSON object")
                yield where, value
    except OSError as error:
        raise CommandError(f"{path} cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise CommandError(f"{path} is not UTF-8 ({error})") from error


def add_overwrite(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--overwrite", action="store_true", help="replace output files that exist")


def check_outputs(options: argparse.Namespace, *paths: Path | None) -> None:
    outputs = [path for path in paths if path is not None]
    for path in outputs:
        folder = path.resolve().parent
        if path.is_dir() or not folder.is_dir():
            raise CommandError(f"{path} must be a file in a folder that exists")
        if path.exists() and not path.is_file():
            raise CommandError(f"{path} is not a regular file")
        if (path.exists() or path.is_symlink()) and not options.overwrite:
            raise CommandError(f"{path} exists; --overwrite replaces it")
        if not os.access(folder, os.W_OK | os.X_OK):
            raise CommandError(f"{path} cannot be written: its folder is not writable")
    if len({path.resolve() for path in outputs}) < len(outputs):
        raise CommandError(f"{outputs[0]} is given for two outputs")
