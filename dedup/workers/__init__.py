"""Reading pages in worker processes, off the event loop."""

from dedup.workers.pool import InlinePool, ReadError, WorkerPool

__all__ = ["InlinePool", "Pool", "ReadError", "WorkerPool"]

Pool = InlinePool | WorkerPool
