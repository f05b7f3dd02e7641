"""Which callback has made items of a page first: what another one makes of it is something else."""

from functools import partial
from hashlib import blake2b

from scrapy import Request

from dedup.scrapy_plugin.handover import CALLBACK
from dedup.text import to_utf8

_MOST_PAGES = 100_000
_PARSE = "parse"


class FirstCallbacks:
    """Knows which callback has made items of a page first, of so many pages.

    A request for the page that it comes from knows that itself: it may be sent by another process,
    or by the next one of a job.
    """

    def __init__(self, most: int = _MOST_PAGES) -> None:
        self._most = most
        self._names: dict[bytes, str] = {}

    def other(self, key: str, request: Request) -> bytes:
        """Return what stands for the callback of *request*, b"" if it is the first for this *key*.

        A page of which nothing is known (any more) has its first callback with this call.
        """
        name = _name_of(request)
        page = blake2b(to_utf8(key), digest_size=8).digest()
        first = self._names.setdefault(page, request.meta.get(CALLBACK, name))
        if len(self._names) > self._most:
            del self._names[next(iter(self._names))]
        return b"" if name == first else name.encode()


def note_first_callback(request: Request, page_request: Request, *, is_same_page: bool) -> None:
    """Tell *request*, which the page of *page_request* has led to, which callback was the first.

    If it *is_same_page* that it asks for; else it forgets what was copied from *page_request*.
    """
    if is_same_page:
        request.meta[CALLBACK] = page_request.meta.get(CALLBACK, _name_of(page_request))
    else:
        request.meta.pop(CALLBACK, None)


def _name_of(request: Request) -> str:
    """Return the name of the callback; that of `parse` for what Scrapy's own spiders have, too."""
    callback = request.callback
    while isinstance(callback, partial):
        callback = callback.func
    spider = getattr(callback, "__self__", None)
    if callback is None or callback == getattr(spider, _PARSE, None):
        return _PARSE
    if str(callback.__module__).partition(".")[0] == "scrapy":
        return _PARSE
    return getattr(callback, "__qualname__", type(callback).__qualname__)
