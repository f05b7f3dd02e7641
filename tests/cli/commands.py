"""The command, run as people and programs run it, and pages of sites whose crawls it looks at."""

import json
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO

import pyarrow.parquet as pq
from texts import article, edited, page

from dedup.cli import main

TOWN = {
    "/a": page(article(1), title="The first"),
    "/b": page(edited(article(1)), title="The first"),
    "/c": page(article(2)),
    "/d": page(article(2)),
}
COPIES = {"/a": TOWN["/a"], "/near": TOWN["/b"], "/equal": TOWN["/a"]}


def run(capsys, *arguments):
    """The exit code of the command, its output and what it says on stderr."""
    code = main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def shown(capsys, *arguments):
    """What a command prints that goes well, and says nothing else."""
    code, out, err = run(capsys, *arguments)
    assert (code, err) == (0, "")
    return out


def json_of(capsys, *arguments):
    """What it prints with --json."""
    return json.loads(shown(capsys, *arguments, "--json"))


def refused(capsys, *arguments):
    """What the command says that does nothing, in one line after its name."""
    code, out, err = run(capsys, *arguments)
    message, *others = err.removeprefix(f"dedup {arguments[0]}: ").split("\n")
    assert (code, out, others, message == err.partition("\n")[0]) == (2, "", [""], False)
    return message


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


def contents(path):
    """The bytes of a file, or those of every file in a folder by their names."""
    if path.is_file():
        return path.read_bytes()
    files = [file for file in path.rglob("*") if file.is_file()]
    return {file.relative_to(path).as_posix(): file.read_bytes() for file in files}


def lines_of(path):
    if path.suffix == ".parquet":
        return pq.read_table(path).to_pylist()
    lines = path.read_text().splitlines()
    return lines[1:] if path.suffix == ".csv" else lines
