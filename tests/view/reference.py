"""What a view must say, by asking each page that is stored or claimed."""

from typing import NamedTuple

from dedup.evidence import Evidence, Names
from dedup.record import PageRecord, keys_of


class Page(NamedTuple):
    """A page as it was claimed, and what its items say."""

    record: PageRecord
    items: tuple[bytes, ...]

    @classmethod
    def of(cls, record):
        return cls(record, (record.item,))


class Reference:
    """Pages by number or key."""

    def __init__(self, method, rule):
        self.method = method
        self.rule = rule
        self.names = Names()
        self.open = {}
        self.stored = {}

    def matches(self, record, pages):
        """The equal ones of *pages* for which a page may go, and the near ones, with distances."""
        text, is_short = (record.digest, record.scope), self.rule.is_short(record)
        equal = {
            key
            for key, page in pages.items()
            if (page.record.digest, page.record.scope) == text
            if self.may_go(record, page, is_exact=True)
        }
        near = {
            key: distance
            for key, distance in (() if is_short else self.distances(record, pages).items())
            if distance <= self.method.max_distance
            if self.may_go(record, pages[key], is_exact=False)
        }
        return equal, near

    def distances(self, record, pages):
        """The distances to those of *pages* that are compared with a page."""
        sketch = self.method.from_bytes(record.sketch)
        return {
            key: self.method.distance(sketch, self.method.from_bytes(other.sketch))
            for key, (other, _) in pages.items()
            if other.scope == record.scope and not self.rule.is_short(other)
        }

    def may_go(self, record, page, *, is_exact):
        if not any(keys_of(record.item) <= keys_of(item) for item in page.items):
            return False
        names = record.evidence and self.names.of("a", Evidence.from_bytes(record.evidence))
        finds_parts = self.method.finds_parts
        witnesses = record.witness, page.record.witness
        return not self.rule.objection(
            *witnesses, is_exact=is_exact, finds_parts=finds_parts, names=names
        )
