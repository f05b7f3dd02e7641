"""The reasons for which items are dropped."""

from scrapy.exceptions import DropItem

from dedup.rule import Verdict
from dedup.text import printable


class DuplicatePage(DropItem):
    """The item's page, known as *key*, repeats one that was kept; *verdict* says which."""

    def __init__(self, verdict: Verdict, key: str) -> None:
        # That of a duplicate names the other page.
        message = f"{verdict}" if verdict.is_duplicate else f"{verdict}: <{printable(key)}>"
        super().__init__(message, log_level="DEBUG")  # Scrapy logs the whole item with it
        self.verdict = verdict
        self.key = key


class ExactDuplicate(DuplicatePage):
    """The item's main text is equal to that of a kept page."""


class NearDuplicate(DuplicatePage):
    """The item's main text is nearly that of a kept page."""


class RepeatedPage(DuplicatePage):
    """The item's page was met before in this crawl, under the same URL."""


class UnchangedPage(DuplicatePage):
    """The item's page was stored by an earlier crawl, with the same main text."""
