"""Pages that are made to have another page dropped: none can be made."""

import random
from hashlib import blake2b

import numpy as np
import pytest
import xxhash
from crawls import crawl, spider_over
from scrapy.http import HtmlResponse
from texts import article, page
from web import Answer, served

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


def test_the_key_of_a_body_is_a_digest_for_which_nobody_can_make_a_body():
    response = HtmlResponse("http://a.example", body=page(article(1)).encode(), encoding="utf-8")
    expected = blake2b(b"utf-8\n" + response.body, digest_size=16).digest()
    assert _body_key(response) == expected


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
