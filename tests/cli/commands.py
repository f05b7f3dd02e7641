"""The command, run as people and programs run it."""

import json
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO

import pyarrow.parquet as pq

from dedup.cli import main


def run(capsys, *arguments):
    """The exit code of the command, its output and what it says on stderr."""
    code = main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


class Terminal(StringIO):
    """A terminal, and all that was written to it."""

    def isatty(self):
        return True


def run_into(output, *arguments, errors=None):
    """The exit code of the command that writes into the file *output*, and what it says."""
    errors = errors or StringIO()
    with redirect_stdout(output), redirect_stderr(errors):
        code = main([str(argument) for argument in arguments])
    return code, errors.getvalue()


def scanned(path, *arguments):
    """The exit code of a scan, the places of the records that it kept, and its figures.

    If it fails, what it says in place of them.
    """
    target, output = path.with_name(f"unique{path.suffix}"), StringIO()
    target.unlink(missing_ok=True)
    code, err = run_into(output, "scan", path, "-o", target, "--json", *arguments)
    if code:
        return code, None, err
    kept = lines_of(target)
    places = [place for place, line in enumerate(lines_of(path)) if line in kept]
    return code, places, json.loads(output.getvalue())


def lines_of(path):
    if path.suffix == ".parquet":
        return pq.read_table(path).to_pylist()
    lines = path.read_text().splitlines()
    return lines[1:] if path.suffix == ".csv" else lines
