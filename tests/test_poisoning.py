"""Pages that are made to have another page dropped: what worked with xxh3, and what does not now.

What was used before stands in this file; the attacks are carried out on it, and on what is used.
"""

import random
import struct

import numpy as np
import pytest
import xxhash
from crawls import crawl, spider_over
from texts import article, page
from web import Answer, served

from dedup.detector import Detector
from dedup.extraction import Extraction
from dedup.methods import METHODS, SimHash
from dedup.methods.hashing import PLAIN
from dedup.methods.keyed import KeyedHashing
from dedup.page import PageReader
from dedup.scrapy_plugin import bodies
from dedup.text import Document
from dedup.view.indexes import _in_scope

SECRET = "correct horse battery staple"

# What XXH3 takes for its secret unless it is given another one.
_KEY = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671f"
    "cb79e64eccc0e578825ad07dccff7221b8084674f743248ee03590e6813a264c"
    "3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8"
    "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364"
    "eac5ac8334d3ebc3c581a0fffa1363eb170ddd51b7f0da49d316552629d4689e"
    "2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e"
)
_BLOCK, _STRIPE = 1024, 64
_MASK, _LOW = 2**64 - 1, 2**32 - 1


def words_of(data):
    return struct.unpack("<8Q", data)


def sums(data, passed_over=()):
    """The eight sums that XXH3 of a long input makes its hash of, but for some stripes."""
    sums = [
        0xC2B2AE3D, 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9,
        0x85EBCA77C2B2AE63, 0x85EBCA77, 0x27D4EB2F165667C5, 0x9E3779B1,
    ]  # fmt: skip

    def add(stripe, place):
        for lane, (word, key) in enumerate(
            zip(words_of(stripe), words_of(_KEY[place : place + _STRIPE]), strict=True)
        ):
            sums[lane ^ 1] += word
            sums[lane] += ((word ^ key) & _LOW) * ((word ^ key) >> 32)

    for start in range(0, (len(data) - 1) // _STRIPE * _STRIPE, _STRIPE):
        if start and start % _BLOCK == 0:
            for lane, key in enumerate(words_of(_KEY[-_STRIPE:])):
                value = sums[lane] & _MASK
                sums[lane] = (value ^ value >> 47 ^ key) * 0x9E3779B1
        if start not in passed_over:
            add(data[start : start + _STRIPE], start % _BLOCK // 8)
    add(data[-_STRIPE:], 121)
    return [value & _MASK for value in sums]


def with_hash_of(victim, data, start):
    """*data*, with other bytes in two stripes from *start* on, that has xxh3_128 of *victim*.

    Both have the same length. What a word adds to its own sum is the product of its halves, once
    they are XORed with the key, which everybody knows: in the first stripe one half is made 1, so
    that the other is added; in the second it is made 0, so that nothing is.
    """
    stripes = (start, start + _STRIPE)
    assert len(victim) == len(data)
    assert start % _STRIPE == 0
    assert (len(data) - 1) // _BLOCK == start // _BLOCK
    assert start + 2 * _STRIPE <= len(data) - _STRIPE
    lacking = [
        (wanted - own) & _MASK
        for wanted, own in zip(sums(victim), sums(data, stripes), strict=True)
    ]
    keys = [words_of(_KEY[s % _BLOCK // 8 :][:_STRIPE]) for s in stripes]
    low = [[keys[0][lane] & _LOW ^ 1 for lane in range(8)], [key & _LOW for key in keys[1]]]
    added = [(lacking[lane] - low[0][lane ^ 1] - low[1][lane ^ 1]) & _LOW for lane in range(8)]
    high = [added[lane] ^ keys[0][lane] >> 32 for lane in range(8)]
    first = [low[0][lane] | high[lane] << 32 for lane in range(8)]
    second = []
    for lane in range(8):
        rest = lacking[lane ^ 1] - added[lane ^ 1] - first[lane] - low[1][lane]
        assert rest & _LOW == 0
        second.append(low[1][lane] | (rest & _MASK))
    blob = struct.pack("<16Q", *first, *second)
    return data[:start] + blob + data[start + len(blob) :]


def pseudo_words(count):
    """Different words that are easy to say, and none of a language."""
    chooser = random.Random(5)
    parts = [c + v for c in "bdfgklmnprstvz" for v in "aeiou"]
    return sorted({"".join(chooser.choices(parts, k=4)) for _ in range(count)})


def body_key_before(response):
    return xxhash.xxh3_128_digest(response.encoding.encode() + b"\n" + response.body)


def poison(victim):
    """A page of other words, which has the victim's hash with what is hashed before it."""
    before = b"utf-8\n"
    own = f"<html><body><article><p>{' '.join(pseudo_words(100))}</p></article><!--".encode()
    end = b"--></body></html>"
    body = own.ljust(len(victim) - len(end)) + end
    start = (len(before + victim) - 1) // _BLOCK * _BLOCK + _STRIPE
    return with_hash_of(before + victim, before + body, start)[len(before) :]


@pytest.fixture
def victim():
    return page(article(1, 600)).encode()


def test_a_body_can_be_made_for_an_xxh3(victim):
    poisoned = poison(victim)
    assert poisoned != victim
    hashes = [xxhash.xxh3_128_hexdigest(b"utf-8\n" + body) for body in (victim, poisoned)]
    assert hashes[0] == hashes[1]


def crawl_both(first, second, **settings):
    """A crawl of two hosts, the page of the first one first; what is stored, 1 and 2."""
    html = "text/html; charset=utf-8"
    with (
        served({"/": Answer(first, content_type=html)}) as one,
        served({"/": Answer(second, content_type=html)}) as other,
    ):
        result = crawl(spider_over(f"{one}/", f"{other}/"), **settings)
    assert "log_count/ERROR" not in result.stats
    return [1 if item["url"].startswith(one) else 2 for item in result.items], result


@pytest.mark.parametrize("workers", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_a_page_cannot_be_dropped_for_one_that_was_made_for_its_body(monkeypatch, victim, workers):
    poisoned = poison(victim)
    stored, _ = crawl_both(poisoned, victim, DEDUP_WORKERS=workers)
    assert stored == [1, 2]
    monkeypatch.setattr(bodies, "_body_key", body_key_before)
    stored, result = crawl_both(poisoned, victim, DEDUP_WORKERS=workers)
    assert stored == [1]
    assert result.stats["dedup/exact_duplicates"] == 1


def in_scope_before(digest, scope):
    number = xxhash.xxh3_128_intdigest(scope.encode())
    return (int.from_bytes(digest) ^ number).to_bytes(16)


def test_a_text_of_one_scope_cannot_be_made_to_be_that_of_another():
    # Who can make a text for a digest could make one for each other host.
    digest = bytes(range(16))
    hosts = "victim.example", "hostile.example"
    numbers = [xxhash.xxh3_128_intdigest(host.encode()) for host in hosts]
    other = (int.from_bytes(digest) ^ numbers[0] ^ numbers[1]).to_bytes(16)
    assert in_scope_before(digest, hosts[0]) == in_scope_before(other, hosts[1])
    assert _in_scope(digest, hosts[0]) != _in_scope(other, hosts[1])
    assert len({_in_scope(digest, host) for host in (*hosts, "")}) == 3
    assert _in_scope(digest, "") == digest


def forged(fingerprint, words, count=150):
    """*count* of *words*, of which a text has nearly that fingerprint: each time the best one."""
    hashes = PLAIN.token_hashes(words)
    signs = np.unpackbits(hashes.astype("<u8").view(np.uint8).reshape(-1, 8), 1, bitorder="little")
    wanted = [2 * (fingerprint >> bit & 1) - 1 for bit in range(64)]
    votes = (2.0 * signs - 1) * wanted
    total, chosen = np.zeros(64), []
    for _ in range(count):
        # A bit that has votes enough needs no more.
        best = int((votes @ np.exp(-total / 2)).argmax())
        total += votes[best]
        votes[best] = -np.inf
        chosen.append(words[best])
    return " ".join(chosen)


@pytest.fixture
def forgery():
    """A text of which no word is in article(1), with the fingerprint of that."""
    fingerprint = SimHash().sketch(Document.from_main_text(article(1)))
    text = forged(fingerprint, pseudo_words(20_000))
    assert not {*text.split()} & {*Document.from_main_text(article(1)).tokens}
    return text


def judged(method, *texts):
    reader, detector = PageReader(Extraction, method), Detector(method)
    return [
        detector.judge(reader.read_html(text).record.under(text[:9])).kind.value for text in texts
    ]


@pytest.mark.slow
def test_a_fingerprint_can_be_made_of_chosen_words_but_for_a_secret(forgery):
    documents = [Document.from_main_text(text) for text in (article(1), forgery)]
    method = SimHash()
    assert method.distance(*method.sketches(documents)) <= 3
    assert judged(method, forgery, article(1)) == ["new", "near-duplicate"]
    distances = []
    for secret in (SECRET, SECRET.upper(), "another secret, as long"):
        method = SimHash().with_hashing(KeyedHashing(secret))
        distances.append(method.distance(*method.sketches(documents)))
        assert judged(method, forgery, article(1)) == ["new", "new"]
    # As far apart as any two texts.
    assert min(distances) > 15


@pytest.mark.slow
@pytest.mark.parametrize("workers", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_a_page_is_not_dropped_for_a_forged_one_with_a_secret(forgery, workers, monkeypatch):
    pages = [page(text).encode() for text in (forgery, article(1))]
    settings = {"DEDUP_WORKERS": workers, "DEDUP_EVIDENCE": False}  # which would keep it, too
    stored, result = crawl_both(*pages, **settings)
    assert (stored, result.stats["dedup/near_duplicates"]) == ([1], 1)
    monkeypatch.setenv("DEDUP_SECRET", SECRET)
    stored, _ = crawl_both(*pages, **settings)
    assert stored == [1, 2]


@pytest.mark.slow
def test_copies_are_found_with_a_secret_as_without():
    for name in METHODS:
        method = METHODS[name]().with_hashing(KeyedHashing(SECRET))
        texts = [article(1), article(2), article(1).upper()]
        assert judged(method, *texts) == ["new", "new", "exact-duplicate"], name
