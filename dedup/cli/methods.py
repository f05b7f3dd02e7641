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
    shown = {name: ", ".join(f"{a}={v!r}" for a, v in of.items()) for name, of in arguments.items()}
    summaries = (inspect.getdoc(kind) or "" for kind in METHODS.values())
    rows = zip(
        METHODS, (text.partition("\n")[0] for text in summaries), shown.values(), strict=True
    )
    show_table(("method", "what it compares", "arguments"), rows)
