"""What outlives the process: the pages that were stored, and their duplicates."""

from dedup.sqlite_file import LedgerError, LedgerInUseError
from dedup.stores.base import News, Store, Stored, StoreState, finished
from dedup.stores.memory import MemoryStore
from dedup.stores.sqlite import SqliteStore

__all__ = [
    "LedgerError",
    "LedgerInUseError",
    "MemoryStore",
    "News",
    "SqliteStore",
    "Store",
    "StoreState",
    "Stored",
    "finished",
]
