"""Bodies that are read once: what is remembered of them is bounded."""

import asyncio
from collections import Counter
from types import SimpleNamespace

import pytest
from crawls import crawl_site
from scrapy.http import HtmlResponse
from texts import article, page

from dedup.extraction import EXTRACTORS
from dedup.methods import SimHash
from dedup.page import PageReader
from dedup.scrapy_plugin import Extension
from dedup.scrapy_plugin.bodies import BodyReader
from dedup.scrapy_plugin.response_state import ResponseStates
from dedup.workers import InlinePool


def response(number, text):
    html = page(text, footer=f"Version {number}")
    return HtmlResponse(f"http://a/{number}", body=html.encode(), encoding="utf-8")


class Reading:
    """Reads pages, and counts those whose bodies were seen before."""

    def __init__(self):
        pool = InlinePool(PageReader(EXTRACTORS["trafilatura"], SimHash(), with_sequences=True))
        pool.start()
        self.counts = Counter()
        summary = SimpleNamespace(
            count=self.count, record_time=lambda stage, seconds: None, halvings=0
        )
        states = ResponseStates(lambda *claim: None, lambda *page: None)
        self.bodies = BodyReader(pool, summary, states)

    def count(self, name, number):
        self.counts[name] += number

    def read(self, response):
        return asyncio.run(self.bodies.read(response))


def test_samples_of_sequences_are_remembered_of_the_last_bodies_only():
    """Bodies that differ by a date, of the same few texts, are many megabytes of samples else."""
    reading = Reading()
    reading.bodies.sequences.most = 20_000
    sizes = []
    for number in range(60):
        reading.read(response(number, article(number % 3)))
        sizes.append(reading.bodies.sequences.nbytes)
    size = len(reading.read(response(59, article(59 % 3))).sequences.sample)
    assert sizes[-1] < 20_000 < 60 * size
    first = reading.read(response(0, article(0)))
    assert reading.counts["bodies_repeated"] == 2
    assert first.sequences is None
    assert first.record.tokens


@pytest.mark.parametrize(("without_item", "is_read_ahead"), [(None, True), (5, False), (14, False)])
def test_pages_are_read_before_a_callback_that_had_items_of_the_ten_before(
    without_item, is_read_ahead
):
    ahead = []

    def parse(self, response):
        state = self.crawler.get_extension(Extension).states.of(response)
        ahead.append(state.page is not None)
        if len(ahead) - 1 != without_item:
            yield {"url": response.url}

    done = crawl_site({f"/{number}": page(article(number)) for number in range(16)}, parse=parse)
    assert not any(ahead[:10])
    assert ahead[-1] is is_read_ahead
    assert len(done.items) == 16 - (without_item is not None)


def test_a_page_that_cannot_be_read_ahead_is_kept_and_counted_once():
    def failing(html):
        raise RuntimeError("no text")

    site = {f"/{number}": page(article(number)) for number in range(12)}
    done = crawl_site(site, DEDUP_EXTRACTOR=failing)
    assert len(done.items) == 12
    assert done.dedup_stats["unread/error"] == 12
