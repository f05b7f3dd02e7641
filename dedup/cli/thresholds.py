"""``dedup evaluate --sample`` and ``--answers``: the threshold that suits pages without labels."""

import argparse
import csv
from collections.abc import Iterator, Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

from rich.text import Text

from dedup.atomic_file import replacing
from dedup.calibration import (
    LABELS,
    PRECISION,
    Calibration,
    Candidates,
    Estimate,
    Pair,
    Step,
    find_candidates,
    recommend,
)
from dedup.cli.ledgers import open_ledger
from dedup.cli.options import choices_of, methods_of
from dedup.cli.terminal import console, diff, new_table, print_json, progress, show
from dedup.lost_text import LostText, lost_with, sequences_of
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
_LEGEND = """\
found, precision, recall: expected values for all pairs up to that distance (with 95 % bounds).
Recall is of the near-duplicates among all pairs to judge from. Text lost: of the extracted
text of the pages that are dropped at that threshold, the part that no kept page has."""

Keys = tuple[str, str]
"""The keys of two pages, in alphabetical order."""


def run(options: argparse.Namespace) -> None:
    """Write the table of pairs to judge, or show what its answers say of each threshold."""
    choices = choices_of(options.method)
    methods = [method for choice in choices for method in methods_of(choice)]
    answers = {} if options.answers is None else _read_answers(options.answers)
    keys, documents = _distinct_pages(options, simplify_chinese=choices[0].simplifies_chinese)
    with progress("pages", len(documents) * len(choices)) as advance:
        candidates = [
            find_candidates(choice.kind, choice.arguments, documents, advance, method.hashing)
            for choice, method in zip(choices, methods, strict=True)
        ]
    calibration = Calibration(keys, candidates)
    if not calibration.pairs:
        raise ValueError(f"no two of {count_of(len(keys), 'page')} are near: nothing to judge")
    if options.sample:
        _write_pairs(options.output, calibration.sample(options.sample), keys, documents, answers)
        return
    labels = {
        pair: answers[both]
        for pair in calibration.pairs
        if (both := _in_order(keys[pair[0]], keys[pair[1]])) in answers
    }
    if not labels:
        raise ValueError(f"{options.answers} has no answer about a pair of these pages")
    results = _results(calibration, labels, documents)
    if options.json:
        print_json(_as_json(results, len(labels)))
        return
    show(f"{count_of(len(keys), 'page')} with different texts; pairs to judge from:")
    for each in candidates:
        number = sum(map(len, each.strata.values()))
        show(f"  {each.method.name}: {number:,}, up to distance {each.max_distance:.4g}")
    _show(results, choices)
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
        # A feed that every crawl appends to has each version of a page.
        texts.pop(key, None)
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


class _Result(NamedTuple):
    """The steps of one method, with the text that is lost at each, and the recommended one."""

    candidates: Candidates
    steps: list[Step]
    lost: list[LostText]
    choice: Step | None


def _results(
    calibration: Calibration, labels: Mapping[Pair, str], documents: Sequence[Document]
) -> list[_Result]:
    texts = sequences_of(documents)
    results = []
    for candidates in calibration.candidates:
        steps = calibration.steps(candidates, labels)
        order = order_to_compare(candidates.method, documents)
        lost = [lost_with(candidates.pairs_within(s.threshold), texts, order) for s in steps]
        results.append(_Result(candidates, steps, lost, recommend(steps)))
    return results


def _best(results: Sequence[_Result]) -> int | None:
    """Return the number of the recommended result with the highest recall."""
    chosen = [number for number, result in enumerate(results) if result.choice]
    return max(chosen, key=lambda n: results[n].choice.recall.mean, default=None)  # type: ignore[union-attr]  # those have one


def _as_json(results: Sequence[_Result], judged: int) -> dict[str, Any]:
    best = _best(results)
    return {
        "judged": judged,
        "methods": [
            {
                "method": result.candidates.method.name,
                "parameters": result.candidates.method.parameters,
                "thresholds": [
                    {
                        **step._asdict(),
                        "precision": step.precision._asdict(),
                        "recall": step.recall._asdict(),
                        "lost_text": lost._asdict(),
                    }
                    for step, lost in zip(result.steps, result.lost, strict=True)
                ],
                "recommended": result.choice and result.choice.threshold,
            }
            for result in results
        ],
        "recommended": None if best is None else results[best].candidates.method.name,
    }


def _show(results: Sequence[_Result], choices: Sequence[MethodChoice]) -> None:
    for result in results:
        _show_steps(result)
    show()
    show(_LEGEND if console().width > 96 else " ".join(_LEGEND.split()))
    show()
    for result in results:
        show(_sentence(result))
    if (best := _best(results)) is not None and (choice := results[best].choice):
        method = results[best].candidates.method
        arguments = dict(choices[best].arguments)
        if "max_distance" in method.parameters:
            arguments["max_distance"] = choice.threshold
        setting = {"name": method.name, **arguments} if arguments else method.name
        show()
        show(Text(f"DEDUP_METHOD = {setting!r}"))


def _show_steps(result: _Result) -> None:
    titles = ("pairs", "judged", "right", "found", "precision", "recall", "text lost")
    table = new_table(result.candidates.method.name, right=titles)
    for step, lost in zip(result.steps, result.lost, strict=True):
        # Without an answer, there is nothing to estimate from.
        shares = map(_interval, (step.precision, step.recall)) if step.judged else ("–", "–")
        table.add_row(
            f"up to {step.threshold:.4g}",
            f"{step.pairs:,}",
            f"{step.judged:,}",
            f"{step.right:,}",
            f"{step.found:,.0f}" if step.judged else "–",
            *shares,
            lost.percent,
            style="bold" if step is result.choice else "",
        )
    show()
    show(table)


def _interval(estimate: Estimate) -> str:
    return f"{estimate.mean:.2f} ({estimate.low:.2f} to {estimate.high:.2f})"


def _sentence(result: _Result) -> str:
    name, choice = result.candidates.method.name, result.choice
    if choice is None:
        return f"{name}: no threshold has an expected precision of {PRECISION} by these answers."
    lost = result.lost[result.steps.index(choice)]
    text = (
        f"{name}: up to distance {choice.threshold:.4g}, precision {_interval(choice.precision)}, "
        f"recall {_interval(choice.recall)}. At this threshold, {lost.percent} of the extracted "
        "text of dropped pages is lost."
    )
    if len(result.candidates.strata) > 1 and choice.threshold == result.candidates.max_distance:
        text += " It is the largest distance tried (a max_distance of --method is)."
    return text
