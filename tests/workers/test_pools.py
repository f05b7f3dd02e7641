"""What every pool has to do."""

import random

import pytest
from bad_extractors import misbehaving

from dedup.extraction import resiliparse
from dedup.methods import SimHash
from dedup.page import PageReader
from dedup.workers import InlinePool, ReadError, WorkerPool

TEXTS = [
    "The ferry across the Wend has carried cattle, brides and one grand piano.",
    "镇上有十九家米粉店,没有一家做晚饭的生意。早上五点开门,卖到十点,锅一刷就收摊。",
    "さくらの花が咲きました。 We came to see it, все вместе. \ud800",
    "",
    "word " * 100_000,
]
TASKS = [
    *((PageReader.read_html, f"<html lang='en'><title>T</title><body><p>{t}") for t in TEXTS),
    *((PageReader.read_field, f"<div><p>{text}</p></div>") for text in TEXTS),
    *((PageReader.read_field, text) for text in TEXTS),
]
POOLS = {
    "InlinePool": InlinePool,
    "1 worker": WorkerPool,
    "2 workers": lambda reader: WorkerPool(reader, workers=2),
}


# The fast loop starts one process.
@pytest.fixture(
    scope="module",
    params=[
        pytest.param(make, id=name, marks=[pytest.mark.slow] * (name == "2 workers"))
        for name, make in POOLS.items()
    ],
)
def pool(request):
    """A pool whose extractor does what the page says."""
    pool = request.param(PageReader(misbehaving, SimHash()))
    pool.start()
    yield pool
    pool.close()


@pytest.mark.slow
@pytest.mark.parametrize("make", POOLS.values(), ids=POOLS)
def test_pages_are_those_that_the_reader_reads(make):
    reader = PageReader(resiliparse, SimHash(7))
    pool = make(reader)
    pool.start()
    pages = [pool.submit(*task).result(60) for task in TASKS]
    pool.close()
    assert pages == [read(reader, content) for read, content in TASKS]


@pytest.mark.slow
def test_each_future_has_its_own_page(pool):
    texts = [f"page {number} " * (number % 50 + 1) for number in range(300)]
    futures = {text: pool.submit(PageReader.read_html, text) for text in texts}
    random.Random(1).shuffle(texts)
    assert [futures[text].result(20).text for text in texts] == texts


def test_the_stages_are_timed_in_the_worker_too(pool):
    seconds = pool.submit(PageReader.read_html, "a page").result(20).seconds
    assert list(seconds) == ["extraction", "tokens", "sketch"]


@pytest.mark.parametrize(
    ("page", "message"),
    [
        ("raise", "KeyError: 'of the extractor'"),
        ("recurse", "RecursionError: maximum recursion depth exceeded"),
        ("return-number", "AttributeError: "),
    ],
)
def test_an_error_of_the_extractor_is_told_and_the_next_page_is_read(pool, page, message):
    error = pool.submit(PageReader.read_html, page).exception(20)
    assert isinstance(error, ReadError)
    assert error.cause == "error"
    assert str(error).startswith(message)
    assert pool.submit(PageReader.read_html, "next").result(20).text == "next"


def test_what_pages_need_is_loaded_before_the_first_one():
    read = []
    pool = InlinePool(PageReader(read.append, SimHash()))
    pool.start()
    assert len(read) == 1


def test_an_extractor_that_cannot_be_loaded_is_told_of_with_the_first_page():
    pool = InlinePool(PageReader(lambda html: misbehaving("raise"), SimHash()))
    pool.start()
    assert pool.submit(PageReader.read_html, "a page").exception().cause == "error"


@pytest.mark.slow
@pytest.mark.parametrize("make", POOLS.values(), ids=POOLS)
def test_closing_twice_and_unstarted_does_no_harm(make):
    pool = make(PageReader(misbehaving, SimHash()))
    pool.close()
    pool.close()
