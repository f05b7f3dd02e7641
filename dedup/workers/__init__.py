"""Reading pages in worker processes, off the event loop."""

from dedup.workers.base import InlinePool, ReadError
from dedup.workers.pool import WorkerPool

__all__ = ["InlinePool", "Pool", "ReadError", "WorkerPool"]

Pool = InlinePool | WorkerPool
