"""``dedup evaluate --sample`` and ``--answers``: the threshold that suits pages without labels."""

import argparse
import csv
from collections.abc import Iterator, Mapping, Sequence
from io import StringIO
from itertools import starmap
from pathlib import Path
from typing import Any

from rich.text import Text

from dedup.atomic_file import replacing
from dedup.calibration import (
    ANSWERS,
    PRECISION,
    Candidates,
    Step,
    find_candidates,
    recommend,
)
from dedup.cli.ledgers import open_ledger, texts_of_feed
from dedup.cli.options import method_of
from dedup.cli.terminal import color, print_json, progress, show, show_line, show_table
from dedup.diff import word_diff
from dedup.lost_text import LostText, lost_with, sequences_of
from dedup.methods.base import Method
from dedup.plugins import MethodChoice
from dedup.records.delimited import table_rows
from dedup.rule import SHORT
from dedup.search import Pair, order_to_compare
from dedup.stores.ledger_file import is_sqlite
from dedup.stores.server_url import ServerUrl
from dedup.text import Document, without_surrogates
from dedup.units import Count

_COLUMNS = ("key1", "key2", "label")
# Spreadsheets cannot hold more in a cell.
_MOST_IN_CELL = 32_000
_LEGEND = (
    "pairs, judged, right: those of the row alone. found, precision, recall: expected values for "
    "all pairs up to that distance (with 95 % bounds). Recall is of the near-duplicates among all "
    "pairs to judge from. Text lost: of the extracted text of the pages that are dropped at that "
    "threshold, the part that no kept page has."
)

Answers = dict[frozenset[str], str]
"""The labels of pairs, by the keys of their pages."""


def run(options: argparse.Namespace) -> None:
    """Write the table of pairs to judge, or show what its answers say of each threshold."""
    if len(options.method) > 1:
        raise ValueError("--sample and --answers take one --method")
    method, choice = method_of(*options.method), MethodChoice.of(*options.method)
    answers = {} if options.answers is None else _read_answers(options.answers)
    pages = _distinct_pages(options, method)
    keys, documents = list(pages), list(pages.values())
    with progress("pages", len(pages)) as advance:
        candidates = find_candidates(choice, keys, documents, advance, method.hashing)
    pairs = {pair: frozenset(keys[number] for number in pair) for pair in candidates.pairs()}
    if not pairs:
        raise ValueError(f"no two of {Count(len(pages)):page} are near: nothing to judge")
    if options.sample:
        sample = [[keys[number] for number in pair] for pair in candidates.sample(options.sample)]
        _write_pairs(options.output, sample, pages, answers)
        return
    labels = _labels_of(pairs, answers, options.answers)
    texts, order = sequences_of(documents), order_to_compare(candidates.method, documents)
    # What the answers say of each threshold, and the text that would be lost there.
    results = {
        step: lost_with(candidates.pairs(step.threshold), texts, order)
        for step in candidates.steps(labels)
    }
    if options.json:
        chosen = recommend(list(results))
        print_json({
            "judged": len(labels),
            "method": candidates.method.name,
            "parameters": candidates.method.parameters,
            "thresholds": list(starmap(_as_json, results.items())),
            "recommended": chosen and chosen.threshold,
        })  # fmt: skip
        return
    show(
        f"{Count(len(pages)):page} with different texts; pairs to judge from: "
        f"{len(pairs):,}, up to distance {candidates.method.max_distance:.4g}"
    )
    _show(candidates, choice, results)
    if others := len(answers) - len(labels):
        show(f"{Count(others):answer is|answers are} about pairs that are not among these.")


def _labels_of(
    pairs: Mapping[Pair, frozenset[str]], answers: Answers, path: Path
) -> dict[Pair, str]:
    labels = {pair: answers[keys] for pair, keys in pairs.items() if keys in answers}
    if not labels:
        hint = "" if answers else ": its column label is empty"
        raise ValueError(f"{path} has no answer about a pair of these pages{hint}")
    return labels


