"""Pages that are made to have another page dropped: none can be made."""

import random
from hashlib import blake2b

import numpy as np
import pytest
import xxhash
from scrapy.http import HtmlResponse
from texts import article, page

from dedup.detector import Detector
from dedup.extraction import Extraction
from dedup.methods import SimHash
from dedup.methods.hashing import PLAIN
from dedup.methods.keyed import KeyedHashing
from dedup.page import PageReader
from dedup.record import PageRecord
from dedup.scrapy_plugin.bodies import _body_key
from dedup.text import Document
from dedup.view.page_table import text_of

SECRET = "correct horse battery staple"


def pseudo_words(count):
    """Different words that are easy to say, and none of a language."""
    chooser = random.Random(5)
    parts = [c + v for c in "bdfgklmnprstvz" for v in "aeiou"]
    return sorted({"".join(chooser.choices(parts, k=4)) for _ in range(count)})


def test_the_key_of_a_body_and_its_encoding_is_a_digest_for_which_nobody_can_make_a_body():
    response = HtmlResponse("http://a.example", body=page(article(1)).encode(), encoding="gbk")
    expected = blake2b(b"gbk\n" + response.body, digest_size=16).digest()
    assert _body_key(response) == expected


def test_a_text_of_one_scope_cannot_be_made_to_be_that_of_another():
    # Who can make a text for a digest could make one for each other host.
    digest = bytes(range(16))
    hosts = "victim.example", "hostile.example"
    numbers = [xxhash.xxh3_128_intdigest(host.encode()) for host in hosts]
    other = (int.from_bytes(digest) ^ numbers[0] ^ numbers[1]).to_bytes(16)
    records = [PageRecord(digest=digest, scope=host) for host in (*hosts, "")]
    assert text_of(records[0]) != text_of(PageRecord(digest=other, scope=hosts[1]))
    assert len(set(map(text_of, records))) == 3
    assert text_of(records[2]) == digest


def forged(fingerprint, words, count=150):
    """*count* of *words*, of which a text has nearly that fingerprint: each time the best one."""
    hashes = PLAIN.feature_hashes(words)
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


def judged(method, *texts):
    reader, detector = PageReader(Extraction, method), Detector(method)
    return [
        detector.judge(reader.read_html(text).record.under(text[:9])).kind.value for text in texts
    ]


@pytest.mark.slow
def test_a_fingerprint_can_be_made_of_chosen_words_but_for_a_secret():
    original = Document.from_main_text(article(1))
    forgery = forged(SimHash().sketch(original), pseudo_words(20_000))
    assert not {*forgery.split()} & {*original.tokens}
    documents = [original, Document.from_main_text(forgery)]
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
