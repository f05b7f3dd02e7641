"""The words of two texts, side by side, for the terminal."""

from collections.abc import Iterable

from rich.text import Text

from dedup.diff import Part, word_diff


def diff(one: str, other: str, *, context: int = 8) -> Text:
    """Return the words of two texts: what only the first has in red, only the second in green."""
    return colored(word_diff(one, other, context=context))


def colored(parts: Iterable[Part]) -> Text:
    """Return the parts of a diff: what only the first has in red, only the second in green."""
    text = Text()
    for kind, words in parts:
        # The blank before the words stands before their brackets.
        text.append(" " * words.startswith(" "))
        words = words.removeprefix(" ")
        if kind == "removed":
            text.append(f"[-{words}-]", style="red")
        elif kind == "added":
            text.append(f"{{+{words}+}}", style="green")
        else:
            text.append(words)
    return text
