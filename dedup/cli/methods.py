"""``dedup methods``: what DEDUP_METHOD may name."""

import argparse
import inspect

from dedup.cli.options import add_json
from dedup.cli.terminal import new_table, print_json, show
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
    table = new_table("method", "what it compares", "arguments")
    for name, kind in METHODS.items():
        summary = (inspect.getdoc(kind) or "").partition("\n")[0]
        defaults = (f"{argument}={value!r}" for argument, value in arguments[name].items())
        table.add_row(name, summary, ", ".join(defaults))
    show(table)
