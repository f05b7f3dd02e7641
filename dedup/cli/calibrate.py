"""``dedup calibrate``: find the threshold for one's own pages by judging some pairs."""

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from dedup.calibration import (
    NO,
    SKIP,
    YES,
    Calibration,
    Candidates,
    Estimate,
    Step,
    find_candidates,
    recommend,
)
from dedup.cli.answers import Answers, in_order, pairs_as_table
from dedup.cli.diff import diff
from dedup.cli.errors import CommandError
from dedup.cli.files import check_outputs, json_lines, overwritable
from dedup.cli.methods import created, json_object, method_class
from dedup.cli.terminal import console, progress
from dedup.files import replacing
from dedup.methods import METHODS
from dedup.sqlite_file import is_sqlite
from dedup.stores.reader import LedgerReader
from dedup.text import Document, printable, without_surrogates

EXAMPLES = """\
examples:
  dedup calibrate pages.sqlite                         use the texts that a ledger has kept
  dedup calibrate pages.jsonl --answers answers.tsv    save the answers, to continue later
  dedup calibrate pages.jsonl --method simhash verified --answers answers.tsv
  dedup calibrate pages.jsonl --pairs-out pairs.tsv    judge the pairs elsewhere, and then:
  dedup calibrate pages.jsonl --answers pairs.tsv --json figures.json
"""
_MOST_OF_DIFF = 2_500
_LEGEND = """\
found, precision, recall: of all pairs up to that distance, as expected (and with a probability of
95 % between these bounds). Recall is of the near-duplicates among all pairs to judge from."""
_QUESTION = "Near-duplicates? [y]es [n]o [s]kip [f]ull texts [q]uit: "


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("input", type=Path, metavar="INPUT",
        help="a JSONL file with a page in each line, or a ledger that has kept texts")  # fmt: skip
    parser.add_argument("--field", default="text", help="the field with the text (default: text)")
    parser.add_argument("--key", default="url",
        help="the field that identifies a page (default: url)")  # fmt: skip
    parser.add_argument("--method", nargs="+", default=["simhash"], metavar="NAME",
        help="the methods to calibrate, or all (default: simhash)")  # fmt: skip
    parser.add_argument("--args", default="{}", metavar="JSON",
        help="arguments of the methods, as a JSON object (see DEDUP_METHOD_ARGS); max_distance is "
        "the largest threshold to try")  # fmt: skip
    parser.add_argument("--min-tokens", type=int, default=20, metavar="N",
        help="leave out pages with fewer words (default: 20)")  # fmt: skip
    parser.add_argument("--pairs", type=int, default=60, metavar="N",
        help="how many pairs to judge (default: 60)")  # fmt: skip
    parser.add_argument("--precision", type=float, default=0.95, metavar="SHARE",
        help="the precision that you want, from 0 to 1 (default: 0.95)")  # fmt: skip
    parser.add_argument("--seed", type=int, default=0, metavar="N",
        help="another number draws other pairs (default: 0)")  # fmt: skip
    parser.add_argument("--answers", type=Path, metavar="FILE",
        help="read answers from this table (key1, key2, label: yes, no or skip), and add new ones "
        "to it")  # fmt: skip
    parser.add_argument("--pairs-out", type=Path, metavar="FILE",
        help="write the pairs with their texts to this table instead of asking")  # fmt: skip
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to FILE")
    overwritable(parser)


def run(options: argparse.Namespace) -> None:
    names = list(METHODS) if options.method == ["all"] else list(dict.fromkeys(options.method))
    kinds = [method_class(name) for name in names]
    arguments = json_object("--args", options.args)
    for kind in kinds:
        hashing = created(kind, arguments).hashing
    is_asked = sys.stdin.isatty() and sys.stdout.isatty() and not options.pairs_out
    _check(options, is_asked)
    answers = Answers(options.answers)
    if is_asked:
        answers.check_writable()
    keys, documents = _distinct(options)
    with progress(len(documents) * len(kinds)) as advance:
        candidates = [
            find_candidates(kind, arguments, documents, advance, hashing) for kind in kinds
        ]
    calibration = Calibration(keys, candidates, options.seed)
    sample = calibration.sample(options.pairs)
    if sample and not (is_asked or options.pairs_out or _labels(calibration, keys, answers)):
        raise CommandError(f"{options.answers} has no answer to any of {len(sample):,} pairs")
    output = console()
    _show_candidates(output, len(keys), candidates)
    if not sample:
        output.print("No two of them are near, so there is nothing to judge.")
        return
    interrupt = None
    if options.pairs_out:
        texts = [document.main_text or "" for document in documents]
        _write_pairs(output, options.pairs_out, pairs_as_table(sample, keys, texts, answers))
    elif is_asked:
        try:
            _ask(output, sample, keys, documents, answers)
        except KeyboardInterrupt as error:  # what was answered until then counts
            interrupt = error
    labels = _labels(calibration, keys, answers)
    if labels:
        _report(output, options, arguments, calibration, labels)
    elif is_asked:
        output.print("Nothing was judged yet.")
    if others := len(answers) - len(labels):
        output.print(f"{others:,} answers are of pairs that are not among these.")
    if interrupt:
        raise interrupt


