import json
import math

import pytest
from cases import each

from dedup.lexicon import Lexicon, load_lexicon, write_lexicon
from dedup.methods.i_match import IMatch

BUILT_IN = ["general", "jieba"]
COUNTS = {"the": 90, "ferry": 10, "北京": 2, "once": 1}


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "lexicon.json"
    write_lexicon(path, 100, COUNTS)
    return path


def test_a_written_lexicon_is_read_again(path):
    lexicon = load_lexicon(str(path))
    assert (lexicon.name, lexicon.documents, lexicon.unknown) == (str(path), 100, 1)
    assert lexicon.frequencies == {"the": 90, "ferry": 10, "北京": 2}
    # It stays as it was read, whatever becomes of its file.
    path.unlink()
    assert load_lexicon(str(path)) is lexicon


def test_the_contents_of_a_lexicon_make_the_identity_and_not_its_path(path, tmp_path):
    for name, documents in (("copy", 100), ("another", 1000)):
        write_lexicon(tmp_path / name, documents, COUNTS)
    original, copy, another = (
        IMatch(lexicon=str(file)).identity
        for file in (path, tmp_path / "copy", tmp_path / "another")
    )
    assert original == copy != another


@each(
    "fields",
    [
        {"format": "scrapy-dedup lexicon 0"},
        {"documents": 101},
        {"frequencies": {"the": 91}},
        {"digest": None},
        {"frequencies": None},
    ],
)
def test_a_lexicon_that_is_damaged_or_of_another_version_is_refused(tmp_path, fields):
    path = tmp_path / f"{fields}".replace("/", "")
    write_lexicon(path, 100, COUNTS)
    content = {**json.loads(path.read_text("utf-8")), **fields}
    path.write_text(json.dumps(content), "utf-8")
    with pytest.raises(ValueError, match="is no scrapy-dedup lexicon 1, or damaged; make one with"):
        load_lexicon(str(path))


@each("text", ["", "{", "[]", "12", "null", '{"format": 1}', "\udcff"])
def test_a_file_of_something_else_is_refused(path, text):
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(ValueError, match="is no scrapy-dedup lexicon 1, or damaged"):
        load_lexicon(str(path))


def test_a_missing_file_is_refused_with_the_choices(tmp_path):
    with pytest.raises(ValueError, match=r"lexicon must be general, jieba or the path .*'none'"):
        load_lexicon("none")
    with pytest.raises(ValueError, match="Is a directory"):
        load_lexicon(str(tmp_path))


def test_idf_is_the_logarithm_of_the_share():
    lexicon = Lexicon("", 1000, {"the": 1000, "ferry": 10, "half": 0.5}, "")
    assert lexicon.idf("the") == 0
    assert lexicon.idf("ferry") == pytest.approx(math.log(100))
    assert lexicon.idf("half") == pytest.approx(math.log(2000))
    assert lexicon.idf("unknown") == pytest.approx(math.log(1000))


def test_normalised_idf_is_from_0_to_1():
    lexicon = Lexicon("", 999, {"the": 999, "ferry": 10, "boat": 100}, "")
    found = [lexicon.nidf(term) for term in ("unknown", "ferry", "boat", "the")]
    assert found == pytest.approx([1, 2 / 3, 1 / 3, 0.000145], abs=1e-6)
    # The window of the reference code is from 8 to 63,095 among a million.
    frequencies = {str(count): count for count in (7, 8, 63_095, 63_096)}
    lexicon = Lexicon("", 1_000_000, frequencies, "")
    assert [term for term in frequencies if 0.2 <= lexicon.nidf(term) <= 0.85] == ["8", "63095"]


@pytest.mark.parametrize("name", BUILT_IN)
def test_built_in_lexicons_have_frequencies_of_their_documents(name):
    lexicon = load_lexicon(name)
    assert lexicon.name == name
    assert min(lexicon.frequencies.values()) >= 1
    assert max(lexicon.frequencies.values()) <= lexicon.documents
    assert load_lexicon(name) is lexicon


def test_the_general_lexicon_knows_english_and_chinese():
    idf = load_lexicon("general").idf
    assert 0 <= idf("the") < idf("house") < idf("ferry") < idf("ferryman") < idf("qqxyzzy")
    assert 0 <= idf("一个") < idf("北京") < idf("码头") < idf("不存在的词")
    assert idf("qqxyzzy") == idf("不存在的词") == math.log(1_000_000)


# jieba leaves its file open.
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_the_jieba_lexicon_has_the_idf_of_jieba():
    from jieba.analyse.tfidf import TFIDF

    expected, lexicon = TFIDF(), load_lexicon("jieba")
    assert len(lexicon.frequencies) == len(expected.idf_freq) == 270_132
    error = max(abs(lexicon.idf(term) - idf) for term, idf in expected.idf_freq.items())
    assert error < 1e-12
    assert lexicon.idf("不存在的词") == pytest.approx(expected.median_idf, abs=1e-12)
    assert lexicon.idf("不存在的词") == pytest.approx(11.9547675029)


def test_rare_terms_are_left_out(tmp_path):
    write_lexicon(tmp_path / "some", 100, COUNTS)
    assert set(load_lexicon(str(tmp_path / "some")).frequencies) == {"the", "ferry", "北京"}
    with pytest.raises(ValueError, match="no word is in 2 of the 100 documents"):
        write_lexicon(tmp_path / "lexicon", 100, {"once": 1})
    assert not (tmp_path / "lexicon").exists()
