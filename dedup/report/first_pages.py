"""The first pages that a report names, of those that were met again or under better URLs."""

from dedup.report.report import PreferredUrl, PreferredUrls, Revisit, Revisits
from dedup.rule import Kind, Verdict

_SHOWN = 1000


class FirstRevisits:
    """The first pages that an earlier crawl stored, of each kind."""

    def __init__(self) -> None:
        self._pages: dict[Kind, list[Revisit]] = {Kind.UNCHANGED: [], Kind.CHANGED: []}

    def add(self, verdict: Verdict, url: str) -> None:
        """Take note of the page at *url* if an earlier crawl stored it."""
        pages = self._pages.get(verdict.kind)
        if pages is not None and len(pages) < _SHOWN:
            pages.append(Revisit(url, verdict.distance))

    def revisits(self) -> Revisits:
        """Return them."""
        return Revisits(
            unchanged=tuple(self._pages[Kind.UNCHANGED]), changed=tuple(self._pages[Kind.CHANGED])
        )


class FirstPreferred:
    """The first stored pages that have better URLs, each with the best."""

    def __init__(self) -> None:
        self._urls: dict[str, str] = {}

    def add(self, original: str, url: str) -> None:
        """Take note that *url* is better than *original*, which is stored."""
        if original in self._urls or len(self._urls) < _SHOWN:
            self._urls[original] = url

    def preferred(self, duplicates: int) -> PreferredUrls:
        """Return them; *duplicates* is how many pages had better URLs."""
        return PreferredUrls(duplicates, tuple(map(PreferredUrl, self._urls, self._urls.values())))
