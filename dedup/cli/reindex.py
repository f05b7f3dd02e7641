"""``dedup reindex``: a ledger made of another one, or of the records in feeds."""

import argparse
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from dedup.cli.errors import CommandError
from dedup.cli.files import add_overwrite, check_outputs, json_lines
from dedup.cli.methods import (
    add_simplify_chinese,
    create_method,
    json_object,
    method_class,
    scope_of,
)
from dedup.cli.terminal import progress
from dedup.record_field import FieldReader, FieldRecord
from dedup.records import Fields, Folder, Format, RawRecord, Record, RecordError, format_of
from dedup.records.warc import Warc
from dedup.scopes import Scope, replace_base
from dedup.stores.rebuild import rebuild
from dedup.stores.reindex import reindex
from dedup.text import printable
from dedup.units import count_of

EXAMPLES = """\
examples:
  dedup reindex pages.sqlite -o by-host.sqlite --scope host
  dedup reindex pages.sqlite -o verified.sqlite --method verified --texts pages.jsonl
  dedup reindex --records pages.jsonl more.jsonl -o pages.sqlite

Sketches of another method are computed from the texts in the feeds of the crawls, which must have
the main text in a field (DEDUP_FIELDS). A page whose text is not there is stored again when it is
met.

--records makes a ledger that is lost again, of feeds whose items have the records of their pages
(DEDUP_SKETCH_FIELD), the oldest feed first; --method and --args are those of the crawls. With
--scope, its pages are in another scope than theirs, which the fields of the items may tell.
"""

_ITEMS_AT_ONCE = 256
# A wrong name of a field shall not cost hours.
_ITEMS_WITHOUT_FIELD = 1_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ledger", type=Path, nargs="?", metavar="LEDGER",
        help="the file of DEDUP_INDEX")  # fmt: skip
    parser.add_argument("--records", nargs="+", type=Path, default=[], metavar="FEED",
        help="in place of LEDGER: feeds with the records of pages")  # fmt: skip
    parser.add_argument("--record-field", default="dedup_record", metavar="NAME",
        help="the field with the record (default: dedup_record)")  # fmt: skip
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FILE",
        help="the new ledger; the old one stays as it is")  # fmt: skip
    parser.add_argument("--method", metavar="NAME", help="the new method, as in DEDUP_METHOD")
    parser.add_argument("--args", default="{}", metavar="JSON",
        help="arguments of the method, as a JSON object (see DEDUP_METHOD_ARGS)")  # fmt: skip
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
    check_outputs(options, options.output)
    reader = FieldReader(method)
    fields = Fields(options.record_field, is_object=True, with_all=scope is not None)
    feeds = [(path, _records(_feed(path, fields), reader, scope)) for path in options.records]
    if options.output.resolve() in {path.resolve() for path in options.records}:
        raise CommandError(f"{options.output} is a feed; give the ledger another name")
    with progress(None) as advance:
        done = rebuild(options.output, method, feeds, advance)
    print(f"{printable(str(options.output))}: {count_of(done.pages, 'page')}")
    if done.passed_over:
        print(
            f"{done.passed_over:,} items are passed over, and their pages stored again when met; "
            f"the first: {printable(done.first_passed_over or '')}"
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
    base = replace_base(found.record.scope, name)
    made_with = found.made_with._replace(scope=scope.name)
    return FieldRecord(found.record.under(found.record.key, base), made_with)


def _parse(feed: Format, raw: RawRecord) -> Record | ValueError:
    if raw.error is not None:
        return ValueError(raw.error)
    try:
        record = feed.parse(raw.data)
    except RecordError as error:
        return error
    return record if record.values else ValueError(f"it has no field {feed.fields.content!r}")


def _convert(options: argparse.Namespace) -> None:
    if options.method is None and options.scope is None:
        raise CommandError("nothing is to be converted: give --method or --scope")
    arguments = json_object("--args", options.args)
    if arguments and options.method is None:
        raise CommandError("--args needs --method")
    if options.simplify_chinese and options.method is None:
        raise CommandError("--simplify-chinese needs --method")
    method = (
        None
        if options.method is None
        else create_method(
            method_class(options.method), arguments, simplify_chinese=options.simplify_chinese
        )
    )
    check_outputs(options, options.output)
    if options.output.resolve() == options.ledger.resolve():
        raise CommandError(f"{options.output} is the ledger itself; give the new one another name")
    with progress(None) as advance:
        done = reindex(
            options.ledger,
            options.output,
            method=method,
            scope=None if options.scope is None else scope_of(options.scope).name,
            texts=_texts(options.texts, options.url_field, options.text_field),
            advance=advance,
        )
    print(f"{printable(str(options.output))}: {count_of(done.pages, 'page')}")
    if done.without_text:
        print(f"{count_of(done.without_text, 'page')} without a text: stored again when met")


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
            f"none of the first {items:,} items of {path} has a string in {' and '.join(missing)}; "
            "--text-field and --url-field name other fields"
        )
