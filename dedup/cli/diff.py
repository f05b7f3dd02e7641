"""The differences of two texts, for the terminal."""

from collections.abc import Iterable

from rich.text import Text

from dedup.diff import Part, word_diff


def diff(first: str, second: str, *, context: int = 8) -> Text:
    """Return the words of two texts: in red what only the first has, in green only the second."""
    return color(word_diff(first, second, context=context))


def color(parts: Iterable[Part]) -> Text:
    """Return the parts of a diff, with removed words in red and added words in green."""
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
