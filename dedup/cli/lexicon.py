"""``dedup evaluate --lexicon``: count how many documents contain each word."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from dedup.cli.terminal import progress
from dedup.lexicon_file import AT_LEAST, count_terms, write_lexicon
from dedup.records.tables import json_objects
from dedup.text import Document, printable
from dedup.units import Count, count_of


def write(inputs: Iterable[Path], output: Path, text_field: str) -> None:
    """Write the lexicon of the texts in *inputs*, JSON lines or text files, to *output*."""
    without_text = 0
    with progress("documents", None) as advance:

        def documents() -> Iterator[Document]:
            nonlocal without_text
            for text in _texts(inputs, text_field):
                advance()
                if text:
                    yield Document.from_main_text(text)
                else:
                    without_text += 1

        number, counts = count_terms(documents())
    digest = write_lexicon(output, number, counts)
    words = sum(count >= AT_LEAST for count in counts.values())
    name = printable(str(output))
    print(f"{name}: {count_of(words, 'word')} of {count_of(number, 'document')}, digest {digest}")
    if without_text:
        print(
            f"{Count(without_text):document was skipped, without|documents were skipped, without} "
            f"text (JSON lines: in the field {text_field!r})"
        )


def _texts(paths: Iterable[Path], field: str) -> Iterator[str | None]:
    for path in paths:
        if path.suffix.lower() in (".jsonl", ".jl", ".ndjson"):
            for where, record in json_objects(path):
                text = record.get(field)
                if not (text is None or isinstance(text, str)):
                    raise ValueError(f"{where}: the field {field!r} must be a string")
                yield text
            continue
        try:
            yield path.read_text("utf-8-sig")
        except UnicodeDecodeError as error:
            raise ValueError(f"{path} is not UTF-8 ({error})") from error
