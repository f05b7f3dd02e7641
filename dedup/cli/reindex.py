"""``dedup reindex``: a ledger made of another one, or of the records in feeds."""

import argparse
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from dedup.cli.errors import CommandError
from dedup.cli.files import add_overwrite, check_outputs, json_lines
from dedup.cli.ledgers import LEDGER_HELP, ledger_file, name_of_copied, place_of, with_log
from dedup.cli.methods import (
    add_simplify_chinese,
    create_method,
    json_object,
    method_class,
    scope_of,
)
from dedup.cli.terminal import progress
from dedup.methods import Method
from dedup.record_field import FieldReader, FieldRecord
from dedup.records import Fields, Folder, Format, RawRecord, Record, RecordError, format_of
from dedup.records.warc import Warc
from dedup.scopes import Scope
from dedup.sqlite_file import LedgerError
from dedup.stores.edit import Reindexed, rebuild, reindex
from dedup.stores.reader import LedgerReader
from dedup.stores.shared.copying import check_target, copy_to_ledger, copy_to_log
from dedup.stores.shared.log_url import LogUrl
from dedup.stores.shared.places import open_log
from dedup.text import printable
from dedup.units import Count, count_of

EXAMPLES = """\
examples:
  dedup reindex pages.sqlite -o by-host.sqlite --scope host
  dedup reindex pages.sqlite -o verified.sqlite --method verified --texts pages.jsonl
  dedup reindex --records pages.jsonl more.jsonl -o pages.sqlite
  dedup reindex pages.sqlite -o redis://localhost:6379/0
  dedup reindex redis://localhost:6379/0 -o pages.sqlite

Sketches of another method are computed from the texts in the feeds of the crawls, which must have
the main text in a field (DEDUP_FIELDS). A page whose text is not there is stored again when it is
met.

A ledger is a file, or the URL of a store that crawls share, which may go on while it is read. A
store that crawls use is not written; one that holds pages is only replaced with --overwrite.

--records makes a ledger that is lost again, of feeds whose items have the records of their pages
(DEDUP_SKETCH_FIELD), the oldest feed first; --method and --args are those of the crawls. With
--scope, its pages are in another scope than theirs, which the fields of the items may tell.
"""

_ITEMS_AT_ONCE = 256
# A wrong name of a field shall not cost hours.
_ITEMS_WITHOUT_FIELD = 1_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ledger", type=place_of, nargs="?", metavar="LEDGER",
        help=LEDGER_HELP)  # fmt: skip
    parser.add_argument("--records", nargs="+", type=Path, default=[], metavar="FEED",
        help="in place of LEDGER: feeds with the records of pages")  # fmt: skip
    parser.add_argument("--record-field", default="dedup_record", metavar="NAME",
        help="the field with the record (default: dedup_record)")  # fmt: skip
    parser.add_argument("-o", "--output", type=place_of, required=True, metavar="LEDGER",
        help="the new ledger, a file or the URL of a shared store; the old one stays as it is"
    )  # fmt: skip
    parser.add_argument("--method", metavar="NAME", help="the new method, as in DEDUP_METHOD")
    parser.add_argument("--args", default="{}", metavar="JSON",
        help="arguments of the method, as a JSON object (as in DEDUP_METHOD)")  # fmt: skip
    add_simplify_chinese(parser)
    parser.add_argument("--scope", metavar="NAME", help="the new scope, as in DEDUP_SCOPE")
    parser.add_argument("--texts", nargs="+", type=Path, default=[], metavar="FEED",
        help="for --method: JSONL feeds with the main texts of the pages")  # fmt: skip
    parser.add_argument("--text-field", default="text", metavar="NAME",
        help="the field with the main text (default: text)")  # fmt: skip
    parser.add_argument("--url-field", default="url", metavar="NAME",
        help="the field of the URL (default: url)")  # fmt: skip
    add_overwrite(parser)


