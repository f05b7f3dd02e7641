"""What outlives the process: the pages that were stored, and their duplicates."""

from dedup.ledger.base import Earlier, Entry, Ledger, MemoryLedger, StoredPages
from dedup.ledger.sqlite import Batch, SqliteLedger
from dedup.sqlite_file import LedgerError, LedgerInUseError

__all__ = [
    "Batch",
    "Earlier",
    "Entry",
    "Ledger",
    "LedgerError",
    "LedgerInUseError",
    "MemoryLedger",
    "SqliteLedger",
    "StoredPages",
]
