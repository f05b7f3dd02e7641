"""Pages that match the very page which they name as their canonical one: copies by their word."""

from collections import Counter
from urllib.parse import urlsplit

from scrapy.http import Response

from dedup.evidence import Evidence, Objection
from dedup.preference import are_same_url
from dedup.record import PageRecord
from dedup.rule import Rule, Verdict
from dedup.scrapy_plugin.canonicals import Canonicals

_MOST_TITLES = 2
_MOST_KNOWN = 100_000


class OwnWord:
    """Believes pages that say themselves of which page they are a copy, as far as is safe.

    Sites make mistakes: a template may name one page for all, most often the home page. So that is
    never believed, nor are more than two pages with other titles of each page that they name.
    """

    def __init__(self, rule: Rule) -> None:
        self._rule = rule
        self._believed: Counter[str] = Counter()

    def is_copy(self, verdict: Verdict, record: PageRecord, response: Response) -> bool:
        """Return whether a page has only another title than its match, which it calls canonical.

        Its main text has to be long, and all of the page that there is, as if it were equal to the
        other one: nobody is believed where pages have little but a title.
        """
        if verdict.objection is not Objection.TITLE or not (self._rule.demands and record.evidence):
            return False
        coverage = Evidence.from_bytes(record.evidence).coverage
        if not self._rule.demands.are_met_by_text(record.tokens, coverage):
            return False
        original, canonical = verdict.original or "", Canonicals.named_by(response)
        if canonical is None or not are_same_url(canonical, original):
            return False
        if urlsplit(canonical).path in ("", "/") or len(self._believed) >= _MOST_KNOWN:
            return False
        return self._believed[original] < _MOST_TITLES

    def believe(self, original: str) -> None:
        """Take note that a page gives way to the one at *original*."""
        self._believed[original] += 1


def without_names(record: PageRecord) -> PageRecord:
    """Return *record* without title and headline, which are then not compared."""
    assert record.evidence is not None
    evidence = Evidence.from_bytes(record.evidence)._replace(title=b"", headline=b"")
    return record._replace(evidence=evidence.to_bytes())
