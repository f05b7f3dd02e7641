"""``dedup reindex``: a ledger for other settings, made of one that there is."""

import argparse
from collections.abc import Iterable, Iterator
from pathlib import Path

from dedup.cli.errors import CommandError
from dedup.cli.files import add_overwrite, check_outputs, json_lines
from dedup.cli.methods import create_method, json_object, method_class
from dedup.cli.terminal import progress
from dedup.scopes import SCOPES
from dedup.stores.reindex import reindex
from dedup.text import printable

EXAMPLES = """\
examples:
  dedup reindex pages.sqlite -o by-host.sqlite --scope host
  dedup reindex pages.sqlite -o verified.sqlite --method verified --texts pages.jsonl

Sketches of another method are computed from the texts in the feeds of the crawls, which must have
the main text in a field (DEDUP_FIELDS). A page whose text is not there is stored again when it is
met.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ledger", type=Path, metavar="LEDGER", help="the file of DEDUP_INDEX")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FILE",
        help="the new ledger; the old one stays as it is")  # fmt: skip
    parser.add_argument("--method", metavar="NAME", help="the new method, as in DEDUP_METHOD")
    parser.add_argument("--args", default="{}", metavar="JSON",
        help="arguments of the method, as a JSON object (see DEDUP_METHOD_ARGS)")  # fmt: skip
    parser.add_argument("--scope", choices=SCOPES, help="the new scope, as in DEDUP_SCOPE")
    parser.add_argument("--texts", nargs="+", type=Path, default=[], metavar="FEED",
        help="for --method: JSONL feeds with the main texts of the pages")  # fmt: skip
    parser.add_argument("--text-field", default="text", metavar="NAME",
        help="the field with the main text (default: text)")  # fmt: skip
    parser.add_argument("--url-field", default="url", metavar="NAME",
        help="the field with the URL (default: url)")  # fmt: skip
    add_overwrite(parser)


def run(options: argparse.Namespace) -> None:
    if options.method is None and options.scope is None:
        raise CommandError("nothing is to be converted: give --method or --scope")
    arguments = json_object("--args", options.args)
    if arguments and options.method is None:
        raise CommandError("--args needs --method")
    method = (
        None if options.method is None else create_method(method_class(options.method), arguments)
    )
    check_outputs(options, options.output)
    if options.output.resolve() == options.ledger.resolve():
        raise CommandError(f"{options.output} is the ledger itself; give the new one another name")
    with progress(None) as advance:
        done = reindex(
            options.ledger,
            options.output,
            method=method,
            scope=options.scope,
            texts=_texts(options.texts, options.url_field, options.text_field),
            advance=advance,
        )
    print(f"{printable(str(options.output))}: {done.pages:,} pages")
    if done.without_text:
        print(f"{done.without_text:,} pages are without a text, and are stored again when met")


def _texts(paths: Iterable[Path], url_field: str, text_field: str) -> Iterator[tuple[str, str]]:
    for path in paths:
        for _, record in json_lines(path):
            url, text = record.get(url_field), record.get(text_field)
            if isinstance(url, str) and isinstance(text, str):
                yield url, text