def run(options: argparse.Namespace) -> None:
    if bool(options.ledger) == bool(options.records):
        raise CommandError("give either LEDGER or --records")
    if options.records:
        _rebuild(options)
    else:
        _convert(options)


def _rebuild(options: argparse.Namespace) -> None:
    if options.texts:
        raise CommandError("--texts is for LEDGER: convert what --records makes")
    scope = None if options.scope is None else scope_of(options.scope)
    if scope and scope.needs_language:
        raise CommandError(f"--scope {scope.name} needs a language, which no record of a page has")
    method = create_method(
        method_class(options.method or "simhash"),
        json_object("--args", options.args),
        simplify_chinese=options.simplify_chinese,
    )
    _check_output(options)
    reader = FieldReader(method)
    fields = Fields(options.record_field, is_object=True, with_all=scope is not None)
    feeds = [(path, _records(_feed(path, fields), reader, scope)) for path in options.records]
    if _is_output(options, *options.records):
        raise CommandError(f"{options.output} is a feed; give the ledger another name")
    with _new_file(options, "the new ledger") as target, progress(None) as advance:
        done = rebuild(target, method, feeds, advance)
    print(f"{printable(str(options.output))}: {count_of(done.pages, 'page')}")
    if done.passed_over:
        print(
            f"{Count(done.passed_over):item is|items are} passed over, to be stored again when "
            f"met; the first: {printable(done.first_passed_over or '')}"
        )


def _check_output(options: argparse.Namespace) -> None:
    """Raise CommandError or LedgerError if the new ledger cannot be written."""
    output = options.output
    if isinstance(output, Path):
        check_outputs(options, output)
    else:
        with_log(output, lambda log: check_target(log, overwrite=options.overwrite))


def _is_output(options: argparse.Namespace, *inputs: Path | LogUrl) -> bool:
    """Return whether one of *inputs* is what is to be written."""
    return _place(options.output) in map(_place, inputs)


def _place(ledger: Path | LogUrl) -> Path | str:
    # The log adds what a URL does not say.
    return ledger.resolve() if isinstance(ledger, Path) else open_log(ledger).name


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
        _move(file, options, name)


def _move(file: Path, options: argparse.Namespace, name: str) -> int:
    """Move a ledger into the store of --output; return how many pages these are."""
    return with_log(
        options.output,
        lambda log: copy_to_log(file, log, overwrite=options.overwrite, name=name),
    )


def _feed(path: Path, fields: Fields) -> Format:
    kind = format_of([path])
    if kind in (Folder, Warc):
        raise CommandError(f"{path} is no feed: a {kind.name} has no fields")
    return kind([path], fields)


def _records(
    feed: Format, reader: FieldReader, scope: Scope | None
) -> Iterator[FieldRecord | ValueError]:
    """Yield what the items of *feed* hold, in order: a record, or why there is none.

    Where there is a *scope*, they are in that.
    """
    raws = feed.raw_records()
    while batch := list(islice(raws, _ITEMS_AT_ONCE)):
        parsed = [_parse(feed, raw) for raw in batch]
        found = iter(
            reader.read([item.values or {} for item in parsed if isinstance(item, Record)])
        )
        for raw, item in zip(batch, parsed, strict=True):
            result = next(found) if isinstance(item, Record) else item
            if scope and isinstance(item, Record) and isinstance(result, FieldRecord):
                result = _in_scope(result, scope, item.fields)
            yield (
                ValueError(f"{raw.source}, record {raw.number}: {result}")
                if isinstance(result, ValueError)
                else result
            )


def _in_scope(
    found: FieldRecord, scope: Scope, item: Mapping[str, Any]
) -> FieldRecord | ValueError:
    """Return *found*, the record of *item*, in *scope*; an error if that has no value."""
    try:
        name = scope.name_of(found.record.key, item=item)
    except Exception as error:  # of a function of somebody else's, which crawls survive, too
        return ValueError(f"{type(error).__name__} in the scope {scope.name!r}: {error}")
    if name is None:
        return ValueError(f"it has no value for the scope {scope.name!r}")
    made_with = found.made_with._replace(scope=scope.name)
    return FieldRecord(found.record.under(found.record.key, name), made_with)


