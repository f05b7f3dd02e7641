"""Which records were kept for which, as JSONL."""

import json
from typing import BinaryIO

from dedup.scan.outcome import Fate, Outcome


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
                "distance": round(outcome.distances[place], 4),
                "exact": outcome.fates[outcome.duplicates[place]] == Fate.EXACT,
            }
            for place in sorted(members[original], key=outcome.duplicates.__getitem__)
        ]
        line = {**_name(outcome, original), "duplicates": duplicates}
        file.write(json.dumps(line, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n")
    return len(members)


def _name(outcome: Outcome, number: int) -> dict[str, object]:
    return {"number": number + 1, "key": outcome.key(number)}
