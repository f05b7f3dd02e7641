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
def test_the_words_of_documents_are_the_tokens_of_each(texts):
    documents = Documents(map(Document.from_main_text, texts))
    assert documents.words.counts.tolist() == [len(document.tokens) for document in documents]
    tokens = [token for document in documents for token in document.tokens]
    assert [token.decode() for token in documents.words.tokens()] == tokens
    assert len(documents.words) == len(tokens)


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
