"""``dedup ledger``: a ledger made of another one, or of the records in feeds."""

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory

from dedup.cli.ledgers import ledger_file, place_of, texts_of_feed, with_log
from dedup.cli.options import add_field, add_method, check_new, method_of, scope_of
from dedup.cli.terminal import show_line
from dedup.record_field import FieldReader, FieldRecord
from dedup.records import Fields, Format, RawRecord, RecordError, format_of
from dedup.records.lines import JsonLines, without_verdict
from dedup.stores.copying import check_target, copy_to_log
from dedup.stores.edit import rebuild, reindex
from dedup.stores.ledger_file import is_sqlite
from dedup.stores.server_url import ServerUrl
from dedup.units import Count

EXAMPLES = """\
examples:
  dedup ledger pages.sqlite -o redis://localhost:6379/0                   copy it
  dedup ledger redis://localhost:6379/0 -o pages.sqlite
  dedup ledger pages.sqlite -o by-host.sqlite --scope host                convert it
  dedup ledger pages.sqlite -o verified.sqlite --method verified --texts pages.jsonl
  dedup ledger pages.jsonl more.jsonl -o pages.sqlite                     make it again

A ledger is a file, or the URL of a store that crawls share, which may go on while it is read. A
store that crawls use, or that is not empty, is not written.

Sketches of another method are computed from the texts in the feeds of the crawls, which must have
the main text in a field (DEDUP_FIELDS). A page whose text is not there is stored again when it is
met.

A ledger that is lost is made again of feeds whose items have the records of their pages
(DEDUP_SKETCH_FIELD), the oldest feed first; --method is that of the crawls.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("inputs", nargs="+", type=place_of, metavar="INPUT",
        help="a ledger, a file or the URL of a shared store; or feeds with the records of pages"
    )  # fmt: skip
    parser.add_argument("-o", "--output", type=place_of, required=True, metavar="LEDGER",
        help="the new ledger, a file or the URL of a shared store; the old one stays as it is"
    )  # fmt: skip
    add_method(parser, default=None)
    parser.add_argument("--scope", metavar="NAME", help="the new scope, as in DEDUP_SCOPE")
    parser.add_argument("--texts", nargs="+", type=Path, default=[], metavar="FEED",
        help="for another method: JSONL feeds with the main texts of the pages")  # fmt: skip
    for what, default in (("text", "text"), ("key", "url"), ("record", "dedup_record")):
        add_field(parser, what, default)


def run(options: argparse.Namespace) -> None:
    first = options.inputs[0]
    is_ledger = isinstance(first, ServerUrl) or (first.is_file() and is_sqlite(first))
    if is_ledger and len(options.inputs) > 1:
        raise ValueError(f"{first} is a ledger: give one, or several feeds")
    if options.texts and not (is_ledger and options.method):
        raise ValueError("--texts is for a ledger and --method")
    if isinstance(options.output, Path):
        check_new(options.output)
    else:
        with_log(options.output, check_target)
    if not is_ledger:
        _rebuild(options)
        return
    method = None if options.method is None else method_of(options.method)
    scope = scope_of(options.scope)
    with (
        ledger_file(first) as (source, name),
        _new_file(options, name or "the converted ledger") as target,
    ):
        pages, without_text = reindex(
            source,
            target,
            name=name,
            method=method,
            scope=None if scope is None else scope.name,
            texts=chain.from_iterable(texts_of_feed(path, options) for path in options.texts),
        )
    show_line(f"{options.output}: {Count(pages):page}")
    if without_text:
        show_line(
            f"{Count(without_text):page} without a text: stored again when met; --texts "
            "takes them from feeds"
        )


def _rebuild(options: argparse.Namespace) -> None:
    if options.scope:
        raise ValueError("--scope is for a ledger: make it again first, then convert it")
    method = method_of(options.method or "simhash")
    reader, fields = FieldReader(method), Fields(options.record_field, is_object=True)
    formats = [(path, format_of([path])([path], fields)) for path in options.inputs]
    with _new_file(options, "the new ledger") as target:
        feeds = ((path, _records(feed, reader)) for path, feed in formats)
        pages, passed_over, first = rebuild(target, method, feeds)
    show_line(f"{options.output}: {Count(pages):page}")
    if passed_over:
        show_line(
            f"{Count(passed_over):item is|items are} passed over, to be stored again when met; the "
            f"first: {first}"
        )


@contextmanager
def _new_file(options: argparse.Namespace, name: str) -> Iterator[Path]:
    """Yield the file to write the new ledger into; what is written is moved if that is a store.

    *name* is what messages call what is written then.
    """
    output = options.output
    if isinstance(output, Path):
        yield output
        return
    with TemporaryDirectory(prefix="dedup-") as folder:
        file = Path(folder, "pages.sqlite")
        yield file
        with_log(output, lambda log: copy_to_log(file, log, name))


def _records(feed: Format, reader: FieldReader) -> Iterator[FieldRecord | RecordError]:
    def read(raw: RawRecord) -> FieldRecord:
        item = feed.parse(raw.data)
        if isinstance(feed, JsonLines) and without_verdict(raw.data) is not raw.data:
            raise ValueError("it was dropped, so nothing says that it is stored")
        if not item.content:
            raise ValueError(f"it has no field {feed.fields.content!r}")
        [found] = reader.read([item.content])
        if isinstance(found, ValueError):
            raise found
        return found

    return feed.read_each(read)