def _check(options: argparse.Namespace, is_asked: bool) -> None:
    for name, least in (("min_tokens", 0), ("pairs", 1), ("seed", 0)):
        if (value := getattr(options, name)) < least:
            raise CommandError(f"--{name.replace('_', '-')} must be {least} or more, got {value}")
    if options.seed >= 2**64:
        raise CommandError(f"--seed must be below 2**64, got {options.seed}")
    if not 0 <= options.precision <= 1:
        raise CommandError(f"--precision must be from 0 to 1, got {options.precision}")
    check_outputs(options, options.json, options.pairs_out)
    if not options.input.exists():
        raise CommandError(f"{options.input} cannot be read (No such file or directory)")
    if not (is_asked or options.answers or options.pairs_out):
        raise CommandError(
            "there is no terminal to ask in: give --answers with a file that is filled in, or "
            "--pairs-out to write the pairs for that"
        )
    if not (is_asked or options.pairs_out or options.answers.exists()):
        raise CommandError(f"{options.answers} cannot be read (No such file or directory)")
    inputs = {path.resolve() for path in (options.input, options.answers) if path}
    for path in (options.json, options.pairs_out):
        if path and path.resolve() in inputs:
            raise CommandError(f"{path} is an input, too")


def _distinct(options: argparse.Namespace) -> tuple[list[str], list[Document]]:
    """Return the keys and documents of the pages, of those with equal texts the first.

    Of several texts of one key, the last one counts.
    """
    by_text: dict[str, tuple[str, Document]] = {}
    texts: dict[str, str] = {}
    for key, text in _records(options.input, options.field, options.key):
        # A feed that grows with each crawl has each version of a page.
        texts.pop(key, None)
        texts[key] = text
    for key, text in texts.items():
        document = Document.from_main_text(text)
        if len(document.tokens) >= options.min_tokens:
            by_text.setdefault(document.text, (key, document))
    if len(by_text) < 2:
        raise CommandError(
            f"{options.input} has {len(by_text)} different texts of {options.min_tokens} tokens or "
            f"more in the field {options.field!r}; there is nothing to compare"
        )
    keys, documents = zip(*by_text.values(), strict=True)
    return list(keys), list(documents)


def _records(path: Path, field: str, key: str) -> Iterator[tuple[str, str]]:
    """Yield the key of each page with a text, and the text."""
    if path.is_file() and is_sqlite(path):
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


def _records_of_ledger(path: Path) -> Iterator[tuple[str, str]]:
    with LedgerReader(path) as ledger:
        for url, _, text in ledger.texts():
            if text:
                yield url, text


def _labels(
    calibration: Calibration, keys: Sequence[str], answers: Answers
) -> dict[tuple[int, int], str]:
    return {
        (one, other): answers[both]
        for one, other in calibration.pairs
        if (both := in_order(keys[one], keys[other])) in answers
    }


def _show_candidates(output: Console, pages: int, candidates: Sequence[Candidates]) -> None:
    output.print(f"{pages:,} pages with different texts; pairs of them to judge from:")
    for found in candidates:
        number = sum(map(len, found.strata.values()))
        output.print(f"  {found.method.name}: {number:,}, up to distance {found.max_distance:.4g}")


def _write_pairs(output: Console, path: Path, table: str) -> None:
    with replacing(path) as file:
        file.write(table.encode())
    hint = "fill in the column label (yes, no or skip) and give the file to --answers"
    output.print(Text(printable(f"{path} is written: {hint}")))


