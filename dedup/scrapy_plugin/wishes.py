"""What the request of a page asks for by its meta key "dedup"."""

from dataclasses import dataclass

from scrapy.http import Response

from dedup.scrapy_plugin.notices import Notices


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the request of a page asks for by its meta key "dedup".

    *is_on*: whether the page is judged; *again*: whether it is stored although its content is;
    *key*: what it is known by, in place of its URL.
    """

    is_on: bool = True
    again: bool = False
    key: str | None = None

    @classmethod
    def of(cls, response: Response) -> "Wishes":
        """Read them; raises ValueError for anything else than False, True or a dict of these."""
        value = response.meta.get("dedup", True) if response.request else True
        if isinstance(value, bool):
            return cls(is_on=value)
        if isinstance(value, dict) and value.keys() <= {"again", "key"}:
            again, key = value.get("again", False), value.get("key")
            if isinstance(again, bool) and (key is None or (isinstance(key, str) and key)):
                return cls(again=again, key=key)
        raise ValueError(
            'meta["dedup"] must be True, False or {"again": True or False, "key": a string}, '
            f"got {value!r:.200}"
        )


def wishes_of(response: Response, notices: Notices) -> Wishes:
    """Return what the request of *response* asks for; *notices* is told of a wrong wish."""
    try:
        return Wishes.of(response)
    except ValueError as error:
        notices.tell_once("%s; the page is judged like any other", error)
        return Wishes()
