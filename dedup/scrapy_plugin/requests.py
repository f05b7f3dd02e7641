"""What a request hands on, and what it asks of dedup by its meta key "dedup"."""

from dataclasses import dataclass
from types import FunctionType, MethodType

from scrapy import Request, Spider
from scrapy.http import Response

from dedup.scrapy_plugin.notices import Notices

_LINK = "dedup_link"
ASKS = "dedup_asks"
"""In the meta of a request that asks only for what has changed."""
# What Scrapy keeps in meta, or documents as its own, and what dedup does.
_NOT_OF_THE_SPIDER = frozenset(
    """
    _auth_proxy _scheme_proxy allow_offsite autothrottle_dont_adjust_delay bindaddress depth
    dont_cache dont_merge_cookies dont_obey_robotstxt dont_proxy dont_redirect dont_retry
    download_fail_on_dataloss download_latency download_maxsize download_slot download_timeout
    download_warnsize ftp_local_filename ftp_password ftp_user give_up_log_level
    handle_httpstatus_all handle_httpstatus_list http_auth_domain http_pass http_user
    is_start_request link_text max_retry_times priority_adjust proxy redirect_reasons
    redirect_times redirect_ttl redirect_urls referrer_policy retry_times rule verbatim_url
    """.split()
) | {"dedup", _LINK, ASKS}


def note_link(request: Request) -> None:
    """Note that a callback has yielded *request*, whatever else the meta was of."""
    request.meta[_LINK] = request.url


def is_link(request: Request) -> bool:
    """Return whether a callback has yielded *request*: it is no redirect, and nobody awaits it."""
    return bool(request.meta.get(_LINK) == request.url)


def first_url(request: Request) -> str:
    """Return the URL that the spider asked for, before redirects."""
    urls = request.meta.get("redirect_urls")
    first = str(urls[0]) if isinstance(urls, list) and urls else request.url
    return str(request.meta.get(_LINK, first))


def is_plain_link(request: Request) -> bool:
    """Return whether *request* hands on nothing: no body, no arguments, no meta of the spider's."""
    if request.method != "GET" or request.body or request.cb_kwargs:
        return False
    if not request.meta.keys() <= _NOT_OF_THE_SPIDER:
        return False
    is_scrapys = type(request).__module__.startswith("scrapy.")
    return is_scrapys and _is_plain(request.callback) and _is_plain(request.errback)


def _is_plain(callback: object) -> bool:
    """Return whether *callback* is a method of a spider, a plain function, or none."""
    if isinstance(callback, MethodType):
        return isinstance(callback.__self__, Spider)
    is_closure = isinstance(callback, FunctionType) and (
        callback.__closure__ or callback.__defaults__ or callback.__kwdefaults__
    )
    return callback is None or (isinstance(callback, FunctionType) and not is_closure)


def callback_of(request: Request) -> str:
    """Return what tells the callback of *request* from others of the spider."""
    return f"{getattr(request.callback, '__qualname__', '')} {request.meta.get('rule')}"


def is_asked_again(request: Request) -> bool:
    """Return whether *request* is to be sent whatever is known."""
    options = request_options(request)
    return not options.is_on or options.again or bool(options.key) or request.dont_filter


def urls_of(response: Response) -> set[str]:
    """Return the URLs under which *response* was asked for and found."""
    urls = {response.url}
    if response.request is not None:
        urls.add(response.request.url)
        redirects = response.request.meta.get("redirect_urls")
        urls.update(redirects if isinstance(redirects, list) else ())
    return {url for url in urls if isinstance(url, str)}


@dataclass(frozen=True, slots=True)
class RequestOptions:
    """What the request of a page asks for by its meta key "dedup".

    *is_on*: whether the page is judged; *again*: whether it is stored although its content is;
    *key*: what it is known by, in place of its URL.
    """

    is_on: bool = True
    again: bool = False
    key: str | None = None


def request_options(request: Request | None, notices: Notices | None = None) -> RequestOptions:
    """Return what *request* asks for; *notices* is told of what is no option."""
    value = request.meta.get("dedup", True) if request else True
    if isinstance(value, bool):
        return RequestOptions(is_on=value)
    if isinstance(value, dict) and value.keys() <= {"again", "key"}:
        again, key = value.get("again", False), value.get("key")
        if isinstance(again, bool) and (key is None or (isinstance(key, str) and key)):
            return RequestOptions(again=again, key=key)
    if notices:
        notices.tell_once(
            'meta["dedup"] must be True, False or {"again": True or False, "key": a string}, got '
            "%.200r; the page is judged like any other", value,
        )  # fmt: skip
    return RequestOptions()
