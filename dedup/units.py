"""Numbers, sizes and times, as people read them."""

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


def count_of(number: int, noun: str) -> str:
    """Return a number of things.

    >>> count_of(1, "group"), count_of(1200, "group")
    ('1 group', '1,200 groups')
    """
    return f"{number:,} {noun}{'s' * (number != 1)}"


class Count(int):
    """A number of things, which formats name in the singular or the plural.

    >>> "{0:page was|pages were} kept".format(Count(1)), f"{Count(1200)}"
    ('1 page was kept', '1,200')
    """

    def __format__(self, names: str) -> str:
        one, separator, many = names.partition("|")
        if not separator:
            return super().__format__(names or ",")
        return f"{int(self):,} {one if self == 1 else many}"


def _three_digits(number: float) -> str:
    return f"{number:.3g}" if number < 100 else f"{number:,.0f}"
