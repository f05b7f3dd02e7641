"""How often the bounds of `dedup evaluate --answers` hold the truth: see docs/methods.md.

The labels of a collection answer for a person; grey and part are skipped. Every draw of pairs is
judged anew, and its bounds are compared with the precision and recall of all pairs.

python benchmarks/calibration.py FOLDER/labelled/reuters_a
python benchmarks/calibration.py FOLDER/labelled/reuters_a --methods simhash --draws 200
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dedup.calibration import (
    NO,
    SKIP,
    YES,
    Calibration,
    Candidates,
    Pair,
    find_candidates,
    recommend,
)
from dedup.evaluation import read_collection
from dedup.methods import METHODS

LABELS = {"dup": YES, "grey": SKIP, "part": SKIP}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("collections", type=Path, nargs="+")
    parser.add_argument("--methods", nargs="+", default=["simhash", "verified"])
    parser.add_argument("--answers", type=int, nargs="+", default=[60, 120, 300])
    parser.add_argument("--draws", type=int, default=100)
    arguments = parser.parse_args()
    print(
        "| collection | answers | method | held: precision, mean / least | held: recall | "
        "width: precision, recall | recommended | precision there, true / expected | recall there |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for folder in arguments.collections:
        keys, candidates, answers = judged(folder, arguments.methods)
        alone = [[found] for found in candidates]
        for together in [*alone, candidates] if len(alone) > 1 else alone:
            for count in arguments.answers:
                rows = simulated(keys, together, answers, count, arguments.draws)
                for found, row in zip(together, rows, strict=True):
                    among = f" of {len(together)}" if len(together) > 1 else ""
                    name = f"`{found.method.name}`{among}"
                    print(f"| {folder.name} | {count} | {name} | {row} |", flush=True)


def judged(
    folder: Path, methods: Sequence[str]
) -> tuple[list[str], list[Candidates], dict[Pair, str]]:
    """Return the keys of different texts, what the methods find, and the answers to that."""
    collection = read_collection(folder, min_tokens=20)
    by_text = {document.text: number for number, document in enumerate(collection.documents)}
    numbers = list(by_text.values())
    documents = [collection.documents[number] for number in numbers]
    keys = [collection.keys[number] for number in numbers]
    candidates = [find_candidates(METHODS[name], {}, documents) for name in methods]
    answers = {}
    for found in candidates:
        for one, other in (pair for stratum in found.strata.values() for pair in stratum):
            low, high = sorted((numbers[one], numbers[other]))
            answers[one, other] = LABELS.get(collection.labels.get((low, high), ""), NO)
    return keys, candidates, answers


def simulated(
    keys: Sequence[str],
    candidates: Sequence[Candidates],
    answers: Mapping[Pair, str],
    count: int,
    draws: int,
) -> Iterator[str]:
    """Yield a row of the table for each of *candidates*, which are calibrated together."""
    runs = []
    for seed in range(draws):
        calibration = Calibration(keys, candidates, seed)
        known = {pair: answers[pair] for pair in calibration.sample(count)}
        runs.append([calibration.steps(found, known) for found in candidates])
    everything = Calibration(keys, candidates)
    for number, found in enumerate(candidates):
        exact = everything.steps(found, answers)  # of all answers: without uncertainty
        truth = {step.threshold: (step.precision.mean, step.recall.mean) for step in exact}
        held: dict[float, list[Any]] = {threshold: [] for threshold in truth}
        widths, chosen = [], []
        for steps in (run[number] for run in runs):
            for step in steps:
                _, low, high = np.array([step.precision, step.recall]).T
                true = np.array(truth[step.threshold])
                held[step.threshold].append((low - 1e-9 <= true) & (true <= high + 1e-9))
                widths.append(high - low)
            if best := recommend(steps):
                true = truth[best.threshold]
                chosen.append((best.threshold, true[0], best.precision[0], true[1], best.recall[0]))
        of_each = [np.mean(draws, axis=0) for draws in held.values() if draws]
        mean, least = np.mean(of_each, axis=0), np.min(of_each, axis=0)
        width = np.mean(widths, axis=0)
        row = [f"{mean[i]:.0%} / {least[i]:.0%}" for i in (0, 1)]
        row.append(f"{width[0]:.2f}, {width[1]:.2f}")
        if chosen:
            lows, highs = np.quantile([each[0] for each in chosen], (0.1, 0.9))
            means = np.mean(chosen, axis=0)
            row += [f"{lows:.2g} to {highs:.2g}"]
            row += [f"{means[i]:.3f} / {means[i + 1]:.3f}" for i in (1, 3)]
        else:
            row += ["none", "", ""]
        yield " | ".join(row)


if __name__ == "__main__":
    main()
