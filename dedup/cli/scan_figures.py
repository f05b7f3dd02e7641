"""The figures of ``dedup scan``, for programs and for people."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar

from dedup.cli.terminal import show_line, show_table
from dedup.evidence import Objection, Weakness
from dedup.lost_text import LostText
from dedup.records import Format
from dedup.scan import Outcome
from dedup.scan.read_record import COUNTED
from dedup.units import format_bytes

_DROPS_SHOWN = 3
_EXTRACTED = {"links": "links or a menu", "little": "a part of the text"}
T = TypeVar("T")


def figures_of(format_: Format, outcome: Outcome) -> dict[str, Any]:
    """Return what JSON has of *outcome*, but for what only its end tells."""
    return {
        "records": len(outcome.fates),
        "kept": sum(outcome.keep),
        **{name: outcome.fates.count(fate) for name, fate in COUNTED.items()},
        "clusters": len(set(outcome.originals)),
        "kept_short": outcome.short,
        "with_evidence": outcome.with_evidence,
        "kept_by_evidence": _by_name(Objection, outcome.objections),
        "lost_text": _lost_text_of(outcome),
        "weak": _by_name(Weakness, outcome.weak),
        "first_bad": outcome.first_bad,
        "first_unread": outcome.first_unread,
        "bytes_read": format_.nbytes,
    }


def _by_name(kinds: Iterable[T], counts: Mapping[T, int]) -> dict[str, int]:
    return {str(kind): counts[kind] for kind in kinds if counts[kind]}


def _lost_text_of(outcome: Outcome) -> dict[str, Any] | None:
    if outcome.lost_text is None:
        return None

    name = outcome.name
    drops = [
        {**name(number), "original": name(original), "lost": lost, "sequences": sequences}
        for number, original, lost, sequences in outcome.lossiest
    ]
    return {**outcome.lost_text._asdict(), "lossiest": drops}


def _lines_of_lost_text(lost_text: dict[str, Any], *, is_extracted: bool) -> Iterator[str]:
    *estimate, lossiest = lost_text.values()
    yield f"{'extracted ' * is_extracted}text of duplicates: {LostText(*estimate)}"
    for drop in lossiest[:_DROPS_SHOWN]:
        key = f" ({drop['key']})" if drop.get("key") else ""
        yield (
            f"  {drop['lost']:,} of {drop['sequences']:,} of record {drop['number']:,}{key}, "
            f"left out for record {drop['original']['number']:,}"
        )


def _rows(figures: dict[str, Any]) -> Iterator[tuple[str, str]]:
    records, seconds = figures["records"], max(figures["seconds"], 0.001)
    yield "records", f"{records:,} ({records / seconds:,.0f} a second)"
    kept_by, weak = figures["kept_by_evidence"], figures["weak"]
    for label, count, is_always_shown in (
        ("  of these, from --sketches", figures["from_sketches"], False),
        ("  kept", figures["kept"], True),
        ("    without text", figures["kept_empty"], False),
        ("    too short for near-duplicates", figures["kept_short"], False),
        ("    that could not be read", figures["kept_unread"], False),
        ("    without a value for --scope", figures["kept_without_scope"], False),
        *((f"    no duplicates: {name}", kept_by[name], True) for name in kept_by),
        *((f"  less than half extracted: {_EXTRACTED[kind]}", weak[kind], True) for kind in weak),
        ("  exact duplicates", figures["exact_duplicates"], True),
        ("  near-duplicates", figures["near_duplicates"], True),
        ("  bad, left out", figures["bad"], False),
    ):
        if count or is_always_shown:
            yield label, f"{count:,} ({count / records:.1%})"
    if figures["evidence"] != "off" and not figures["with_evidence"]:
        yield "evidence (--evidence)", "none: no page of HTML; only texts count, no other fields"
    yield "kept records that others repeat", f"{figures['clusters']:,}"
    sizes = (format_bytes(figures[name]) for name in ("bytes_read", "bytes_written"))
    yield "read and written", " and ".join(sizes)


def show_figures(figures: dict[str, Any], written: str) -> None:
    """Show *figures* as a table; *written* is the name of the output."""
    show_table(("", ""), _rows(figures))
    for name, label in (("first_bad", "first bad record"), ("first_unread", "first unread one")):
        if figures[name]:
            show_line(f"{label}: {figures[name]}")
    if figures["lost_text"] and figures["lost_text"]["sequences"]:
        is_extracted = figures["with_evidence"] > 0
        for line in _lines_of_lost_text(figures["lost_text"], is_extracted=is_extracted):
            show_line(line)
    show_line(f"written: {written}")
