"""What a request hands on to its callback, and what of that is Scrapy's own."""

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

CALLBACK = "dedup_callback"
"""The meta key under which a request names the first callback of the page that it asks for."""

# What Scrapy and its plugins keep in meta for themselves, by full names: what a user hands on may
# well begin like one. An item is none of theirs, whatever its name is.
_PLUMBING = frozenset(
    """
    _auth_proxy _scheme_proxy allow_offsite autothrottle_dont_adjust_delay bindaddress cookiejar
    depth dont_cache dont_merge_cookies dont_obey_robotstxt dont_proxy dont_redirect dont_retry
    download_fail_on_dataloss download_latency download_maxsize download_slot download_timeout
    download_warnsize ftp_local_filename ftp_password ftp_user give_up_log_level
    handle_httpstatus_all handle_httpstatus_list http_auth_domain http_pass http_user
    is_start_request max_retry_times priority_adjust proxy redirect_reasons redirect_times
    redirect_ttl redirect_urls referrer_policy retry_times rule verbatim_url

    _splash_processed crawlera_auth_retry_times impersonate inject playwright playwright_context
    playwright_include_page playwright_page playwright_page_init_callback
    playwright_suggested_filename selenium zyte_api_default_params zyte_api_retry_policy
    zyte_api_session_enabled zyte_api_session_pool zyte_smartproxy_auth_retry_times
    """.split()
)
# The same of values that look like items; of "dedup" ours.
_OPTIONS = frozenset(
    """
    crawlera_fetch dedup impersonate_args playwright_context_kwargs playwright_page_coroutines
    playwright_page_event_handlers playwright_page_goto_kwargs playwright_page_methods
    playwright_security_details splash zyte_api zyte_api_automap zyte_api_provider
    zyte_api_session_location zyte_api_session_params
    """.split()
) | {PAGES, TIMES, CALLBACK}
# Attributes of Scrapy's own kinds of request: of JsonRequest, XmlRpcRequest.
_OF_REQUESTS = frozenset({"dumps_kwargs", "encoding"})


def values_of(
    request: Request, arguments: Container[str] | None = None
) -> Iterator[tuple[str, Any]]:
    """Yield names and values that the callback of *request* will find.

    *arguments*: those of its cb_kwargs that count, by default all.
    """
    for name, value in request.meta.items():
        if name not in _OPTIONS and (name not in _PLUMBING or is_item_like(value)):
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
    """Yield what a callback has within it: arguments of a partial, variables of a closure.

    And defaults, but for those of the methods of a class, which say nothing of a request.
    """
    if isinstance(callback, partial):
        for number, value in enumerate(callback.args):
            yield f"argument {number}", value
        yield from callback.keywords.items()
        yield from values_within(callback.func)
    elif isinstance(callback, MethodType):
        if not isinstance(callback.__self__, Spider):
            yield "object", callback.__self__
        if not _is_of_its_class(callback):  # but made for the request
            yield from values_within(callback.__func__)
    elif isinstance(callback, FunctionType):
        yield from _variables(callback)
    elif callback is not None and callback is not NO_CALLBACK:
        yield "object", callback


def _is_of_its_class(method: MethodType) -> bool:
    owner = method.__self__
    kinds = (owner if isinstance(owner, type) else type(owner)).__mro__
    for member in (member for kind in kinds for member in vars(kind).values()):
        function = member.__func__ if isinstance(member, classmethod) else member
        if function is method.__func__:
            return True
    return False


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
    values = values_of(request)
    return bool(request.body) or any(v is not None and name != LINK_TEXT for name, v in values)
