"""The kept pages of a crawl that are looked at again at its end."""

from collections import defaultdict
from collections.abc import Iterator

from dedup.evidence import Evidence, Objection
from dedup.extraction import Extraction
from dedup.record import PageRecord
from dedup.report.sample import Sample
from dedup.report.texts import TextStore
from dedup.rule import Rule, Verdict

_SAMPLE = 2000
PAIRS_SHOWN = 50
# Shorter texts with other titles are mostly other pages of one template.
_TOKENS_OF_REPRINT = 200


class KeptPages:
    """An even sample of the kept pages, to be compared with all others at the end."""

    def __init__(self) -> None:
        self.sample: Sample[PageRecord] = Sample(_SAMPLE)
        self.retitled: Sample[tuple[PageRecord, str | None]] = Sample(PAIRS_SHOWN // 2)
        """With what they would repeat if it had the same title."""

    def add(self, record: PageRecord, verdict: Verdict) -> None:
        """Add a kept page."""
        self.sample.add(record.key, record)
        if verdict.objection is Objection.TITLE and record.tokens >= _TOKENS_OF_REPRINT:
            self.retitled.add(record.key, (record, verdict.original))

    def by_scope(self, rule: Rule) -> dict[str, list[PageRecord]]:
        """Return those pages of the sample that are long enough."""
        by_scope: dict[str, list[PageRecord]] = defaultdict(list)
        for _, record in self.sample:
            if not rule.is_short(record):
                by_scope[record.scope].append(record)
        return by_scope

    def read_again(self, texts: TextStore) -> Iterator[tuple[PageRecord, Extraction]]:
        """Yield those pages of the sample that are in *texts*, and what was extracted of them."""
        for url, record in self.sample:
            if (text := texts.get(url)) is not None:
                evidence = record.evidence and Evidence.from_bytes(record.evidence)
                yield record, Extraction(text, texts.title(url), evidence=evidence or None)
