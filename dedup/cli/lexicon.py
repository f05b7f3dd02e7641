"""``dedup lexicon``: count how many documents contain each word."""

import argparse
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from dedup.cli.errors import CommandError
from dedup.cli.files import add_overwrite, check_outputs, json_lines
from dedup.cli.terminal import progress
from dedup.lexicon_file import count_terms, write_lexicon
from dedup.text import Document, printable
from dedup.units import Count, count_of

EXAMPLES = """\
examples:
  dedup lexicon pages.jsonl -o pages.lexicon    the field "text" of each line (.jsonl, .ndjson)
  dedup lexicon texts/*.txt -o texts.lexicon    each file is a document

then, in settings.py:
  DEDUP_METHOD = "i-match"
  DEDUP_METHOD = {"name": "simhash", "lexicon": "pages.lexicon"}
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("inputs", nargs="+", type=Path, metavar="INPUT",
        help="a JSONL file, one document per line, or a text file, one document")  # fmt: skip
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FILE")
    parser.add_argument("--text-field", default="text", help="the field of JSONL (default: text)")
    parser.add_argument("--at-least", type=int, default=2, metavar="N",
        help="omit words in fewer documents; they count as rare (default: 2)")  # fmt: skip
    add_overwrite(parser)


def run(options: argparse.Namespace) -> None:
    check_outputs(options, options.output)
    if options.at_least < 1:
        raise CommandError(f"--at-least must be 1 or more, got {options.at_least}")
    for path in options.inputs:
        if not path.exists() or path.is_dir():
            raise CommandError(f"{path} is not a file")
        if path.resolve() == options.output.resolve():
            raise CommandError(f"{path} is also the output")
    lines_without_text = 0
    with progress(None) as advance:

        def documents() -> Iterator[Document]:
            nonlocal lines_without_text
            for text in _texts(options.inputs, options.text_field):
                advance()
                if text is None:
                    lines_without_text += 1
                else:
                    yield Document.from_main_text(text)

        number, counts = count_terms(documents())
    digest = write_lexicon(options.output, number, counts, options.at_least)
    words = sum(count >= options.at_least for count in counts.values())
    output = printable(str(options.output))
    print(f"{output}: {count_of(words, 'word')} of {count_of(number, 'document')}, digest {digest}")
    if lines_without_text:
        skipped = Count(lines_without_text)
        print(
            f"{skipped:line was skipped, without|lines were skipped, without} text in the field "
            f"{options.text_field!r}"
        )


def _texts(paths: Iterable[Path], field: str) -> Iterator[str | None]:
    for path in paths:
        if path.suffix.lower() in (".jsonl", ".jl", ".ndjson"):
            for where, record in json_lines(path):
                yield _field(record, field, where)
            continue
        try:
            yield path.read_text("utf-8-sig")
        except OSError as error:
            raise CommandError(f"{path} cannot be read ({error.strerror})") from error
        except UnicodeDecodeError as error:
            raise CommandError(f"{path} is not UTF-8 ({error})") from error


def _field(record: dict[str, Any], field: str, where: str) -> str | None:
    """Return a field of a record; ``None`` if it is empty, as for pages that are not HTML."""
    value = record.get(field)
    if not (value is None or isinstance(value, str)):
        raise CommandError(f"{where}: the field {field!r} must be a string")
    return value or None
