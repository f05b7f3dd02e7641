"""What a secret does to the sketches of every method, and where it does not get."""

import pickle
from hashlib import blake2b

import pytest
from cases import each
from pairs import sketched
from texts import CHINESE, ENGLISH, article

from dedup.methods import METHODS, SimHash, hashing
from dedup.methods.hashing import PLAIN, Hashing
from dedup.methods.keyed import KeyedHashing, with_keyed_hashing

SECRET = "correct horse battery staple"
KEYED = KeyedHashing(SECRET)
TEXTS = [ENGLISH, CHINESE, f"{ENGLISH}\n{CHINESE}", article(1), "", "one word", "x" * 100 + " 1 1"]


@pytest.fixture(params=METHODS)
def method(request):
    return METHODS[request.param]()


@pytest.mark.slow
def test_each_secret_gives_every_method_sketches_of_its_own_the_same_each_time(method):
    hashings = (PLAIN, KEYED, KeyedHashing(SECRET[::-1]), KeyedHashing(f" {SECRET}\n"))
    methods = [method.with_hashing(one) for one in hashings]
    for text in TEXTS:
        plain, first, second, again = (sketched(one, text) for one in methods)
        assert first == again
        assert (plain is None) == (first is None)
        assert text not in (ENGLISH, CHINESE) or len({plain, first, second}) == 3


def test_nothing_is_hashed_without_the_key(method, monkeypatch):
    with_secret = method.with_hashing(KEYED)
    expected = [sketched(with_secret, text) for text in TEXTS]
    # Whatever of a page went through a hash without a key, others could choose.
    for name in ("feature_hash", "block_hashes", "word_counts"):
        monkeypatch.delattr(Hashing, name)
    monkeypatch.delattr(hashing, "xxhash")

    def hashed_with_a_key(data, *, key, **options):
        assert len(key) == 32
        return blake2b(data, key=key, **options)

    monkeypatch.setattr(hashing, "blake2b", hashed_with_a_key)
    assert [sketched(with_secret, text) for text in TEXTS] == expected


def test_every_method_of_ours_can_have_a_secret_and_is_left_as_it_was(method):
    before = sketched(method, ENGLISH)
    with_secret = with_keyed_hashing(method, KEYED)
    assert sketched(with_secret, ENGLISH) != before == sketched(method, ENGLISH)
    assert "secret" not in method.identity
    assert with_secret.identity == {**method.identity, "secret": KEYED.secret_digest}
    assert with_secret.parameters == method.parameters


def test_sketches_that_were_stored_stay_comparable():
    assert KEYED.secret_digest == "ce7fed4e4bd4dffa"
    method = SimHash().with_hashing(KEYED)
    assert sketched(method, ENGLISH).hex() == "1319c62c50fa953e"


def test_the_secret_is_in_nothing_that_can_be_seen_or_sent(method):
    method = method.with_hashing(KEYED)
    seen = f"{method!r} {method.hashing!r} {vars(method)} {method.identity} {method.parameters}"
    key = KEYED._key
    for word in (SECRET, SECRET.split()[1], key.hex(), repr(key)):
        assert word not in seen
    sent = pickle.dumps(method)
    assert SECRET.encode() not in sent
    assert len(sent) < 10_000  # without words that are remembered
    assert sketched(pickle.loads(sent), ENGLISH) == sketched(method, ENGLISH)


@each("secret", ["", "short", "fifteen letters", f"{' ' * 20}x{' ' * 20}"])
def test_a_short_secret_is_refused_and_not_told(secret):
    with pytest.raises(ValueError, match="must have at least 16 characters") as refused:
        KeyedHashing(secret)
    assert not secret.strip() or secret.strip() not in str(refused.value)


class OwnHashes(SimHash):
    name = "own-hashes"

    def sketch(self, document):
        return sum(map(len, document.tokens))


class Nothing(SimHash):
    name = "nothing"

    def sketch(self, document):
        return None


def test_a_method_that_does_not_hash_with_the_key_is_refused():
    with pytest.raises(ValueError, match=r"own-hashes do not depend on it.*self\.hashing"):
        with_keyed_hashing(OwnHashes(), KEYED)
    assert with_keyed_hashing(Nothing(), KEYED).hashing is KEYED
