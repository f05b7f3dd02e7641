"""Responses that are gone: what is to be done about them waits for `settle`."""

import asyncio
import threading
from typing import Any

import pytest
from crawls import crawl, spider_over
from garbage import collect
from scrapy.http import Response
from texts import article, page
from web import served

from dedup.scrapy_plugin import Extension
from dedup.scrapy_plugin.gone import GoneResponses


@pytest.mark.slow
def test_what_is_to_be_done_is_done_once_and_by_who_settles():
    gone, done = GoneResponses(), []
    response = Response("http://a/")
    gone.when_gone(response, lambda name: done.append((name, threading.current_thread())), "first")
    gone.settle()
    del response
    collector = threading.Thread(target=collect)
    collector.start()
    collector.join()
    assert done == []
    gone.settle()
    gone.settle()
    assert done == [("first", threading.current_thread())]


@pytest.mark.slow
def test_who_waits_is_not_left_alone_when_others_have_waited_enough():
    async def run() -> bool:
        gone, has_gone = GoneResponses(), asyncio.Event()
        response = [Response("http://a/")]
        gone.when_gone(response[0], lambda call: call(), has_gone.set)
        patient = asyncio.create_task(gone.wait_for_call(0.3, lambda end: None))
        waiting = asyncio.create_task(
            gone.wait_for_call(60, lambda end: gone.when_gone(other[0], lambda _: end(), None))
        )
        other = [Response("http://b/")]
        await patient
        response.clear()
        other.clear()
        collect()
        assert not has_gone.is_set()
        return await waiting and has_gone.is_set()

    assert asyncio.run(run())


def test_what_fails_is_logged_once_and_keeps_nobody_waiting(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    monkeypatch.setattr("dedup.scrapy_plugin.gone._SECONDS_BETWEEN_LOOKS", 0.01)

    async def run() -> bool:
        gone, failed = GoneResponses(), asyncio.Event()

        def fail(number: int) -> None:
            asyncio.get_running_loop().call_soon(failed.set)
            raise ValueError(f"failure {number}")

        failing = [Response(f"http://a/{number}") for number in range(2)]
        awaited = [Response("http://b/")]
        for number, response in enumerate(failing):
            gone.when_gone(response, fail, number)
        del response
        waiting = asyncio.create_task(
            gone.wait_for_call(10, lambda end: gone.when_gone(awaited[0], lambda _: end(), None))
        )
        await asyncio.sleep(0)
        failing.clear()
        collect()
        await asyncio.wait_for(failed.wait(), 5)
        awaited.clear()
        collect()
        return await waiting

    assert asyncio.run(run())
    [record] = caplog.records
    assert record.levelname == "ERROR"
    assert "ValueError: failure" in record.exc_text


def test_who_waits_for_a_claim_goes_on_when_its_response_is_gone():
    """Although nothing else happens in the crawl that could notice."""
    held: list[Response] = []

    async def parse(self: Any, response: Any) -> Any:
        parts = self.crawler.get_extension(Extension).parts
        read = await parts.pages.read(response)
        held.append(Response("http://gone/"))
        claim = (await parts.keeper.detector.reserve(read.record.under("http://gone/"))).claim
        parts.visits.of(held[0]).claims.append(claim)
        held.clear()
        collect()
        assert claim.is_open
        yield {"url": response.url}

    with served({"/a": page(article(1))}) as url:
        result = crawl(spider_over(f"{url}/a", parse=parse), limits={"WAIT_TIMEOUT": 30})
    assert len(result.items) == 1
    assert result.dedup_stats["new"] == 1
    assert result.stats["dedup/claims/released"] == 1
