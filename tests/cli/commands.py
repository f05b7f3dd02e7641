"""The command, run as people and programs run it."""

from contextlib import redirect_stderr, redirect_stdout
from io import StringIO

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
