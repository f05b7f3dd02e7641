"""The ``dedup`` command: a file for each of its commands."""

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from typing import NoReturn

from dedup import __version__
from dedup.cli import calibrate, evaluate, explain, lexicon, reindex, report, scan, stats
from dedup.cli.common import CommandError
from dedup.text import printable

_LONGEST_MESSAGE = 2000

COMMANDS = {
    "calibrate": calibrate,
    "evaluate": evaluate,
    "explain": explain,
    "lexicon": lexicon,
    "reindex": reindex,
    "report": report,
    "scan": scan,
    "stats": stats,
}


def main(arguments: Sequence[str] | None = None, program: str = "dedup") -> int:
    """Run the command; return its exit code: 0, 2 for wrong input, 130 after Ctrl-C.

    *program*: what it was called as, for its messages.
    """
    parser = _parser(program)
    options, others = parser.parse_known_args(arguments)
    if options.command is None:
        parser.print_help()
        return 0
    if others:  # said by the command itself, so that its own options are shown
        options.parser.error(f"unrecognized arguments: {' '.join(others)}")
    if sys.stdout is None:  # closed by who called
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115  # for the length of the process
    try:
        options.run(options)
        sys.stdout.flush()
    except BrokenPipeError:  # as in: dedup evaluate ... | head
        _discard_output()
        return 0
    except (CommandError, ValueError, OSError) as error:
        message = printable(str(error), _LONGEST_MESSAGE)
        print(f"{program} {options.command}: {message}", file=sys.stderr)
        try:
            sys.stdout.flush()
        except OSError:  # as on a full disk
            _discard_output()
        return 2
    except MemoryError:
        print(f"{program} {options.command}: out of memory", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 128 + signal.SIGINT
    return 0


def _discard_output() -> None:
    """Discard what could not be written: at its end, Python would try again, and complain."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        super().error(printable(message, _LONGEST_MESSAGE))


def _parser(program: str) -> argparse.ArgumentParser:
    parser = _Parser(prog=program, description="Near-duplicates of web pages.")
    parser.add_argument("--version", action="version", version=f"scrapy-dedup {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")

    for name, command in COMMANDS.items():
        summary = command.SUMMARY
        subparser = commands.add_parser(
            name,
            help=summary,
            description=f"{summary[0].upper()}{summary[1:]}.",
            epilog=command.EXAMPLES,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.add_arguments(subparser)
        subparser.set_defaults(run=command.run, parser=subparser)
    return parser
