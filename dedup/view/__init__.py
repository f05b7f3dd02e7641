"""What a process knows of all stored pages, in memory, to look at."""

from dedup.view.claims import Claim
from dedup.view.view import Look, View

__all__ = ["Claim", "Look", "View"]
