"""The reasons for which items are dropped."""

from scrapy.exceptions import DropItem

from dedup.rule import Verdict


class DuplicatePage(DropItem):
    """The item's page repeats one that was kept; *verdict* says which."""

    def __init__(self, verdict: Verdict, log_level: str) -> None:
        super().__init__(str(verdict), log_level=log_level)
        self.verdict = verdict


class ExactDuplicate(DuplicatePage):
    """The item's main text is equal to that of a kept page."""


class NearDuplicate(DuplicatePage):
    """The item's main text is nearly that of a kept page."""


class RepeatedPage(DuplicatePage):
    """The item's page was met before in this crawl, under the same URL."""


class UnchangedPage(DuplicatePage):
    """The item's page was stored by an earlier crawl, with the same main text."""
