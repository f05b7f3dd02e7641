from dedup.text import normalise
from dedup.words import normalise_together


def test_texts_are_normalised_together_as_each_alone():
    blanks = ["", " ", "\n\t \x1c", " a", "a ", "A  B\n\nc\r\n", "\x00 x", "  d  ", ""]
    texts = [*blanks, "Ａ  \u00a0b", *blanks, "İ\u0301"]
    assert normalise_together(texts) == list(map(normalise, texts))
    assert normalise_together([]) == []
