"""What the most exact method says of pages that another one just does not take for copies."""

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from dedup.methods.verified import Verified, VerifiedSketch
from dedup.report.texts import TextStore
from dedup.text import Document


def second_opinion(
    near_misses: Iterable[Mapping[str, Any]], texts: TextStore, method: str
) -> dict[str, Any] | None:
    """Return of how many *near_misses* `Verified` says that they are near-duplicates.

    Of those whose texts were kept, and which it would not keep for another reason; ``None`` if
    there is none, or *method* is that one.
    """
    other = Verified()
    if method == other.name:
        return None

    @cache
    def sketch(url: str) -> VerifiedSketch | None:
        text = texts.get(url)
        return None if text is None else other.sketch(Document.from_main_text(text))

    compared = near = 0
    for pair in near_misses:
        if pair["objection"]:
            continue
        one, two = sketch(pair["url"]), sketch(pair["other"])
        if one is not None and two is not None:
            compared += 1
            near += other.distance(one, two) <= other.max_distance
    if not compared:
        return None
    return {"method": other.name, "compared": compared, "near": near}
