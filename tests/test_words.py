from hypothesis import given
from hypothesis import strategies as st

from dedup.text import Document
from dedup.words import BLOCK, Documents, Words, words_of

TEXTS = st.lists(
    st.one_of(
        st.text(max_size=30),
        st.text(st.characters(max_codepoint=127), max_size=30),
        st.text(" aB.7\n\x1f\xff", max_size=30),
    ),
    max_size=8,
)


@given(TEXTS)
def test_documents_together_are_what_each_is_alone(texts):
    together = Documents.from_main_texts(texts)
    alone = [Document.from_main_text(text) for text in texts]
    assert list(together) == alone
    assert [document.main_text for document in together] == texts
    assert together.words.counts.tolist() == [len(document.tokens) for document in alone]
    tokens = [token for document in alone for token in document.tokens]
    assert [token.decode() for token in together.words.tokens()] == tokens
    assert len(together.words) == len(tokens)


@given(st.lists(st.binary(min_size=1, max_size=20).filter(lambda word: b" " not in word)))
def test_blocks_are_the_bytes_of_words(tokens):
    words = Words([b"  ".join(tokens), b""])
    for first in (0, BLOCK):
        blocks = [token[first:][:BLOCK].ljust(BLOCK, b"\0") for token in tokens]
        assert words.blocks(first).tolist() == [int.from_bytes(block, "little") for block in blocks]
    assert words.counts.tolist() == [len(tokens), 0]


def test_what_is_made_of_words_is_made_once():
    documents = Documents([Document("a b")])
    made = []
    for _ in range(2):
        assert words_of(documents).once("name", lambda words: made.append(words) or 1) == 1
    assert made == [documents.words]
    assert words_of([Document("a b")]).counts.tolist() == [2]
    assert words_of([]).counts.tolist() == []
