"""Requests that wait in place of others."""

from types import SimpleNamespace
from typing import Any

from scrapy import Request, Spider

from dedup.scrapy_plugin.saved_requests.put_off import PutOffRequests


def test_what_waits_for_a_request_that_is_sent_and_comes_to_nothing_is_sent_too():
    sent: list[str] = []
    spider = Spider("test")
    engine = SimpleNamespace(spider=spider, crawl=lambda request: sent.append(request.url))
    crawler: Any = SimpleNamespace(engine=engine, spider=spider)
    requests = PutOffRequests(crawler, None, lambda *_: None)
    url = "http://example.com/p"
    requests.add(Request(f"{url}?q=2"), b"q", "url_rule", b"second", b"first")
    requests.add(Request(f"{url}?a=1&q=2"), b"a", "url_rule", b"third", b"second")
    has_come = {b"first"}.__contains__
    assert requests.send_waiting(has_come) == []
    requests.send(b"q")
    requests.send_waiting(has_come)
    assert sent == [f"{url}?q=2", f"{url}?a=1&q=2"]
    requests.close(has_finished=True)
