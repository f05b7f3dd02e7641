"""Reading pages in worker processes, off the event loop."""

from dedup.workers.inline import InlinePool
from dedup.workers.pool import Pool, ReadError, WorkerPool

__all__ = ["InlinePool", "Pool", "ReadError", "WorkerPool"]
