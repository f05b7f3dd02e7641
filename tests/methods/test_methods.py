"""What every registered method has to do."""

import json
import pickle

import pytest

from dedup.index import Index, index_for
from dedup.methods import METHODS, FingerprintMethod, Method
from dedup.text import Document

TEXTS = {
    "English": "The ferry across the Wend has carried cattle, brides and one grand piano.",
    "Chinese": "镇上有十九家米粉店,没有一家做晚饭的生意。早上五点开门,卖到十点,锅一刷就收摊。",
    "mixed": "我们用 Python 3 写了一个爬虫, and it fetched 2,000 pages from さくら市.",
    "one word": "word",
    "long": " ".join(f"word{i % 7919} {i}" for i in range(20_000)),
}


@pytest.fixture(params=METHODS.items(), ids=METHODS)
def registered(request):
    return request.param


@pytest.fixture
def method(registered):
    return registered[1]()


@pytest.fixture(params=TEXTS.values(), ids=TEXTS)
def document(request):
    return Document.from_main_text(request.param)


def test_a_method_is_registered_under_its_name(registered):
    name, kind = registered
    assert issubclass(kind, Method)
    assert kind.name == name


def test_a_version_is_an_integer(method):
    assert type(method.version) is int


def test_equal_documents_have_equal_sketches(method, document):
    assert method.sketch(document) == type(method)().sketch(Document(document.text))
    assert method.sketch(document) is not None


@pytest.mark.parametrize("text", ["", " ", "?! …", "\x00", "♥♥♥"])
def test_a_document_without_content_has_no_sketch(method, text):
    assert method.sketch(Document.from_main_text(text)) is None


def test_a_sketch_survives_storage(method, document):
    sketch = method.sketch(document)
    data = method.to_bytes(sketch)
    assert type(data) is bytes
    assert method.from_bytes(data) == sketch


def test_the_sketches_of_different_texts_differ(method):
    sketches = [method.sketch(Document.from_main_text(text)) for text in TEXTS.values()]
    assert len({method.to_bytes(sketch) for sketch in sketches}) == len(TEXTS)


def test_its_index_finds_an_equal_sketch(method, document):
    index = index_for(method)
    index.add(method.sketch(document), 7)
    assert isinstance(index, Index)
    match = index.query(method.sketch(document))
    assert (match.page, match.distance) == (7, 0)


def test_its_parameters_can_be_written_as_json(method):
    assert json.loads(json.dumps(method.parameters)) == method.parameters


def test_it_can_be_created_again_from_its_parameters(method, document):
    again = type(method)(**method.parameters)
    assert again.parameters == method.parameters
    assert again.sketch(document) == method.sketch(document)


def test_it_can_be_sent_to_another_process(method, document):
    sent = pickle.loads(pickle.dumps(method))
    assert sent.parameters == method.parameters
    assert sent.sketch(document) == method.sketch(document)


def test_its_sketches_are_read_only_with_the_document(method, document):
    before = document.text, list(document.tokens)
    method.sketch(document)
    assert (document.text, document.tokens) == before


@pytest.mark.parametrize("kind", [k for k in METHODS.values() if issubclass(k, FingerprintMethod)])
class TestFingerprintMethods:
    @pytest.mark.parametrize("max_distance", [0, 3, 63])
    def test_the_threshold_is_a_parameter(self, kind, max_distance):
        assert kind(max_distance).parameters == {"max_distance": max_distance}
        assert index_for(kind(max_distance)).max_distance == max_distance

    @pytest.mark.parametrize("max_distance", [-1, 64, 1000, 3.0, "3", None])
    def test_an_impossible_threshold_is_refused(self, kind, max_distance):
        with pytest.raises(ValueError, match="max_distance must be from 0 to 63, got") as error:
            kind(max_distance)
        assert repr(max_distance) in str(error.value)

    @pytest.mark.parametrize("fingerprint", [0, 1, 1 << 63, 2**64 - 1, 0x0123456789ABCDEF])
    def test_a_stored_fingerprint_takes_eight_bytes(self, kind, fingerprint):
        data = kind().to_bytes(fingerprint)
        assert data == bytes((fingerprint >> 8 * i) & 255 for i in range(8))
        assert kind().from_bytes(data) == fingerprint
