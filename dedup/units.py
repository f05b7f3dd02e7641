"""Numbers, sizes and times, as people read them."""

from datetime import UTC, datetime

SECONDS_OF_A_DAY = 86_400


def format_bytes(count: float) -> str:
    """Return a number of bytes in a fitting unit."""
    units = ["B", "kB", "MB", "GB", "TB"]
    while count >= 999.5 and len(units) > 1:
        count /= 1000
        units.pop(0)
    digits = 0 if units[0] == "B" or count >= 100 else 1
    return f"{count:.{digits}f} {units[0]}"


def format_seconds(seconds: float | None) -> str:
    """Return a duration in a fitting unit; a dash for ``None``."""
    if seconds is None:
        return "–"
    if seconds < 0.9995:
        return f"{_three_digits(1000 * seconds)} ms"
    if seconds < 120:
        return f"{_three_digits(seconds)} s"
    if seconds < 7200:
        return f"{_three_digits(seconds / 60)} min"
    return f"{_three_digits(seconds / 3600)} h"


class Count(int):
    """A number of things, which formats name in the singular or the plural.

    >>> f"{Count(1):page}, {Count(1200):page}, {Count(2):page was|pages were}, {Count(1200)}"
    '1 page, 1,200 pages, 2 pages were, 1,200'
    """

    def __format__(self, names: str) -> str:
        if not names[:1].isalpha():
            return super().__format__(names or ",")
        one, _, many = names.partition("|")
        return f"{int(self):,} {one if self == 1 else many or f'{one}s'}"


def ratio(part: float, whole: float) -> float:
    """Return *part* of *whole*, from 0 to 1; 1 of nothing."""
    return part / whole if whole else 1.0


def iso_time(seconds: float) -> str:
    """Return a time, in seconds since 1970, as ISO 8601 writes it in UTC."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def readable_time(iso: str) -> str:
    """Return what `iso_time` returned, for people.

    >>> readable_time(iso_time(0))
    '1970-01-01 00:00:00 UTC'
    """
    return iso.replace("T", " ").replace("+00:00", " UTC")


def _three_digits(number: float) -> str:
    return f"{number:.3g}" if number < 100 else f"{number:,.0f}"
