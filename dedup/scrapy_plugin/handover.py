"""What a request hands on to its callback, and what of that is Scrapy's own."""

import re
from collections import deque
from collections.abc import Container, Iterator
from functools import partial
from types import AsyncGeneratorType, FunctionType, GeneratorType, MethodType
from typing import Any

from itemadapter import ItemAdapter
from itemloaders import ItemLoader
from parsel import Selector
from scrapy import Request, Spider
from scrapy.http import Response
from scrapy.http.request import NO_CALLBACK

from dedup.scrapy_plugin.link_texts import LINK_TEXT

PAGES = "dedup_pages"
"""The meta key under which a request names pages that it hands on: their digests by URL."""
TIMES = "dedup_times"
"""The meta key under which a request notes which times that it hands on tell of fetching: Unix."""

# What Scrapy and others keep in meta for themselves; of "dedup" ours.
_PLUMBING = re.compile(
    "(?:_auth_proxy|_scheme_proxy|dedup|dedup_pages|dedup_times|depth|rule|cookiejar|proxy"
    "|bindaddress|download_(?:slot|timeout|latency|maxsize|warnsize|fail_on_dataloss)"
    "|redirect_(?:urls|reasons|times|ttl)|(?:max_)?retry_times|priority_adjust|is_start_request"
    "|ftp_(?:user|password|local_filename)|http_(?:user|pass|auth_domain)|referrer_policy"
    "|give_up_log_level|verbatim_url|allow_offsite|handle_httpstatus_(?:all|list))$"
    "|dont_|autothrottle|playwright|_?splash|zyte|_?crawlera|selenium|impersonate|inject"
)
# Attributes of Scrapy's own kinds of request: of JsonRequest, XmlRpcRequest.
_OF_REQUESTS = frozenset({"dumps_kwargs", "encoding"})


def values_of(
    request: Request, arguments: Container[str] | None = None
) -> Iterator[tuple[str, Any]]:
    """Yield names and values that the callback of *request* will find.

    *arguments*: those of its cb_kwargs that count, by default all.
    """
    for name, value in request.meta.items():
        if not (isinstance(name, str) and _PLUMBING.match(name)):
            yield str(name), value
    for name, value in request.cb_kwargs.items():
        if arguments is None or name in arguments:
            yield str(name), value
    if type(request) is not Request:
        names = {*getattr(request, "__dict__", ()), *request.attributes} - {*Request.attributes}
        for name in sorted(names):
            if not name.startswith("_") and name not in _OF_REQUESTS:
                yield name, getattr(request, name, None)
    for callback in (request.callback, request.errback):
        yield from values_within(callback)


def values_within(callback: Any) -> Iterator[tuple[str, Any]]:
    """Yield what a callback has within it: arguments of a partial, variables of a closure."""
    if isinstance(callback, partial):
        for number, value in enumerate(callback.args):
            yield f"argument {number}", value
        yield from callback.keywords.items()
        yield from values_within(callback.func)
    elif isinstance(callback, MethodType):
        if not isinstance(callback.__self__, Spider):
            yield "object", callback.__self__
    elif isinstance(callback, FunctionType):
        yield from _variables(callback)
    elif callback is not None and callback is not NO_CALLBACK:
        yield "object", callback


def _variables(function: FunctionType) -> Iterator[tuple[str, Any]]:
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield name, cell.cell_contents
        except ValueError:  # not set yet
            continue
    for number, value in enumerate(function.__defaults__ or ()):
        yield f"default {number}", value
    yield from (function.__kwdefaults__ or {}).items()


def is_item_like(value: Any) -> bool:
    """Return whether *value* holds an item, or what an item is made of."""
    if value is None or isinstance(value, str | bytes | int | float):
        return False
    if isinstance(value, ItemLoader | Response | Selector | GeneratorType | AsyncGeneratorType):
        return True
    if isinstance(value, list | tuple | set | frozenset | deque):
        return any(map(is_item_like, value))
    return bool(ItemAdapter.is_item(value)) and bool(value)


def hands_on_values(request: Request) -> bool:
    """Return whether the callback of *request* finds more than the page: a value, or an item."""
    return any(value is not None and name != LINK_TEXT for name, value in values_of(request))
