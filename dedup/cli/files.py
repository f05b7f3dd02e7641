"""The files that a command reads and writes."""

import argparse
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dedup.atomic_file import replacing
from dedup.cli.errors import CommandError

STDOUT = Path("-")
"""What --json takes for the standard output."""


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


def add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", type=Path, metavar="FILE",
        help="write everything as JSON to FILE; - is the standard output, in place of what is "
        "shown")  # fmt: skip
    add_overwrite(parser)


def write_json(path: Path | None, value: Any) -> None:
    """Write *value* to the file of --json, if it was given."""
    if path is None:
        return
    content = f"{json.dumps(value, indent=1)}\n"
    if path == STDOUT:
        sys.stdout.write(content)
    else:
        with replacing(path) as file:
            file.write(content.encode())


def check_numbers(options: argparse.Namespace, **least: int) -> None:
    """Raise CommandError if an option is lower than its value in *least*."""
    for name, number in least.items():
        if (value := getattr(options, name)) < number:
            raise CommandError(f"--{name.replace('_', '-')} must be {number} or more, got {value}")


def add_overwrite(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--overwrite", action="store_true", help="replace files that exist")


def check_outputs(options: argparse.Namespace, *paths: Path | None) -> None:
    """Raise CommandError unless *paths* can be written; ``None`` and "-" are no files."""
    outputs = [path for path in paths if path and path != STDOUT]
    for path in outputs:
        if problem := _problem_of(path, options.overwrite):
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
