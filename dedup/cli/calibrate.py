"""``dedup calibrate``: find the threshold for your pages by judging some pairs."""

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from dedup.atomic_file import replacing
from dedup.calibration import Calibration, Candidates, Pair, find_candidates
from dedup.cli.answers import Answers, in_order, pairs_as_table
from dedup.cli.asking import ask
from dedup.cli.errors import CommandError
from dedup.cli.files import (
    STDOUT,
    add_json,
    check_numbers,
    check_outputs,
    json_lines,
    write_json,
)
from dedup.cli.ledgers import open_ledger, place_of
from dedup.cli.methods import add_methods, json_object, methods_of
from dedup.cli.results import Results
from dedup.cli.terminal import console, progress
from dedup.lost_text import lost_with, sequences_of
from dedup.methods.base import Method
from dedup.search import order_to_compare
from dedup.sqlite_file import is_sqlite
from dedup.stores.shared.log_url import LogUrl
from dedup.text import Document, printable, without_surrogates
from dedup.units import Count, count_of

EXAMPLES = """\
examples:
  dedup calibrate pages.sqlite                               the texts that a ledger stores
  dedup calibrate pages.jsonl --answers answers.tsv          asks in the terminal; can be resumed
  dedup calibrate pages.jsonl --method simhash verified --answers answers.tsv
  dedup calibrate pages.jsonl --pairs-out pairs.tsv          to judge them elsewhere, and then:
  dedup calibrate pages.jsonl --answers pairs.tsv --json figures.json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("input", type=place_of, metavar="INPUT",
        help="a JSONL file with a page per line, or a ledger that stores texts")  # fmt: skip
    parser.add_argument(
        "--text-field", default="text", help="the field of the text (default: text)"
    )
    parser.add_argument("--key-field", default="url",
        help="the field that identifies a page (default: url)")  # fmt: skip
    add_methods(parser)
    parser.add_argument("--pairs", type=int, default=60, metavar="N",
        help="how many pairs to judge (default: 60)")  # fmt: skip
    parser.add_argument("--precision", type=float, default=0.95, metavar="SHARE",
        help="the expected precision to reach, from 0 to 1 (default: 0.95)")  # fmt: skip
    parser.add_argument("--seed", type=int, default=0, metavar="N",
        help="another number draws other pairs (default: 0)")  # fmt: skip
    parser.add_argument("--answers", type=Path, metavar="FILE",
        help="read answers from this table (key1, key2, label: yes, no or skip) and append new "
        "ones")  # fmt: skip
    parser.add_argument("--pairs-out", type=Path, metavar="FILE",
        help="write the pairs with their texts to this table instead of asking")  # fmt: skip
    add_json(parser)


def run(options: argparse.Namespace) -> None:
    methods = methods_of(options)
    asks = _has_terminal() and not options.pairs_out
    _check(options, asks=asks)
    answers = Answers(options.answers)
    if asks:
        answers.check_writable()
    keys, documents = _distinct_pages(options)
    candidates = _candidates(methods, json_object("--args", options.args), documents)
    calibration = Calibration(keys, candidates, options.seed)
    sample = calibration.sample(options.pairs)
    can_judge = asks or options.pairs_out or _labels(calibration, keys, answers)
    if sample and not can_judge:
        raise CommandError(
            f"{options.answers} has no answer to any of {count_of(len(sample), 'pair')}"
        )
    output = console(options.json)
    _show_candidates(output, len(keys), candidates)
    if not sample:
        output.print("No two of them are near, so there is nothing to judge.")
        return
    texts = [document.main_text or "" for document in documents]
    try:
        if options.pairs_out:
            _write_pairs(output, options.pairs_out, pairs_as_table(sample, keys, texts, answers))
        elif asks:
            ask(output, sample, keys, texts, answers)
    finally:  # after Ctrl-C, the answers up to there count
        labels = _labels(calibration, keys, answers)
        _show_results(output, options, calibration, labels, documents)
        if others := len(answers) - len(labels):
            output.print(
                f"{Count(others):answer is|answers are} about pairs that are not among these."
            )


def _has_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def _candidates(
    methods: Sequence[Method], arguments: dict[str, Any], documents: Sequence[Document]
) -> list[Candidates]:
    """Return the pairs to judge from, of each method; *arguments* are what all were made with."""
    with progress(len(documents) * len(methods)) as advance:
        return [
            find_candidates(type(method), arguments, documents, advance, method.hashing)
            for method in methods
        ]


def _check(options: argparse.Namespace, *, asks: bool) -> None:
    """Raise CommandError for options that are wrong; *asks*: a person answers in the terminal."""
    check_numbers(options, min_tokens=0, pairs=1, seed=0)
    if options.seed >= 2**64:
        raise CommandError(f"--seed must be below 2**64, got {options.seed}")
    if not 0 <= options.precision <= 1:
        raise CommandError(f"--precision must be from 0 to 1, got {options.precision}")
    if asks and options.json == STDOUT:
        raise CommandError("--json - is for answers that are in a table: the questions are shown")
    if not (asks or options.answers or options.pairs_out):
        raise CommandError(
            "there is no terminal to ask in: give --answers with a table of answers, or "
            "--pairs-out to write a table to fill in"
        )
    _check_files(options, needs_answers=not (asks or options.pairs_out))


def _check_files(options: argparse.Namespace, *, needs_answers: bool) -> None:
    check_outputs(options, options.json, options.pairs_out)
    for path in (options.input, options.answers if needs_answers else None):
        if isinstance(path, Path) and not path.exists():
            raise CommandError(f"{path} cannot be read (No such file or directory)")
    inputs = {p.resolve() for p in (options.input, options.answers) if isinstance(p, Path)}
    for path in filter(None, (options.json, options.pairs_out)):
        if path.resolve() in inputs:
            raise CommandError(f"{path} is also an input")


def _distinct_pages(options: argparse.Namespace) -> tuple[list[str], list[Document]]:
    """Return the keys and documents of the pages, only the first of those with equal texts.

    If a key has several texts, the last one counts.
    """
    by_text: dict[str, tuple[str, Document]] = {}
    texts: dict[str, str] = {}
    for key, text in _records(options.input, options.text_field, options.key_field):
        # A feed that every crawl appends to has each version of a page.
        texts.pop(key, None)
        texts[key] = text
    for key, text in texts.items():
        document = Document.from_main_text(text, simplify_chinese=options.simplify_chinese)
        if len(document.tokens) >= options.min_tokens:
            by_text.setdefault(document.text, (key, document))
    if len(by_text) < 2:
        raise CommandError(
            f"{options.input} has {len(by_text)} different texts of {options.min_tokens} tokens or "
            f"more in the field {options.text_field!r}; there is nothing to compare"
        )
    keys, documents = zip(*by_text.values(), strict=True)
    return list(keys), list(documents)


def _records(path: Path | LogUrl, field: str, key: str) -> Iterator[tuple[str, str]]:
    """Yield the key and the text of each page that has a text."""
    if isinstance(path, LogUrl) or (path.is_file() and is_sqlite(path)):
        yield from _records_of_ledger(path)
        return
    for where, page in json_lines(path):
        text, name = page.get(field), page.get(key)
        if not (text is None or isinstance(text, str)):
            raise CommandError(f"{where}: the field {field!r} must be a string")
        if text:
            if not isinstance(name, str) or not name:
                raise CommandError(f"{where}: the key {key!r} must be a string")
            yield without_surrogates(name), without_surrogates(text)


def _records_of_ledger(place: Path | LogUrl) -> Iterator[tuple[str, str]]:
    with open_ledger(place) as ledger:
        for url, _, text in ledger.texts():
            if text:
                yield url, text


def _labels(calibration: Calibration, keys: Sequence[str], answers: Answers) -> dict[Pair, str]:
    return {
        (one, other): answers[both]
        for one, other in calibration.pairs
        if (both := in_order(keys[one], keys[other])) in answers
    }


def _show_candidates(output: Console, pages: int, candidates: Sequence[Candidates]) -> None:
    output.print(f"{count_of(pages, 'page')} with different texts; pairs of them to judge from:")
    for each in candidates:
        number = sum(map(len, each.strata.values()))
        output.print(f"  {each.method.name}: {number:,}, up to distance {each.max_distance:.4g}")


def _show_results(
    output: Console,
    options: argparse.Namespace,
    calibration: Calibration,
    labels: Mapping[Pair, str],
    documents: Sequence[Document],
) -> None:
    if not labels:
        if not options.pairs_out:
            output.print("No pair was judged yet.")
        return
    texts = sequences_of(documents)
    results = Results(
        calibration,
        labels,
        options.precision,
        lambda method, pairs: lost_with(pairs, texts, order_to_compare(method, documents)),
    )
    # The file first: whoever reads the output may stop at any time.
    write_json(options.json, results.as_json())
    results.show(output, json_object("--args", options.args))


def _write_pairs(output: Console, path: Path, table: str) -> None:
    with replacing(path) as file:
        file.write(table.encode())
    hint = "fill in the column label (yes, no or skip) and give the file to --answers"
    output.print(Text(printable(f"{path} is written: {hint}")))
