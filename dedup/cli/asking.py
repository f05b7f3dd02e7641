"""Ask a person in the terminal which pairs are near-duplicates."""

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from dedup.calibration import NO, SKIP, YES, Pair
from dedup.cli.answers import Answers, in_order
from dedup.cli.diff import diff
from dedup.text import printable

_LONGEST_DIFF = 2_500
_QUESTION = "Near-duplicates? [y]es [n]o [s]kip [f]ull texts [q]uit: "
_HELP = """\
y, yes   the pages are near-duplicates: one of them is enough
n, no    they are not
s, skip  hard to say; the pair does not count
f, full  show both texts in full
q, quit  stop here; the next time, the command goes on with the pairs that are left"""
_LABELS = {"y": YES, "yes": YES, "n": NO, "no": NO, "s": SKIP, "skip": SKIP}


def ask(
    output: Console,
    sample: Sequence[Pair],
    keys: Sequence[str],
    texts: Sequence[str],
    answers: Answers,
) -> None:
    """Show the unanswered pairs of *sample* one by one and add the *answers*, until the end or q.

    *keys*, *texts*: those of the pages.
    """
    for number, pair in enumerate(sample, 1):
        first, second = (keys[page] for page in pair)
        if in_order(first, second) in answers:
            continue
        output.rule(Text(f"pair {number} of {len(sample)}"))
        for key in (first, second):
            output.print(Text(printable(key), "bold"))
        words = diff(*(texts[page] for page in pair))
        output.print(words[:_LONGEST_DIFF])
        if len(words) > _LONGEST_DIFF:
            output.print("… (f shows both texts in full)")
        while (answer := _input(output)) not in _LABELS:
            if answer in ("q", "quit"):
                return
            if answer in ("f", "full"):
                for page in pair:
                    output.print(Text(printable(keys[page]), "bold"))
                    lines = (printable(line, None) for line in texts[page].splitlines())
                    output.print(Text("\n".join(lines)))
            else:
                output.print(_HELP)
        answers.add(first, second, _LABELS[answer])


def _input(output: Console) -> str:
    """Return the person's next answer; "q" at the end of the input."""
    try:
        return input(_QUESTION).strip().lower()
    except EOFError:
        output.print()
        return "q"
