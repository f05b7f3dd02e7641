"""``dedup evaluate``: score methods on labelled pages, or find the threshold that suits yours."""

import argparse
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from dedup.cli.ledgers import place_of
from dedup.cli.options import (
    add_evidence,
    add_extractor,
    add_field,
    add_json,
    add_method,
    check_new,
    check_numbers,
    extractor_of,
    methods_of,
)
from dedup.cli.terminal import color, print_json, progress, show, show_heading, show_table
from dedup.diff import word_diff
from dedup.evaluation import Collection, Errors, evaluate, read_collection
from dedup.evidence import DEMANDS
from dedup.lexicon import AT_LEAST, write_lexicon
from dedup.lost_text import LostText
from dedup.methods import METHODS
from dedup.records.lines import COMPRESSIONS, JsonLines, read_records
from dedup.rule import SHORT
from dedup.text import Document, printable
from dedup.units import Count

EXAMPLES = """\
examples:
  dedup evaluate labelled/news                        score the default method
  dedup evaluate labelled/* --method all              compare all methods in a table
  dedup evaluate labelled/news --method simhash minhash --sweep --json
  dedup evaluate labelled/news --method '{"name": "simhash", "max_distance": 7}' --errors 5

without labels, of a feed or a ledger that stores texts:
  dedup evaluate pages.jsonl --sample 60 -o pairs.tsv   write pairs, of which you fill in the labels
  dedup evaluate pages.jsonl --answers pairs.tsv        show what each threshold finds

the words of your pages, for methods with a lexicon:
  dedup evaluate pages.jsonl texts/*.txt --lexicon -o pages.lexicon
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("inputs", nargs="+", type=place_of, metavar="INPUT",
        help="folders with docs.jsonl (id, text) and pairs.tsv (id1, id2, label); for --sample and "
        "--answers, a JSONL file with a page per line, or a ledger; for --lexicon, JSONL or text "
        "files")  # fmt: skip
    add_method(parser, nargs="+")
    add_extractor(parser, default=None)
    add_evidence(parser, default="off")
    parser.add_argument("--sweep", action="store_true",
        help="also try other thresholds of the methods")  # fmt: skip
    parser.add_argument("--errors", type=int, default=0, metavar="N",
        help="show N false and N missed pairs of each method, with a diff")  # fmt: skip
    parser.add_argument(
        "--sample",
        type=int,
        metavar="N",
        help="write N pairs to judge into the table -o, with their texts; a larger N adds pairs to "
        "those of a smaller one",
    )
    parser.add_argument("--answers", type=Path, metavar="FILE",
        help="the table, its column label filled in with yes, no or skip: show what each threshold "
        "finds; with --sample, the new table has them, too")  # fmt: skip
    parser.add_argument("--lexicon", action="store_true",
        help="count how many documents contain each word, into the file -o")  # fmt: skip
    parser.add_argument("-o", "--output", type=Path, metavar="FILE",
        help="where --sample or --lexicon writes")  # fmt: skip
    add_field(parser, "text", "text")
    add_field(parser, "key", "url")
    add_json(parser)


def run(options: argparse.Namespace) -> None:
    check_numbers(options, errors=0, sample=1)
    if bool(options.output) != bool(options.lexicon or options.sample):
        raise ValueError("-o is for --sample and --lexicon, which need it")
    files = [path for path in options.inputs if isinstance(path, Path)]
    is_without_labels = options.sample or options.answers
    if options.lexicon and is_without_labels:
        raise ValueError("--lexicon goes with neither --sample nor --answers")
    if len(files) < len(options.inputs) and not is_without_labels:
        raise ValueError("the URL of a store is for --sample and --answers")
    check_new(options.output)
    if options.lexicon:
        _write_lexicon(files, options.output, options.text_field)
    elif is_without_labels:
        from dedup.cli import thresholds

        thresholds.run(options)
    else:
        _evaluate(options, files)


def _evaluate(options: argparse.Namespace, folders: Sequence[Path]) -> None:
    methods = methods_of(options.method, with_sweep=options.sweep)
    extract = None if options.extractor is None else extractor_of(options.extractor)
    collections = [
        read_collection(folder, methods[0], min_tokens=SHORT, extractor=extract)
        for folder in folders
    ]
    pages = sum(len(collection.documents) for collection in collections)
    with progress("pages", pages * len(methods)) as advance:
        results = [
            (collection, *evaluate(collection, method, advance, demands=DEMANDS[options.evidence]))
            for collection in collections
            for method in methods
        ]
    all_figures = [figures for _, figures, _ in results]
    if options.json:
        print_json(all_figures)
        return
    _show_results(all_figures, options.sweep)
    for collection, figures, errors in results:
        _show_errors(collection, figures["method"], errors, options.errors)


def _show_results(results: Sequence[dict[str, Any]], with_parameter: bool) -> None:
    titles = [
        "collection", "method", *[">threshold"] * with_parameter, ">found / to find", ">precision",
        ">recall", ">F1", ">F1 edited", ">text lost", ">CPU ms/page", ">bytes/page",
    ]  # fmt: skip
    rows = []
    for figures in results:
        method, lost = figures["method"], LostText(**figures["lost_text"])
        name = METHODS[method].sweep[0] if method in METHODS else "max_distance"
        row = [
            figures["collection"],
            method,
            *[str(figures["parameters"].get(name, ""))] * with_parameter,
            f"{figures['pairs_found']:,} / {figures['pairs_to_find']:,}",
            f"{figures['precision']:.3f}" if figures["pairs_found"] else None,
            *(f"{figures[score]:.3f}" for score in ("recall", "f1", "f1_edited")),
            lost.percent if lost.sequences else None,
            f"{figures['cpu_ms_per_page']:.2f}",
            f"{figures['bytes_per_page']:,.0f}",
        ]
        rows.append(row)
    show_table(titles, rows)


def _show_errors(collection: Collection, method: str, errors: Errors, count: int) -> None:
    for kind, pairs in errors.items():
        for pair in pairs[:count]:
            title = f"{kind} pair of {method} in {collection.name}: "
            show_heading(title + " | ".join(collection.keys[number] for number in pair))
            texts = (collection.documents[number].main_text or "" for number in pair)
            show(color(word_diff(*texts)))


def _write_lexicon(inputs: Iterable[Path], output: Path, text_field: str) -> None:
    number = without_text = 0
    counts: Counter[str] = Counter()
    for text in _texts(inputs, text_field):
        if text:
            number += 1
            counts.update(set(Document.from_main_text(text).tokens))
        else:
            without_text += 1
    digest = write_lexicon(output, number, counts)
    words = sum(count >= AT_LEAST for count in counts.values())
    name = printable(str(output))
    print(f"{name}: {Count(words):word} of {Count(number):document}, digest {digest}")
    if without_text:
        print(
            f"{Count(without_text):document was skipped, without|documents were skipped, without} "
            f"text (JSON lines: in the field {text_field!r})"
        )


def _texts(paths: Iterable[Path], field: str) -> Iterator[str | None]:
    for path in paths:
        plain = path.with_suffix("") if path.suffix.lower() in COMPRESSIONS else path
        if plain.suffix.lower() in JsonLines.suffixes:
            yield from (record.content for _, record in read_records(path, field))
            continue
        try:
            yield path.read_text("utf-8-sig")
        except UnicodeDecodeError as error:
            raise ValueError(f"{path} is not UTF-8 ({error})") from error
