"""What becomes of the records of a scan: kept, or a duplicate of one that is kept."""

import json
from array import array
from collections import Counter
from dataclasses import dataclass, field
from enum import IntEnum
from typing import BinaryIO

from dedup.evidence import Objection, Weakness
from dedup.lost_text import LostText
from dedup.packed import Packed
from dedup.text import from_utf8


class Fate(IntEnum):
    """What became of a record; those from `NEW` on are kept."""

    BAD = 0
    EXACT = 1
    NEAR = 2
    NEW = 3
    EMPTY = 4
    UNREAD = 5
    NO_SCOPE = 6


_IS_KEPT = bytes(fate >= Fate.NEW for fate in range(256))


@dataclass
class Outcome:
    """What a scan found, by the numbers of the records, 0, 1, ... over all inputs.

    *fates* has a `Fate` for each; *duplicates*, *originals* and *distances* tell which repeats
    which kept one, in the order in which they were judged. *keys* is empty unless asked for.
    *with_evidence*: how many were pages of HTML, or records of such.
    *lost_text* is that of the duplicates, ``None`` if nobody knows the words of the records;
    *lossiest* has those duplicates that lost most: number, original, sequences lost, and in all.
    """

    fates: bytearray = field(default_factory=bytearray)
    duplicates: "array[int]" = field(default_factory=lambda: array("Q"))
    originals: "array[int]" = field(default_factory=lambda: array("Q"))
    distances: "array[float]" = field(default_factory=lambda: array("d"))
    keys: Packed = field(default_factory=Packed)
    short: int = 0
    with_evidence: int = 0
    objections: Counter[Objection] = field(default_factory=Counter)
    lost_text: LostText | None = None
    lossiest: list[tuple[int, int, int, int]] = field(default_factory=list)
    weak: Counter[Weakness] = field(default_factory=Counter)
    first_bad: str | None = None
    first_unread: str | None = None

    @property
    def keep(self) -> bytes:
        """Whether each record is kept, as 0 or 1."""
        return bytes(self.fates.translate(_IS_KEPT))

    def count(self, fate: Fate) -> int:
        return self.fates.count(fate)

    def key(self, number: int) -> str | None:
        key = self.keys[number]
        return from_utf8(key[1:]) if key else None


def write_clusters(file: BinaryIO, outcome: Outcome) -> int:
    """Write a line for each kept record that others repeat, by number; return how many there are.

    Numbers count from 1, over all inputs. The duplicates are in their order, each with its distance
    from the kept record (0 for an exact one).
    """
    members: dict[int, list[int]] = {}
    for place, original in enumerate(outcome.originals):
        members.setdefault(original, []).append(place)
    for original in sorted(members):
        duplicates = [
            {
                **_name(outcome, outcome.duplicates[place]),
                "distance": outcome.distances[place],
                "exact": outcome.fates[outcome.duplicates[place]] == Fate.EXACT,
            }
            for place in sorted(members[original], key=outcome.duplicates.__getitem__)
        ]
        line = {**_name(outcome, original), "duplicates": duplicates}
        file.write(json.dumps(line, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n")
    return len(members)


def _name(outcome: Outcome, number: int) -> dict[str, object]:
    return {"number": number + 1, "key": outcome.key(number)}
