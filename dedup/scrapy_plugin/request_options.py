"""What the request of a page asks for by its meta key "dedup"."""

from dataclasses import dataclass

from scrapy.http import Response

from dedup.scrapy_plugin.notices import Notices


@dataclass(frozen=True, slots=True)
class RequestOptions:
    """What the request of a page asks for by its meta key "dedup".

    *is_on*: whether the page is judged; *again*: whether it is stored although its content is;
    *key*: what it is known by, in place of its URL.
    """

    is_on: bool = True
    again: bool = False
    key: str | None = None


def request_options(response: Response | None, notices: Notices) -> RequestOptions:
    """Return what the request of *response* asks for; *notices* is told of what is no option."""
    value = response.meta.get("dedup", True) if response and response.request else True
    if isinstance(value, bool):
        return RequestOptions(is_on=value)
    if isinstance(value, dict) and value.keys() <= {"again", "key"}:
        again, key = value.get("again", False), value.get("key")
        if isinstance(again, bool) and (key is None or (isinstance(key, str) and key)):
            return RequestOptions(again=again, key=key)
    notices.tell_once(
        'meta["dedup"] must be True, False or {"again": True or False, "key": a string}, got '
        "%.200r; the page is judged like any other", value,
    )  # fmt: skip
    return RequestOptions()
