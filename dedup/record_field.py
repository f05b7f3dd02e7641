"""A page's record in a field of an item, with what it was made with: written, read and checked.

Sketches of different methods, arguments or secrets look alike. So each record names the settings
that a ledger compares, and whoever reads one says which it can use.
"""

import json
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

from dedup.limits import shorten_url
from dedup.methods.base import Method
from dedup.methods.fingerprints import FingerprintMethod
from dedup.record import PageRecord
from dedup.scopes import is_scope_name
from dedup.text import writable


class MadeWith(NamedTuple):
    """What a record depends on, besides its page: equal ones can be compared, and share a ledger.

    *digest* is that of the identity of the method: of its version, arguments, lexicon and secret,
    which it does not reveal, and of whether it simplifies Chinese. *extractor*, *item_field* and
    *scope* are as the settings have them.
    """

    method: str
    digest: str
    extractor: str = "trafilatura"
    item_field: str | None = None
    scope: str = "crawl"

    @classmethod
    def of(cls, method: Method, others: Mapping[str, Any]) -> "MadeWith":
        """Return that of the records of *method*; *others*: extractor, item field and scope."""
        return cls(method.name, digest_of_identity(method.identity), **others)


class FieldRecord(NamedTuple):
    """A record that was read of a field."""

    record: PageRecord
    made_with: MadeWith


def digest_of_identity(identity: Mapping[str, Any]) -> str:
    """Return 16 hexadecimal digits that tell the *identity* of a method from others.

    >>> digest_of_identity({"method": "a", "bits": 64}), digest_of_identity({"method": "a"})
    ('93d35f25fca57a0d', 'ce771728a734d7f6')
    """
    canonical = json.dumps(identity, sort_keys=True, separators=(",", ":"), default=str)
    return blake2b(canonical.encode(), digest_size=8, person=b"made with").hexdigest()


def to_field(record: PageRecord, made_with: MadeWith) -> dict[str, Any]:
    """Return what the field of an item says of *record*: an object of JSON that any feed can hold.

    That is `PageRecord.as_json`, with what it was made with.
    """
    values = record.under(writable(record.key), writable(record.scope)).as_json()
    return {**values, "made_with": made_with._asdict()}


class FieldReader:
    """Reads records of fields, for one method."""

    def __init__(self, method: Method, identity: Mapping[str, Any] | None = None) -> None:
        """Create it; *identity*: that which the records have, if it is not that of *method*."""
        self._method = method
        self._made_with = method.name, digest_of_identity(identity or method.identity)

    def read(self, fields: Sequence[Any]) -> list[FieldRecord | ValueError]:
        """Return the record that each of *fields* has, or why it is of no use.

        That is the case if it is damaged, or was made with another method, other arguments or
        another secret.
        """
        results = [self._read(values) for values in fields]
        read = [result for result in results if isinstance(result, FieldRecord)]
        if self._are_right(read):  # together, since that is faster
            return results
        return [
            result if isinstance(result, ValueError) or self._are_right([result])
            else ValueError(f"the record is damaged: it has no sketch of {self._method.name}")
            for result in results
        ]  # fmt: skip

    def _read(self, values: Any) -> FieldRecord | ValueError:
        try:
            made_with = _made_with(values["made_with"])
            if made_with[:2] != self._made_with:
                names = (f"{one[0]} ({one[1]})" for one in (made_with, self._made_with))
                return ValueError(
                    f"the record was made with {', not with '.join(names)}: another method, "
                    "version, arguments or secret, or simplified Chinese in one of them only"
                )
            own = {name: value for name, value in values.items() if name != "made_with"}
            for name in ("binary", "says"):
                if own.get(name, True) is None:  # a table has null where there is none
                    del own[name]
            record = PageRecord.of_json(own)
            if shorten_url(record.scope) != record.scope:
                raise ValueError(record.scope)
        except (AttributeError, KeyError, TypeError, ValueError):
            return ValueError(f"the record is damaged: {values!r:.200}")
        stored = record.under(writable(record.key), writable(record.scope))
        return FieldRecord(stored, made_with)

    def _are_right(self, found: Sequence[FieldRecord]) -> bool:
        method = self._method
        sketches = [one.record.sketch for one in found if one.record.sketch is not None]
        try:
            decoded = [method.from_bytes(sketch) for sketch in sketches]
            if [method.to_bytes(sketch) for sketch in decoded] != sketches:
                return False
            if isinstance(method, FingerprintMethod):
                return max(map(int.bit_length, decoded), default=0) <= method.bits
            if sketches:
                method.keys_of_many(sketches)  # it knows what lengths they may have
            return True
        except Exception:  # whatever a method makes of bytes that are no sketch of its own
            return False


def _made_with(values: Any) -> MadeWith:
    """Return what `MadeWith._asdict` was written; raises ValueError or TypeError for others."""
    made_with = MadeWith(**values)
    texts = made_with._replace(item_field=made_with.item_field or "")
    if not (all(isinstance(text, str) for text in texts) and is_scope_name(made_with.scope)):
        raise ValueError(values)
    return made_with
