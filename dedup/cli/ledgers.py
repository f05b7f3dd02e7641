"""What a ledger was made with, for the commands that compare its pages."""

from typing import Any

from dedup.methods import METHODS
from dedup.methods.arguments import check_arguments
from dedup.methods.base import Method
from dedup.stores.identity import OTHERS
from dedup.stores.reader import Crawl


def method_of_ledger(identity: dict[str, Any], crawls: list[Crawl]) -> Method | None:
    """Return the method of a ledger, with the threshold of its last crawl that tells one.

    ``None`` if it is not one of ours.
    """
    kind = METHODS.get(identity.get("method", ""))
    if kind is None or kind.version != identity.get("version"):
        return None
    others = ("method", "version", "lexicon", "secret", "simplify_chinese", *OTHERS)
    arguments = {name: value for name, value in identity.items() if name not in others}
    if (distance := setting_of_crawls(crawls, "DEDUP_MAX_DISTANCE")) is not None:
        arguments["max_distance"] = distance
    try:
        check_arguments(kind, arguments)
        return kind(**arguments)
    except (TypeError, ValueError):
        return None


def setting_of_crawls(crawls: list[Crawl], name: str, default: Any = None) -> Any:
    """Return a setting of the last crawl that tells it."""
    values = [crawl.setting(name) for crawl in crawls]
    return next((value for value in reversed(values) if value is not None), default)
