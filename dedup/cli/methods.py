"""``dedup methods``: what DEDUP_METHOD may name."""

import argparse
import inspect

from dedup.cli.options import add_json
from dedup.cli.terminal import print_json, show_table
from dedup.methods import METHODS

EXAMPLES = """\
examples:
  dedup methods
  dedup methods --json | jq 'keys'
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_json(parser)


def run(options: argparse.Namespace) -> None:
    arguments = {name: kind().parameters for name, kind in METHODS.items()}
    if options.json:
        print_json(arguments)
        return
    rows = []
    for name, kind in METHODS.items():
        summary = (inspect.getdoc(kind) or "").partition("\n")[0]
        shown = (f"{argument}={value!r}" for argument, value in arguments[name].items())
        rows.append((name, summary, ", ".join(shown)))
    show_table(("method", "what it compares", "arguments"), rows)
