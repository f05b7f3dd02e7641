"""Columns of values as PostgreSQL writes arrays, of whichever type it wants there.

So the types of a statement are always the same, and it is prepared once.
"""

from collections.abc import Iterable, Sequence
from struct import Struct
from typing import Any

_NAME = Struct("<I8s")
"""The serial and the owner of a claim, as they are in an entry."""


def array_of(values: Iterable[int | float | bytes | None]) -> str:
    r"""Return *values* as one array.

    >>> print(array_of([1, None]), array_of([b"a"]))
    {1,NULL} {"\\x61"}
    """
    return "{" + ",".join(map(_element, values)) + "}"


def _element(value: int | float | bytes | None) -> str:
    if value is None:
        return "NULL"
    return f'"\\\\x{value.hex()}"' if isinstance(value, bytes) else str(value)


def arrays_of(rows: Iterable[Sequence[Any]], count: int) -> list[str]:
    """Return the *count* columns of *rows* as arrays."""
    columns = list(zip(*rows, strict=True)) or [()] * count
    return list(map(array_of, columns))


def arrays_of_claims(claims: Iterable[tuple[int, bytes, int]]) -> list[str]:
    """Return the numbers of claims, and their names, as arrays."""
    return arrays_of([(number, _NAME.pack(serial, owner)) for number, owner, serial in claims], 2)
