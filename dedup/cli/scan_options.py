"""What the options of ``dedup scan`` name, and what is wrong with them."""

import argparse
import os
from collections.abc import Iterator
from itertools import chain

from dedup.cli.errors import CommandError
from dedup.cli.files import STDOUT, check_outputs
from dedup.preference import Preference, canonical, first, newest
from dedup.records import Fields, Folder, Format, format_of
from dedup.records.warc import Warc
from dedup.scopes import Scope


def format_from(options: argparse.Namespace, scope: Scope | None, keep: Preference) -> Format:
    """Return the format of the inputs; raises CommandError for options that are not for it."""
    kind = format_of(options.inputs)
    fields = fields_from(options, kind, scope, keep)
    if kind is Folder:
        return Folder(options.inputs, fields, follow_links=options.follow_links)
    return kind(options.inputs, fields)


def fields_from(
    options: argparse.Namespace, kind: type[Format], scope: Scope | None, keep: Preference
) -> Fields:
    """Return the fields of inputs of a *kind*; raises CommandError for options not for that."""
    problems = chain(_problems(options, kind, keep), _problems_of_scope(options, kind, scope))
    if problem := next(problems, None):
        raise CommandError(problem)
    return Fields(
        options.html_field or options.record_field or options.text_field or "text",
        bool(options.html_field),
        options.key_field,
        "WARC-Date" if kind is Warc and newest in keep.criteria else options.date_field,
        options.encoding,
        bool(options.record_field),
        scope is not None and scope.needs_item,
        options.canonical_field,
    )


def _problems(options: argparse.Namespace, kind: type[Format], keep: Preference) -> Iterator[str]:
    """Yield what is wrong with the options for inputs of a *kind*."""
    has_fields = kind not in (Folder, Warc)
    needs_date = has_fields and newest in keep.criteria
    takes_canonical = has_fields and canonical in keep.criteria
    named = options.text_field, options.html_field, options.record_field, options.key_field
    checks = (
        (any(named) and not has_fields, f"a {kind.name} has no fields to be named"),
        (
            options.record_field and options.ledger,
            "--ledger is for texts: what --record-field names is read as fast",
        ),
        (
            options.date_field and not needs_date,
            "--date-field is for --keep newest, of formats with fields",
        ),
        (
            options.canonical_field and not takes_canonical,
            "--canonical-field is for --keep canonical, of formats with fields",
        ),
        (first in keep.criteria[:-1], "--keep: after first, nothing is left to decide"),
        (options.follow_links and kind is not Folder, "--follow-links is for folders"),
        (needs_date and not options.date_field, "--keep newest needs --date-field"),
        (
            not _is_ascii(options.encoding),
            f"--encoding must be a superset of ASCII that Python knows, got {options.encoding!r}",
        ),
    )
    for is_wrong, problem in checks:
        if is_wrong:
            yield problem


def _problems_of_scope(
    options: argparse.Namespace, kind: type[Format], scope: Scope | None
) -> Iterator[str]:
    """Yield what inputs of a *kind* lack that *scope* needs."""
    if scope is None:
        return
    if scope.needs_item and kind in (Folder, Warc):
        yield f"--scope {scope.name} needs fields, and a {kind.name} has none"
    if scope.name in ("host", "domain") and kind is Folder:
        yield f"--scope {scope.name} needs URLs, and a {kind.name} has none"
    if scope.needs_language and options.record_field:
        yield f"--scope {scope.name} needs a language, which no record of a page has"


def _is_ascii(encoding: str) -> bool:
    try:
        return b'\n",{'.decode(encoding) == '\n",{'
    except (LookupError, UnicodeDecodeError):
        return False


def check_scan_outputs(options: argparse.Namespace, format_: Format) -> None:
    """Raise CommandError if an output cannot be written, or would replace another file in use."""
    format_.check_output(options.output)
    files = [path for path in (options.clusters, options.json) if path and path != STDOUT]
    if isinstance(format_, Folder):
        if os.path.lexists(options.output):
            raise CommandError(f"{options.output} exists; name a folder that does not")
        if not options.output.resolve().parent.is_dir():
            raise CommandError(f"{options.output} must be in a folder that exists")
        check_outputs(options, *files)
    else:
        check_outputs(options, options.output, *files)
    outputs = [options.output, *files]
    if ledger := options.ledger:
        if ledger.is_dir() or not ledger.resolve().parent.is_dir():
            raise CommandError(f"{ledger} must be a file in a folder that exists")
        if ledger.resolve() in {path.resolve() for path in outputs}:
            raise CommandError(f"{ledger} is named for the ledger and for an output")
        outputs.append(ledger)
    inputs = {path.resolve() for path in options.inputs}
    for path in outputs:
        # A file has no parents among the inputs that are files.
        if not inputs.isdisjoint({path.resolve(), *path.resolve().parents}):
            raise CommandError(f"{path} is an input, or in one")
