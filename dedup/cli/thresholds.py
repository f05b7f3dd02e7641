"""``dedup evaluate --sample`` and ``--answers``: the threshold that suits pages without labels."""

import argparse
import csv
from collections.abc import Iterator, Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import Any

from rich.text import Text

from dedup.atomic_file import replacing
from dedup.calibration import (
    LABELS,
    PRECISION,
    Candidates,
    Estimate,
    Pair,
    Step,
    find_candidates,
    recommend,
)
from dedup.cli.ledgers import open_ledger
from dedup.cli.options import choices_of, methods_of
from dedup.cli.terminal import diff, new_table, print_json, progress, show
from dedup.lost_text import LostText, lost_with, sequences_of
from dedup.methods.base import Method
from dedup.plugins import MethodChoice
from dedup.records.delimited import table_rows
from dedup.records.lines import read_records
from dedup.rule import SHORT
from dedup.search import order_to_compare
from dedup.stores.ledger_file import is_sqlite
from dedup.stores.server_url import ServerUrl
from dedup.text import Document, printable, without_surrogates
from dedup.units import Count, count_of

_COLUMNS = ("key1", "key2", "label")
# Spreadsheets cannot hold more in a cell.
_MOST_IN_CELL = 32_000
_LEGEND = (
    "found, precision, recall: expected values for all pairs up to that distance (with 95 % "
    "bounds). Recall is of the near-duplicates among all pairs to judge from. Text lost: of the "
    "extracted text of the pages that are dropped at that threshold, the part that no kept page "
    "has."
)

Keys = tuple[str, str]
"""The keys of two pages, in alphabetical order."""


def run(options: argparse.Namespace) -> None:
    """Write the table of pairs to judge, or show what its answers say of each threshold."""
    choices = choices_of(options.method)
    if len(choices) > 1:
        raise ValueError("--sample and --answers take one --method")
    [choice] = choices
    [method] = methods_of(choice)
    answers = {} if options.answers is None else _read_answers(options.answers)
    keys, documents = _distinct_pages(options, simplify_chinese=choice.simplifies_chinese)
    with progress("pages", len(documents)) as advance:
        candidates = find_candidates(choice, keys, documents, advance, method.hashing)
    if not candidates.pairs:
        raise ValueError(f"no two of {count_of(len(keys), 'page')} are near: nothing to judge")
    if options.sample:
        _write_pairs(options.output, candidates.sample(options.sample), keys, documents, answers)
        return
    labels = {
        pair: answers[both]
        for pair in candidates.pairs
        if (both := _in_order(keys[pair[0]], keys[pair[1]])) in answers
    }
    if not labels:
        raise ValueError(f"{options.answers} has no answer about a pair of these pages")
    steps = candidates.steps(labels)
    texts, order = sequences_of(documents), order_to_compare(candidates.method, documents)
    lost = [lost_with(candidates.pairs_within(step.threshold), texts, order) for step in steps]
    if options.json:
        print_json(_as_json(candidates.method, steps, lost, len(labels)))
        return
    show(
        f"{count_of(len(keys), 'page')} with different texts; pairs to judge from: "
        f"{len(candidates.pairs):,}, up to distance {candidates.max_distance:.4g}"
    )
    _show(candidates, choice, steps, lost)
    if others := len(answers) - len(labels):
        show(f"{Count(others):answer is|answers are} about pairs that are not among these.")


def _distinct_pages(
    options: argparse.Namespace, *, simplify_chinese: bool
) -> tuple[list[str], list[Document]]:
    """Return the keys and documents of the pages, only the first of those with equal texts.

    If a key has several texts, the last one counts.
    """
    if len(options.inputs) > 1:
        raise ValueError("--sample and --answers take one file or ledger")
    [source] = options.inputs
    texts: dict[str, str] = {}
    for key, text in _pages(source, options.text_field, options.key_field):
        texts[key] = text
    by_text: dict[str, tuple[str, Document]] = {}
    for key, text in texts.items():
        document = Document.from_main_text(text, simplify_chinese=simplify_chinese)
        if len(document.tokens) >= SHORT:
            by_text.setdefault(document.text, (key, document))
    if len(by_text) < 2:
        raise ValueError(
            f"{source} has {len(by_text)} different texts of {SHORT} tokens or more in the field "
            f"{options.text_field!r}; there is nothing to compare"
        )
    keys, documents = zip(*by_text.values(), strict=True)
    return list(keys), list(documents)


