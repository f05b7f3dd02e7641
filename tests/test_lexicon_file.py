import os

import pytest

from dedup.lexicon import load_lexicon
from dedup.lexicon_file import count_terms, write_lexicon
from dedup.text import Document

COUNTS = {"the": 90, "ferry": 10, "北京": 2, "once": 1}


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "lexicon.json"
    write_lexicon(path, 100, COUNTS)
    return path


def test_a_term_is_counted_once_a_document():
    documents = map(Document, ["a rose is a rose", "a ferry", "", "a rose"])
    assert count_terms(documents) == (4, {"a": 3, "rose": 2, "is": 1, "ferry": 1})


def test_rare_terms_are_left_out(tmp_path):
    write_lexicon(tmp_path / "some", 100, COUNTS)
    assert set(load_lexicon(str(tmp_path / "some")).frequencies) == {"the", "ferry", "北京"}
    with pytest.raises(ValueError, match="no word is in 2 of the 100 documents"):
        write_lexicon(tmp_path / "lexicon", 100, {"once": 1})
    assert not (tmp_path / "lexicon").exists()


def test_writing_leaves_nothing_else_and_says_the_digest(path):
    digest = write_lexicon(path, 100, COUNTS)
    assert os.listdir(path.parent) == [path.name]
    assert load_lexicon(str(path)).digest == digest


@pytest.mark.parametrize("documents", [0, 1])
def test_fewer_than_two_documents_make_no_lexicon(tmp_path, documents):
    with pytest.raises(ValueError, match=f"needs at least 2 documents, got {documents}"):
        write_lexicon(tmp_path / "lexicon", documents, {"a": 1})
    assert os.listdir(tmp_path) == []


def test_the_digest_is_that_of_the_contents(tmp_path):
    def digest(documents=100, **changes):
        counts = {**COUNTS, **changes}
        return write_lexicon(tmp_path / "lexicon", documents, counts)

    assert digest() == digest(once=0)
    assert digest() == write_lexicon(tmp_path / "other", 100, dict(reversed(COUNTS.items())))
    assert len({digest(), digest(101), digest(ferry=11), digest(the=0), digest(more=2)}) == 5
