"""Texts for tests: different contents, and pages around them."""

import random

_WORDS = (
    "river bridge market station harvest council weather library orchard engine window teacher "
    "winter garden lantern postman bakery railway concert doctor village summer mountain painter "
    "kitchen journey meadow captain blanket history letter morning machine holiday forest island"
).split()


def article(number: int, words: int = 200) -> str:
    """Return an English-looking text of *words* words; another *number* gives another content."""
    chooser = random.Random(number)
    own = [f"{word}{chooser.randrange(1000)}" for word in chooser.sample(_WORDS, 20)]
    text = [chooser.choice(own + _WORDS) for _ in range(words)]
    sentences = [" ".join(text[i : i + 12]).capitalize() + "." for i in range(0, words, 12)]
    return " ".join(sentences)


def edited(text: str, word: str = "otherwise") -> str:
    """Return *text* with three words replaced: for article(1), a copy at distance 2."""
    words = text.split()
    for quarter in (1, 2, 3):
        words[quarter * len(words) // 4] = word
    return " ".join(words)


def page(text: str, *links: str, title: str = "A page", footer: str = "Footer") -> str:
    """Return an HTML page with *text* as main text, and *links* in its navigation."""
    navigation = "".join(f'<li><a href="{link}">{link}</a></li>' for link in links)
    half = len(text) // 2
    return (
        f'<!doctype html><html lang="en"><head><title>{title}</title></head><body>'
        f"<nav><ul>{navigation}</ul></nav><main><article><h1>{title}</h1>"
        f"<p>{text[:half]}</p><p>{text[half:]}</p></article></main>"
        f"<footer>{footer}</footer></body></html>"
    )