def _ask(
    output: Console,
    sample: Sequence[tuple[int, int]],
    keys: Sequence[str],
    documents: Sequence[Document],
    answers: Answers,
) -> None:
    """Show the pairs that were not judged one by one, and keep the answers."""
    labels = {"y": YES, "yes": YES, "n": NO, "no": NO, "s": SKIP, "skip": SKIP}
    for number, (one, other) in enumerate(sample, 1):
        if in_order(keys[one], keys[other]) in answers:
            continue
        texts = [documents[page].main_text or "" for page in (one, other)]
        output.rule(Text(f"pair {number} of {len(sample)}"))
        for page in (one, other):
            output.print(Text(printable(keys[page]), "bold"))
        words = diff(*texts)
        output.print(words[:_MOST_OF_DIFF])
        if len(words) > _MOST_OF_DIFF:
            output.print("… (f shows both texts in full)")
        while True:
            try:
                answer = input(_QUESTION).strip().lower()
            except EOFError:
                answer = "q"
                output.print()
            if answer in ("q", "quit"):
                return
            if answer in ("f", "full"):
                for page, text in zip((one, other), texts, strict=True):
                    output.print(Text(printable(keys[page]), "bold"))
                    lines = (printable(line, None) for line in text.splitlines())
                    output.print(Text("\n".join(lines)))
            if answer in labels:
                answers.add(keys[one], keys[other], labels[answer])
                break


def _report(
    output: Console,
    options: argparse.Namespace,
    arguments: Mapping[str, Any],
    calibration: Calibration,
    labels: Mapping[tuple[int, int], str],
) -> None:
    results = []
    for found in calibration.candidates:
        steps = calibration.steps(found, labels)
        results.append((found, steps, recommend(steps, options.precision)))
    reaching = [result for result in results if result[2]]
    best = max(reaching, key=lambda result: result[2].recall.mean if result[2] else 0, default=None)
    # The file first: who reads the output may stop at any time.
    if options.json:
        with replacing(options.json) as file:
            file.write(f"{json.dumps(_figures(results, best, labels), indent=1)}\n".encode())
    for found, steps, chosen in results:
        _show_steps(output, found, steps, chosen)
    output.print()
    output.print(_LEGEND if output.width > 96 else " ".join(_LEGEND.split()))
    output.print()
    for found, _, chosen in results:
        output.print(_sentence(found, chosen, options.precision))
    if best:
        found, _, chosen = best
        assert chosen
        settings = dict(arguments)
        if "max_distance" in found.method.parameters:
            settings["max_distance"] = chosen.threshold
        output.print()
        output.print(Text(f'DEDUP_METHOD = "{found.method.name}"'))
        output.print(Text(f"DEDUP_METHOD_ARGS = {settings!r}"))


def _show_steps(
    output: Console, found: Candidates, steps: Sequence[Step], chosen: Step | None
) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(found.method.name)
    for title in ("pairs", "judged", "right", "found", "precision", "recall"):
        table.add_column(title, justify="right")
    judged = 0
    for step in steps:
        judged += step.judged
        # Where nobody judged anything, there is nothing to be told.
        shares = map(_interval, (step.precision, step.recall)) if judged else ("–", "–")
        table.add_row(
            f"up to {step.threshold:.4g}",
            f"{step.pairs:,}",
            f"{step.judged:,}",
            f"{step.right:,}",
            f"{step.found:,.0f}" if judged else "–",
            *shares,
            style="bold" if step is chosen else "",
        )
    output.print()
    output.print(table)


def _interval(estimate: Estimate) -> str:
    return f"{estimate.mean:.2f} ({estimate.low:.2f} to {estimate.high:.2f})"


def _sentence(found: Candidates, chosen: Step | None, precision: float) -> str:
    name = found.method.name
    if chosen is None:
        return (
            f"{name}: no threshold has an expected precision of {precision:.4g} by these answers."
        )
    text = (
        f"{name}: up to distance {chosen.threshold:.4g}, precision {_interval(chosen.precision)}, "
        f"recall {_interval(chosen.recall)}."
    )
    if len(found.strata) > 1 and chosen.threshold == found.max_distance:
        text += " It is the largest distance looked at (--args sets max_distance)."
    return text


def _figures(
    results: Sequence[tuple[Candidates, Sequence[Step], Step | None]],
    best: tuple[Candidates, Sequence[Step], Step | None] | None,
    labels: Mapping[tuple[int, int], str],
) -> dict[str, Any]:
    return {
        "judged": len(labels),
        "methods": [
            {
                "method": found.method.name,
                "parameters": found.method.parameters,
                "thresholds": [
                    {
                        **step._asdict(),
                        "precision": step.precision._asdict(),
                        "recall": step.recall._asdict(),
                    }
                    for step in steps
                ],
                "recommended": chosen and chosen.threshold,
            }
            for found, steps, chosen in results
        ],
        "recommended": best and best[0].method.name,
    }