def _pages(source: Path | ServerUrl, text_field: str, key_field: str) -> Iterator[tuple[str, str]]:
    if isinstance(source, ServerUrl) or is_sqlite(source):
        with open_ledger(source) as ledger:
            yield from ((url, text) for url, _, text in ledger.texts() if text)
        return
    for where, record in read_records(source, text_field):
        if text := record.content:
            key = record.fields.get(key_field)
            if not isinstance(key, str) or not key:
                raise ValueError(f"{where}: the key {key_field!r} must be a string")
            yield without_surrogates(key), without_surrogates(text)


def _in_order(one: str, other: str) -> Keys:
    return (one, other) if one <= other else (other, one)


def _write_pairs(
    path: Path,
    sample: Sequence[Pair],
    keys: Sequence[str],
    documents: Sequence[Document],
    answers: Mapping[Keys, str],
) -> None:
    """Write a table of pairs to fill in, with the answers so far, what differs, and their texts."""
    table = StringIO(newline="")
    rows = csv.writer(table, delimiter="\t", lineterminator="\n")
    rows.writerow([*_COLUMNS, "differences", "text1", "text2"])
    for one, other in sample:
        texts = [documents[number].main_text or "" for number in (one, other)]
        cells = (text[:_MOST_IN_CELL] for text in (diff(*texts).plain, *texts))
        label = answers.get(_in_order(keys[one], keys[other]), "")
        rows.writerow([keys[one], keys[other], label, *cells])
    with replacing(path) as file:
        file.write(table.getvalue().encode())
    print(
        f"{printable(str(path))}: {count_of(len(sample), 'pair')}; fill in the column label (yes, "
        "no or skip), and give the file to --answers"
    )


def _read_answers(path: Path) -> dict[Keys, str]:
    answers = {}
    for where, (one, other, label) in table_rows(path, *_COLUMNS):
        label = label.strip().lower()
        if label and label not in LABELS:
            raise ValueError(
                f"{where}: label must be one of {', '.join(LABELS)}, or empty, got {label!r:.80}"
            )
        if label:
            answers[_in_order(one, other)] = label
    return answers


def _as_json(
    method: Method, steps: Sequence[Step], lost: Sequence[LostText], judged: int
) -> dict[str, Any]:
    chosen = recommend(steps)
    return {
        "judged": judged,
        "method": method.name,
        "parameters": method.parameters,
        "thresholds": [
            {
                **step._asdict(),
                "precision": step.precision._asdict(),
                "recall": step.recall._asdict(),
                "lost_text": text._asdict(),
            }
            for step, text in zip(steps, lost, strict=True)
        ],
        "recommended": chosen and chosen.threshold,
    }


def _show(
    candidates: Candidates, choice: MethodChoice, steps: Sequence[Step], lost: Sequence[LostText]
) -> None:
    method, chosen = candidates.method, recommend(steps)
    titles = ("pairs", "judged", "right", "found", "precision", "recall", "text lost")
    table = new_table(method.name, right=titles)
    for step, text in zip(steps, lost, strict=True):
        # Without an answer, there is nothing to estimate from.
        shares = map(_interval, (step.precision, step.recall)) if step.judged else ("–", "–")
        table.add_row(
            f"up to {step.threshold:.4g}",
            f"{step.pairs:,}",
            f"{step.judged:,}",
            f"{step.right:,}",
            f"{step.found:,.0f}" if step.judged else "–",
            *shares,
            text.percent,
            style="bold" if step is chosen else "",
        )
    show()
    show(table)
    show()
    show(_LEGEND)
    show()
    if chosen is None:
        show(f"No threshold has an expected precision of {PRECISION} by these answers.")
        return
    show(
        f"Up to distance {chosen.threshold:.4g}, precision {_interval(chosen.precision)}, recall "
        f"{_interval(chosen.recall)}. At this threshold, {lost[steps.index(chosen)].percent} of "
        "the extracted text of dropped pages is lost."
    )
    if len(candidates.strata) > 1 and chosen.threshold == candidates.max_distance:
        show("It is the largest distance tried (a max_distance of --method is).")
    arguments = dict(choice.arguments)
    if "max_distance" in method.parameters:
        arguments["max_distance"] = chosen.threshold
    setting = {"name": method.name, **arguments} if arguments else method.name
    show()
    show(Text(f"DEDUP_METHOD = {setting!r}"))


def _interval(estimate: Estimate) -> str:
    return f"{estimate.mean:.2f} ({estimate.low:.2f} to {estimate.high:.2f})"
