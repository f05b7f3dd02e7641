"""Bodies that are read once: what is remembered of them is bounded."""

import asyncio

from scrapy.http import HtmlResponse
from texts import article, page

from dedup.extraction import EXTRACTORS
from dedup.methods import SimHash
from dedup.page import PageReader
from dedup.scrapy_plugin.awaiting import Backlog
from dedup.scrapy_plugin.bodies import BodyReader
from dedup.workers import InlinePool


def response(number, text):
    html = page(text, footer=f"Version {number}")
    return HtmlResponse(f"http://a/{number}", body=html.encode(), encoding="utf-8")


def reader():
    pool = InlinePool(PageReader(EXTRACTORS["trafilatura"], SimHash()))
    pool.start()
    return BodyReader(pool, Backlog(8), lambda: 0)


def read(bodies, response):
    return asyncio.run(bodies.read(response))


def test_a_body_that_comes_again_is_not_read_again_and_has_its_sequences():
    bodies = reader()
    first, was_seen = read(bodies, response(1, article(1)))
    assert not was_seen
    again, was_seen = read(bodies, response(1, article(1)))
    assert was_seen
    assert again.sequences == first.sequences is not None
    assert again.record == first.record


def test_samples_of_sequences_are_remembered_of_the_last_bodies_only():
    """Bodies that differ by a date, of the same few texts, are many megabytes of samples else."""
    bodies = reader()
    bodies.most_of_sequences = 20_000
    sizes = []
    for number in range(60):
        read(bodies, response(number, article(number % 3)))
        sizes.append(bodies.nbytes)
    size = len(read(bodies, response(59, article(59 % 3)))[0].sequences.sample)
    assert sizes[-1] < 20_000 + 60 * 500 < 60 * size
    first, was_seen = read(bodies, response(0, article(0)))
    assert was_seen
    assert first.sequences is None
    assert first.record.tokens
