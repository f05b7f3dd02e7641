"""Pages that are read ahead."""

import pytest
from crawls import crawl_site
from texts import article, page

from dedup.numbers import numbers_in
from dedup.scrapy_plugin import Extension


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


def test_a_body_that_is_read_once_more_for_its_text_has_no_other_sequences():
    """They were counted when it was read first."""
    pages, numbers = [], []

    async def parse(self, response):
        plugin = self.crawler.get_extension(Extension)
        state = plugin.states.of(response)
        numbers.append((await plugin.pages.read(response, state)).numbers)
        pages.append(await plugin.pages.read_with_text(response, state))
        yield {"url": response.url}

    crawl_site({"/a": page(article(1)), "/b": page(article(1))}, parse=parse)
    first, again = pages
    assert numbers == [numbers_in(article(1))] * 2 == [first.numbers, again.numbers]
    assert first.text == again.text != ""
    assert first.sequences
    assert not again.sequences
