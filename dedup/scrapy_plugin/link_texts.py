"""Whether a callback uses the text of the link that a CrawlSpider hands on to each one."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from scrapy import Request
from scrapy.spiders import CrawlSpider, Rule

LINK_TEXT = "link_text"
"""The meta key under which a CrawlSpider keeps the text of a link."""


class WatchedMeta(dict[str, Any]):
    """The meta of a request, which notes whether the text of the link in it is read.

    It is a dict in all else. To read the whole is to read that, too: code in C that does so without
    asking for keys, values or items is not noted.
    """

    is_read = False


def _noting(method: Callable[..., Any], *, of_key: bool) -> Callable[..., Any]:
    @wraps(method)
    def read(self: WatchedMeta, *arguments: Any) -> Any:
        if not of_key or LINK_TEXT in arguments[:1]:
            self.is_read = True
        return method(self, *arguments)

    return read


for _name in ("__getitem__", "get", "pop", "setdefault"):
    setattr(WatchedMeta, _name, _noting(getattr(dict, _name), of_key=True))
# That of `__iter__` has `dict(meta)` and `**meta` ask for keys and values.
for _name in (
    "__iter__", "__reversed__", "keys", "values", "items", "popitem", "copy",
    "__or__", "__ror__", "__eq__", "__ne__", "__repr__",
):  # fmt: skip
    setattr(WatchedMeta, _name, _noting(getattr(dict, _name), of_key=False))


def watch_link_text(request: Request) -> WatchedMeta | None:
    """Have the meta of *request* note from now on whether the text of its link is read.

    ``None`` if that was read before, maybe: by the code with which its rule changes requests or
    links, by a spider that makes requests in its own way, or because the spider is no CrawlSpider.
    """
    meta = request.meta
    spider = getattr(request.callback, "__self__", None)
    if LINK_TEXT not in meta or not isinstance(spider, CrawlSpider):
        return None
    if any(getattr(type(spider), name) is not method for name, method in _MAKERS.items()):
        return None
    try:
        rule = spider._rules[meta["rule"]]
    except (LookupError, TypeError):
        return None
    if (rule.process_request, rule.process_links) != (_PLAIN.process_request, _PLAIN.process_links):
        return None
    watched = WatchedMeta(dict.items(meta))
    request._meta = watched
    return watched


_PLAIN = Rule()
_MAKERS = {name: getattr(CrawlSpider, name) for name in ("_build_request", "_requests_to_follow")}