def _as_json(step: Step, lost: LostText) -> dict[str, Any]:
    shares: dict[str, Any] = {"precision": step.precision, "recall": step.recall, "lost_text": lost}
    return step._asdict() | {name: share._asdict() for name, share in shares.items()}


def _distinct_pages(options: argparse.Namespace, method: Method) -> dict[str, Document]:
    """Return the pages by their keys, as *method* sees them: the first of those with equal texts.

    If a key has several texts, the last one counts.
    """
    if len(options.inputs) > 1:
        raise ValueError("--sample and --answers take one file or ledger")
    [source] = options.inputs
    by_text: dict[str, tuple[str, Document]] = {}
    for key, text in dict(_texts(source, options)).items():
        document = method.document(text)
        if document.word_count >= SHORT:
            by_text.setdefault(document.text, (key, document))
    if len(by_text) < 2:
        raise ValueError(
            f"{source} has {len(by_text)} different texts of {SHORT} tokens or more in the field "
            f"{options.text_field!r}; there is nothing to compare"
        )
    return dict(by_text.values())


def _texts(source: Path | ServerUrl, options: argparse.Namespace) -> Iterator[tuple[str, str]]:
    if isinstance(source, ServerUrl) or is_sqlite(source):
        with open_ledger(source) as ledger:
            yield from ((url, text) for url, _, text in ledger.texts() if text)
    else:
        for key, text in texts_of_feed(source, options):
            yield without_surrogates(key), without_surrogates(text)


def _write_pairs(
    path: Path, sample: Sequence[Sequence[str]], pages: Mapping[str, Document], answers: Answers
) -> None:
    """Write a table of pairs to fill in, with the answers so far, what differs, and their texts."""
    table = StringIO(newline="")
    rows = csv.writer(table, delimiter="\t", lineterminator="\n")
    rows.writerow([*_COLUMNS, "differences", "text1", "text2"])
    for keys in sample:
        texts = [pages[key].main_text or "" for key in keys]
        cells = (text[:_MOST_IN_CELL] for text in (color(word_diff(*texts)).plain, *texts))
        rows.writerow([*keys, answers.get(frozenset(keys), ""), *cells])
    with replacing(path) as file:
        file.write(table.getvalue().encode())
    show_line(
        f"{path}: {Count(len(sample)):pair}; fill in the column label (yes, "
        "no or skip), and give the file to --answers"
    )


def _read_answers(path: Path) -> Answers:
    answers = {}
    for where, (one, other, label) in table_rows(path, *_COLUMNS):
        answer = label.strip().lower()
        if answer in ANSWERS:
            answers[frozenset((one, other))] = answer
        elif answer:
            choices = ", ".join(ANSWERS)
            raise ValueError(
                f"{where}: label must be one of {choices}, or empty, got {label!r:.80}"
            )
    return answers


def _show(candidates: Candidates, choice: MethodChoice, results: Mapping[Step, LostText]) -> None:
    method, chosen = candidates.method, recommend(list(results))
    titles = (">pairs", ">judged", ">right", ">found", ">precision", ">recall", ">text lost")
    rows = []
    for step, lost in results.items():
        counts = step.pairs, step.judged, step.right
        shares = [f"{step.found:,.0f}", f"{step.precision}", f"{step.recall}"]
        # Without an answer, there is nothing to estimate from.
        told = shares if step.judged else [None] * len(shares)
        rows.append((f"up to {step.threshold:.4g}", *counts, *told, lost.percent))
    show()
    show_table([method.name, *titles], rows)
    show()
    show(_LEGEND)
    show()
    if chosen is None:
        show(f"No threshold has an expected precision of {PRECISION} by these answers.")
        return
    show(
        f"Up to distance {chosen.threshold:.4g}, precision {chosen.precision}, recall "
        f"{chosen.recall}. At this threshold, {results[chosen].percent} of the extracted text of "
        "dropped pages is lost."
    )
    arguments = dict(choice.arguments)
    if "max_distance" in method.parameters:
        arguments["max_distance"] = chosen.threshold
    show()
    show(Text(f"DEDUP_METHOD = {choice._replace(arguments=arguments).shown()!r}"))
