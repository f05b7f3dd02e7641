"""What outlives the process: the pages that were stored, and their duplicates."""

from dedup.stores.base import (
    HistoryChangedError,
    News,
    Store,
    StoreDownError,
    StoreState,
    finished,
)
from dedup.stores.ledger_file import LedgerError, LedgerInUseError
from dedup.stores.memory import MemoryStore
from dedup.stores.sqlite import SqliteStore

__all__ = [
    "HistoryChangedError",
    "LedgerError",
    "LedgerInUseError",
    "MemoryStore",
    "News",
    "SqliteStore",
    "Store",
    "StoreDownError",
    "StoreState",
    "finished",
]
