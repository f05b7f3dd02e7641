"""Pages that match the very page which they name as their canonical one: copies by their word."""

from collections import Counter
from collections.abc import Collection, Iterable

from dedup.evidence import Evidence, Objection
from dedup.preference import are_same_url, canonical_form
from dedup.record import PageRecord, keys_of
from dedup.rule import Rule, Verdict, Witness

_MOST_TITLES = 2
_MOST_KNOWN = 100_000


class SelfDeclaredCopies:
    """Believes pages that say themselves of which page they are a copy, as far as is safe.

    Sites make mistakes: a template may name one page for all, most often the home page. So that is
    never believed, nor are more than two pages with other titles of each page that they match.
    """

    def __init__(self, rule: Rule) -> None:
        self._rule = rule
        self._believed: Counter[str] = Counter()
        self._stored_at: dict[str, str] = {}

    def note_stored_at(self, urls: Iterable[str], stored: str) -> None:
        """Take note that what was asked for at *urls* is stored, or about to be, at *stored*."""
        for url in urls:
            if len(self._stored_at) < _MOST_KNOWN and not are_same_url(url, stored):
                self._stored_at[canonical_form(url)] = stored

    def is_copy(self, verdict: Verdict, record: PageRecord, canonical: str) -> bool:
        """Return whether a page has only another title than its match, which it calls *canonical*.

        Or it calls a page so that is itself stored as its match.
        """
        original = verdict.original or ""
        named = self._stored_at.get(canonical_form(canonical), canonical)
        return (
            verdict.objection is Objection.TITLE
            and are_same_url(named, original)
            and self._rule.believes(Witness.of(record), canonical, original)
            and len(self._believed) < _MOST_KNOWN
            and self._believed[original] < _MOST_TITLES
        )

    def believe(self, original: str) -> None:
        """Take note that a page gives way to the one at *original*."""
        self._believed[original] += 1

    def take_back(self, original: str) -> None:
        """Take back that a page was believed: it does not give way to *original*."""
        self._believed[original] -= 1
        if not self._believed[original]:
            del self._believed[original]


def without_names(record: PageRecord, own_names: Collection[bytes]) -> PageRecord:
    """Return *record* without title and headline, which are then not compared.

    Nor are *own_names*, those values of its item that are one of these.
    """
    assert record.evidence is not None
    evidence = Evidence.from_bytes(record.evidence)._replace(title=b"", headline=b"")
    item = b"".join(sorted(keys_of(record.item).difference(own_names)))
    return record._replace(evidence=evidence.to_bytes(), item=item)
