"""What the log is told: each thing once."""

import sys
from collections.abc import Callable
from typing import Any

from dedup.logs import get_logger

logger = get_logger(__name__)


class Notices:
    """Warnings and failures, of which the log gets the first of each kind."""

    def __init__(self, count: Callable[[str], object]) -> None:
        self.count = count
        """Counts something, by the name of a counter."""
        self._told: set[str] = set()

    def tell_once(self, message: str, *arguments: Any) -> None:
        """Warn of something, if it is the first time."""
        if message not in self._told:
            self._told.add(message)
            logger.warning(message, *arguments)

    def count_error(self, what: str, name: str) -> None:
        """Count the exception being handled, a fault of ours, and log the first of its type."""
        self.count("errors")
        error = type(sys.exception()).__name__
        if error not in self._told:
            self._told.add(error)
            logger.exception(f"Dedup failed on {what}; the item is kept", name)
