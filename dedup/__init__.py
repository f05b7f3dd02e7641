"""Near-duplicate detection for web pages, and the layer that brings it into Scrapy.

`Deduplicator` asks of texts of your own whether they are new. The parts import on their own
(``dedup.text``, ``dedup.methods``, ``dedup.index``, ...); this module loads none of them before it
is asked to, so that a worker process and a command start fast.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dedup.deduplicator import Deduplicator as Deduplicator

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name != "Deduplicator":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from dedup.deduplicator import Deduplicator

    return Deduplicator
