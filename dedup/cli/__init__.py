"""The ``dedup`` command; the module of each subcommand is imported when it is called."""

import argparse
import os
import re
import signal
import sys
from collections.abc import Container, Sequence
from importlib import import_module
from typing import NoReturn

from dedup import __version__

_LONGEST_MESSAGE = 2000
_SHELLS = ("bash", "zsh", "tcsh")
# Of the URL of a shared store, also where it was taken for a path.
_SECRET = re.compile(r"\b((?:rediss?|valkeys?|unix|postgres(?:ql)?):/{1,2})\S*@")

COMMANDS = {
    "evaluate": "score methods on labelled pages, or find the threshold that suits yours",
    "explain": "say what became of a page, or why two pages are, or are not, near-duplicates",
    "ledger": "copy a ledger, convert it, or make it again of feeds",
    "methods": "list the methods",
    "report": "show what a ledger holds, or write its HTML report",
    "restore": "write items that crawls dropped as a feed would have them",
    "scan": "remove the duplicates from files or folders of pages",
}
"""The summaries of the commands; the module of a command has EXAMPLES, add_arguments and run."""

_OLD_NAMES = {
    "calibrate": "evaluate --sample, then evaluate --answers",
    "lexicon": "evaluate --lexicon",
    "reindex": "ledger",
    "stats": "report",
    "why": "explain URL --ledger LEDGER",
}


def main(arguments: Sequence[str] | None = None, program: str = "dedup") -> int:
    """Run the command; return its exit code: 0, 2 for wrong input, 130 after Ctrl-C.

    A command may return another one, which its own page of the documentation explains.
    *program*: the name to use in messages.
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    command = next((argument for argument in arguments if argument in COMMANDS), None)
    name = program if command is None else f"{program} {command}"
    if sys.stdout is None:  # closed by the caller
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115  # for the length of the process
    message = ""
    try:
        code = _run(arguments, program, command)
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # as in: dedup evaluate ... | head
        code = 0
    except (ValueError, OSError) as error:
        code, message = 2, f"{name}: {_printable(_message_of(error))}"
    except MemoryError:
        code, message = 2, f"{name}: out of memory"
    except KeyboardInterrupt:
        code, message = 128 + signal.SIGINT, "interrupted"
    if message:
        print(message, file=sys.stderr)
    try:
        sys.stdout.flush()
    except OSError:  # as on a full disk: otherwise Python tries it again at exit, and complains
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code


def _message_of(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename and error.strerror:
        return f"{error.filename} cannot be used ({error.strerror})"
    return str(error)


def _run(arguments: Sequence[str], program: str, command: str | None) -> int:
    parser = _parser(program, {command})
    try:
        options, others = parser.parse_known_args(arguments)
    except SystemExit:  # as after --help
        sys.stdout.flush()
        raise
    if options.print_completion:
        return _print_completion(program, options.print_completion)
    if options.command is None:
        parser.print_help()
        return 0
    if others:  # reported by the command's own parser, which names its help
        options.parser.error(f"unrecognized arguments: {' '.join(others)}")
    return options.run(options) or 0


def _print_completion(program: str, shell: str) -> int:
    try:
        import shtab
    except ImportError as error:
        message = "--print-completion needs: pip install 'scrapy-dedup[completion]'"
        raise ValueError(message) from error
    print(shtab.complete(_parser(program, COMMANDS), shell))
    return 0


def _printable(message: str) -> str:
    """Return *message* without what would control a terminal, or what nobody may see."""
    from dedup.text import printable  # slower to import than everything else here

    return printable(_SECRET.sub(r"\1", message), _LONGEST_MESSAGE)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        for old, new in _OLD_NAMES.items():
            if f"invalid choice: {old!r}" in message:
                message += f"; dedup {old} is now: dedup {new}"
        self.exit(2, f"{self.prog}: {_printable(message)}; see {self.prog} --help\n")


def _parser(program: str, names: Container[str | None]) -> argparse.ArgumentParser:
    parser = _Parser(prog=program, description="Near-duplicates of web pages.")
    parser.add_argument("--version", action="version", version=f"scrapy-dedup {__version__}")
    parser.add_argument("--print-completion", choices=_SHELLS, metavar="SHELL",
        help=f"print what makes a shell complete commands and options: {', '.join(_SHELLS)}"
    )  # fmt: skip
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")

    for name, summary in COMMANDS.items():
        subparser = commands.add_parser(
            name,
            help=summary,
            description=f"{summary[0].upper()}{summary[1:]}.",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        if name in names:
            module = import_module(f"dedup.cli.{name}")
            subparser.epilog = module.EXAMPLES
            module.add_arguments(subparser)
            subparser.set_defaults(run=module.run, parser=subparser)
    return parser
