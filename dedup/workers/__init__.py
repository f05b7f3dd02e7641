"""Reading pages in worker processes, off the event loop."""

from dedup.workers.base import InlinePool, ReadError, Task
from dedup.workers.pool import WorkerPool

__all__ = ["InlinePool", "Pool", "ReadError", "Task", "WorkerPool"]

Pool = InlinePool | WorkerPool
