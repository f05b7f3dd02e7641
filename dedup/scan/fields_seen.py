"""Whether the fields that a scan was asked for are in the records at all."""

from collections.abc import Iterable

from dedup.records import Fields, RecordError
from dedup.scan.reader import ReadRecord
from dedup.scopes import Scope
from dedup.units import count_of

# A wrong name of a field shall not cost hours.
_RECORDS_WITHOUT_FIELD = 1_000


class FieldsSeen:
    """Which fields the records so far have; bad ones do not count."""

    def __init__(
        self, fields: Fields, scope: Scope | None, paths: Iterable[object], links_left_out: int = 0
    ) -> None:
        """Create it; *paths* and *links_left_out* are for messages."""
        self._fields = fields
        self._paths = paths
        self._links = links_left_out
        self._scope = scope
        self._records = 0
        self._wanted = {"text": False, "key": False, "date": False}
        self._has_scope = False

    def see(self, record: ReadRecord) -> None:
        """Take note of the next record; raises RecordError where `check` does, after a thousand."""
        self.note(
            1,
            text=record.has_field,
            key=record.has_key,
            date=record.date is not None,
            has_scope=record.has_scope,
        )
        if self._records == _RECORDS_WITHOUT_FIELD:
            self.check()

    def note(self, records: int, *, has_scope: bool, **fields: bool) -> None:
        """Take note of so many *records*, some of which have the *fields* that are true."""
        self._records += records
        for kind, has_field in fields.items():
            self._wanted[kind] |= has_field
        self._has_scope |= has_scope

    def check(self) -> None:
        """Raise RecordError if there is no record, or if none so far has a field."""
        if not self._records:
            links = self._links
            but = f", but {count_of(links, 'link')}, which are not followed" if links else ""
            paths = ", ".join(map(str, self._paths))
            raise RecordError(f"there is no record in {paths}{but}")
        none = f"none of the first {count_of(self._records, 'record')}"
        if self._scope and not self._has_scope:
            raise RecordError(f"{none} has a value for --scope {self._scope.name}")
        if self._scope and self._scope.needs_url and not self._wanted["key"]:
            raise RecordError(
                f"{none} has a URL for --scope {self._scope.name}; --key-field names its field"
            )
        fields = self._fields
        content = "record" if fields.is_object else "html" if fields.is_html else "text"
        for kind, name, option in (
            ("text", fields.content, f"--{content}-field"),
            ("key", fields.key, "--key-field"),
            ("date", fields.date, "--keep newest:FIELD"),
        ):
            if name is not None and not self._wanted[kind]:
                raise RecordError(f"{none} has the field {name!r}; {option} names another")
