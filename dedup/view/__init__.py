"""What a process knows of all stored pages, in memory, to look at."""

from dedup.view.view import Look, View

__all__ = ["Look", "View"]
