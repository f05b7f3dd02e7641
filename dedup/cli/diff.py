"""The words of two texts, side by side, for the terminal."""

from rich.text import Text

from dedup.diff import word_diff


def diff(one: str, other: str, *, context: int = 8) -> Text:
    """Return the words of two texts: what only the first has in red, only the second in green."""
    text = Text()
    for kind, words in word_diff(one, other, context=context):
        if kind == "removed":
            text.append(f"[-{words}-]", style="red")
        elif kind == "added":
            text.append(f"{{+{words}+}}", style="green")
        else:
            text.append(words)
        text.append(" ")
    return text
