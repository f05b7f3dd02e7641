"""Pages that are made to have another page dropped: none can be made."""

from hashlib import blake2b

import xxhash
from scrapy.http import HtmlResponse
from texts import article, page

from dedup.record import PageRecord
from dedup.scrapy_plugin.bodies import _body_key
from dedup.view.page_table import text_of


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
