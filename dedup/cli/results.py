"""The results of a calibration: as tables and sentences, and as JSON."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table
from rich.text import Text

from dedup.calibration import Calibration, Candidates, Estimate, Pair, Step, recommend
from dedup.lost_text import LostText
from dedup.methods.base import Method

_LEGEND = """\
found, precision, recall: expected values for all pairs up to that distance (with 95 % intervals).
Recall is of the near-duplicates among all pairs to judge from. Text lost: of the extracted
text of the pages that are dropped at that threshold, the part that no kept page has."""


class _Result(NamedTuple):
    """The steps of one method, with the text that is lost at each, and the recommended one."""

    candidates: Candidates
    steps: list[Step]
    lost: list[LostText]
    choice: Step | None

    @property
    def recall(self) -> float:
        return self.choice.recall.mean if self.choice else -1.0


class Results:
    """What the judged pairs say of each method, and of which threshold to use."""

    def __init__(
        self,
        calibration: Calibration,
        labels: Mapping[Pair, str],
        precision: float,
        lost_with: Callable[[Method, Iterable[Pair]], LostText],
    ) -> None:
        """Estimate the results; the choice must have at least this expected *precision*, 0 to 1.

        *lost_with* tells how much text is lost if a method finds those pairs.
        """
        self._judged = len(labels)
        self._precision = precision
        self._results = []
        for candidates in calibration.candidates:
            steps = calibration.steps(candidates, labels)
            lost = [
                lost_with(candidates.method, candidates.pairs_within(step.threshold))
                for step in steps
            ]
            self._results.append(_Result(candidates, steps, lost, recommend(steps, precision)))
        best = max(self._results, key=lambda result: result.recall)
        self._best = best if best.choice else None

    def show(self, output: Console, arguments: Mapping[str, Any]) -> None:
        """Print the tables, the recommendations, and the settings of the best method."""
        for result in self._results:
            _show_steps(output, result)
        output.print()
        output.print(_LEGEND if output.width > 96 else " ".join(_LEGEND.split()))
        output.print()
        for result in self._results:
            output.print(_sentence(result, self._precision))
        if self._best and self._best.choice:
            method = self._best.candidates.method
            settings = dict(arguments)
            if "max_distance" in method.parameters:
                settings["max_distance"] = self._best.choice.threshold
            output.print()
            chosen = {"name": method.name, **settings} if settings else method.name
            output.print(Text(f"DEDUP_METHOD = {chosen!r}"))

    def as_json(self) -> dict[str, Any]:
        """Return all figures."""
        return {
            "judged": self._judged,
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
                for result in self._results
            ],
            "recommended": self._best and self._best.candidates.method.name,
        }


def _show_steps(output: Console, result: _Result) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(result.candidates.method.name)
    for title in ("pairs", "judged", "right", "found", "precision", "recall", "text lost"):
        table.add_column(title, justify="right")
    judged = 0
    for step, lost in zip(result.steps, result.lost, strict=True):
        judged += step.judged
        # Without an answer up to here, there is nothing to estimate from.
        shares = map(_interval, (step.precision, step.recall)) if judged else ("–", "–")
        table.add_row(
            f"up to {step.threshold:.4g}",
            f"{step.pairs:,}",
            f"{step.judged:,}",
            f"{step.right:,}",
            f"{step.found:,.0f}" if judged else "–",
            *shares,
            lost.percent,
            style="bold" if step is result.choice else "",
        )
    output.print()
    output.print(table)


def _interval(estimate: Estimate) -> str:
    return f"{estimate.mean:.2f} ({estimate.low:.2f} to {estimate.high:.2f})"


def _sentence(result: _Result, precision: float) -> str:
    name, choice = result.candidates.method.name, result.choice
    if choice is None:
        return (
            f"{name}: no threshold has an expected precision of {precision:.4g} by these answers."
        )
    text = (
        f"{name}: up to distance {choice.threshold:.4g}, precision {_interval(choice.precision)}, "
        f"recall {_interval(choice.recall)}."
    )
    lost = result.lost[result.steps.index(choice)]
    text += f" At this threshold, {lost.percent} of the extracted text of dropped pages is lost."
    if len(result.candidates.strata) > 1 and choice.threshold == result.candidates.max_distance:
        text += " It is the largest distance tried (--args sets max_distance)."
    return text