def _parse(feed: Format, raw: RawRecord) -> Record | ValueError:
    if raw.error is not None:
        return ValueError(raw.error)
    try:
        record = feed.parse(raw.data)
    except RecordError as error:
        return error
    return record if record.values else ValueError(f"it has no field {feed.fields.content!r}")


def _convert(options: argparse.Namespace) -> None:
    is_converted = not (options.method is None and options.scope is None)
    if isinstance(options.ledger, Path) and isinstance(options.output, Path) and not is_converted:
        try:
            LedgerReader(options.ledger).close()
        except LedgerError:  # of the version before, which is converted as it is
            is_converted = True
        else:
            raise CommandError("nothing is to be converted: give --method or --scope")
    arguments = json_object("--args", options.args)
    if arguments and options.method is None:
        raise CommandError("--args needs --method")
    if options.simplify_chinese and options.method is None:
        raise CommandError("--simplify-chinese needs --method")
    if options.texts and options.method is None:
        raise CommandError("--texts needs --method")
    method = (
        None
        if options.method is None
        else create_method(
            method_class(options.method), arguments, simplify_chinese=options.simplify_chinese
        )
    )
    _check_output(options)
    if _is_output(options, options.ledger):
        raise CommandError(f"{options.output} is the ledger itself; give the new one another name")
    done = _converted(options, method) if is_converted else Reindexed(_copied(options), 0)
    print(f"{printable(str(options.output))}: {count_of(done.pages, 'page')}")
    if done.without_text:
        print(f"{count_of(done.without_text, 'page')} without a text: stored again when met")


def _converted(options: argparse.Namespace, method: Method | None) -> Reindexed:
    name = name_of_copied(options.ledger)
    with (
        ledger_file(options.ledger) as source,
        _new_file(options, name or "the converted ledger") as target,
        progress(None) as advance,
    ):
        return reindex(
            source,
            target,
            name=name,
            method=method,
            scope=None if options.scope is None else scope_of(options.scope).name,
            texts=_texts(options.texts, options.url_field, options.text_field),
            advance=advance,
        )


def _copied(options: argparse.Namespace) -> int:
    """Copy the ledger from or to a store, or both; return how many pages count."""
    if isinstance(options.output, LogUrl):
        with ledger_file(options.ledger) as source:
            return _move(source, options, name_of_copied(options.ledger))
    with_log(options.ledger, lambda log: copy_to_ledger(log, options.output))
    with LedgerReader(options.output) as reader:
        return reader.counts()["pages"]


def _texts(paths: Iterable[Path], url_field: str, text_field: str) -> Iterator[tuple[str, str]]:
    """Yield the URL and the text of each item; raises CommandError if a feed has no such field."""
    for path in paths:
        seen = dict.fromkeys((url_field, text_field), False)
        number = 0
        for number, (_, item) in enumerate(json_lines(path), 1):
            values = [item.get(name) for name in (url_field, text_field)]
            for name, value in zip((url_field, text_field), values, strict=True):
                seen[name] = seen[name] or isinstance(value, str)
            if number == _ITEMS_WITHOUT_FIELD:
                _check_seen(path, number, seen)
            url, text = values
            if isinstance(url, str) and isinstance(text, str):
                yield url, text
        _check_seen(path, number, seen)


def _check_seen(path: Path, items: int, seen: dict[str, bool]) -> None:
    missing = [repr(name) for name, is_there in seen.items() if not is_there]
    if missing and items:
        raise CommandError(
            f"none of the first {count_of(items, 'item')} of {path} has a string in "
            f"{' and '.join(missing)}; "
            "--text-field and --url-field name other fields"
        )
