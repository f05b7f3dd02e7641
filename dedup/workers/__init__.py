"""Reading pages in worker processes, off the event loop."""

from dedup.workers.base import Pool, ReadError
from dedup.workers.inline import InlinePool
from dedup.workers.pool import WorkerPool

__all__ = ["InlinePool", "Pool", "ReadError", "WorkerPool"]
