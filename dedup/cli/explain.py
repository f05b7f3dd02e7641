"""``dedup explain``: what became of a page, or why two pages are, or are not, near-duplicates."""

import argparse
import json
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from rich.text import Text
from w3lib.url import safe_url_string

from dedup.canonical import canonical_of
from dedup.cli.ledgers import open_ledger, place_of
from dedup.cli.options import (
    add_extractor,
    add_json,
    add_method,
    extractor_of,
    method_of,
    method_of_ledger,
)
from dedup.cli.sources import read_source
from dedup.cli.terminal import (
    color,
    console,
    new_table,
    print_json,
    show,
    show_heading,
    show_line,
)
from dedup.evidence import Evidence
from dedup.explanation import (
    Comparison,
    Explanation,
    Feature,
    Side,
    names_of,
    sides_of_ledger,
    with_item,
)
from dedup.history import DroppedHistory, Event, LedgerHistory, nearest_urls
from dedup.limits import shorten, shorten_url
from dedup.methods import FingerprintMethod
from dedup.page import extracted_of
from dedup.records import Fields
from dedup.records.lines import JsonLines
from dedup.rule import Rule
from dedup.scopes import host
from dedup.text import printable
from dedup.units import Count

EXAMPLES = """\
examples:
  dedup explain https://example.com/1 --ledger pages.sqlite --items dropped.jsonl
  dedup explain one.html other.html
  dedup explain https://docs.example.com/1.0/ https://docs.example.com/1.1/
  dedup explain one.txt other.txt --method '{"name": "simhash", "max_distance": 7}' --json
  dedup explain https://example.com/1 https://example.com/2 --ledger pages.sqlite

One page: what became of it, by a ledger or files of dropped items. The exit code is 1 if none of
them knows it. Two pages: how they compare.
"""
_FIRST_LINES = 3
_LINE = 240
_FEATURES = 10
_ROW_BITS = 64
_MEANINGS = {
    "empty": "a page has no main text",
    "too short": "a page has too few tokens",
    "no sketch": "a page has nothing that the method looks at",
    "not compared": "near enough, but no block key in common, so the index does not find it",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("one", metavar="PAGE",
        help="a URL, or of two pages also a file of HTML or text")  # fmt: skip
    parser.add_argument("other", nargs="?", metavar="PAGE", help="the one to compare it with")
    parser.add_argument("--ledger", type=place_of, metavar="LEDGER",
        help="the ledger of the crawls, a file or the URL of a shared store: two pages are looked "
        "up in it instead of being fetched")  # fmt: skip
    parser.add_argument("--items", type=Path, nargs="+", default=[], metavar="FILE",
        help="files of dropped items; of two pages also feeds of JSON lines, to show which values "
        "of their items differ")  # fmt: skip
    add_method(parser, default=None)
    add_extractor(parser)
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    if options.other is None:
        return _tell_what_became(options)
    explanation, notes = _explanation(options)
    if options.json:
        print_json({**explanation.as_json(), "notes": notes})
    else:
        _show(explanation, notes)
    return 0


def _tell_what_became(options: argparse.Namespace) -> int:
    if not (options.ledger or options.items):
        raise ValueError("one page needs --ledger or --items, which know what became of it")
    # What is stored is encoded; people copy it decoded, too.
    urls = dict.fromkeys(map(shorten_url, (options.one, safe_url_string(options.one))))
    with ExitStack() as stack:
        sources: list[LedgerHistory | DroppedHistory] = list(map(DroppedHistory, options.items))
        if options.ledger:
            ledger = stack.enter_context(open_ledger(options.ledger))
            sources.insert(0, LedgerHistory(ledger))
        for url in urls:
            events = {source.name: source.events(url) for source in sources}
            if is_known := any(events.values()):
                break
        nearest = []
        if not is_known:
            known = chain.from_iterable(source.known_urls() for source in sources)
            nearest = nearest_urls(options.one, known)
    if options.json:
        by_source = [
            {"source": source, "events": [event.as_json() for event in found]}
            for source, found in events.items()
        ]
        print_json({"url": url, "known": is_known, "sources": by_source, "nearest": nearest})
    else:
        _show_events(url, events, nearest)
    return 0 if is_known else 1


def _show_events(url: str, events: Mapping[str, Sequence[Event]], nearest: Sequence[str]) -> None:
    show_line(url, "bold")
    for source, found in events.items():
        show_heading(source)
        for event in found:
            for line in event.words.split("\n"):
                show_line(line)
        if not found:
            show("Nothing is known of it. Pages that were not compared are not in here.")
    if nearest:
        show_heading("The nearest URLs that are known")
    for known in nearest:
        show_line(f"<{known}>")


def _explanation(options: argparse.Namespace) -> tuple[Explanation, list[str]]:
    method = None if options.method is None else method_of(options.method)
    extractor = extractor_of(options.extractor)
    sources = options.one, options.other
    notes: list[str] = []
    rule, names, ignored = Rule(), None, []
    if options.ledger:
        with open_ledger(options.ledger) as ledger:
            method = method or method_of_ledger(ledger)
            rule, ignored = ledger.rule, ledger.setting("DEDUP_IGNORE_FIELDS", [])
            sides, notes = sides_of_ledger(ledger, sources)
            of_host = host(options.other)
            stored = chain.from_iterable(batch.pages for batch in ledger.stored())
            names = names_of(
                (record.key, Evidence.from_bytes(record.evidence))
                for _, record, _ in stored
                if record.evidence is not None and host(record.key) == of_host
            )
        pages = ["", ""]
    else:
        pages = list(map(read_source, sources))
        sides = [
            Side(source, extracted_of(page, extractor), canonical_of(page, source))
            for source, page in zip(sources, pages, strict=True)
        ]
    if options.items:
        items = _find_items(options.items, sources)
        sides = [with_item(*each, ignored) for each in zip(sides, items, pages, strict=True)]
        notes.append("In a crawl, times within three minutes of the fetch say nothing.")
    one, other = sides
    explanation = Explanation(one, other, method or method_of("simhash"), rule, names)
    if names is None:
        seen = ((side.source, side.extraction.evidence) for side in sides)
        learnt = replace(explanation, names=names_of((url, e) for url, e in seen if e))
        if learnt.judgement.verdict != explanation.judgement.verdict:
            notes.append(
                f"A crawl that has met few pages of the site says: {learnt.judgement.verdict}. "
                "Which parts of titles are the site's is known only after some pages; --ledger "
                "tells what a crawl has learnt."
            )
    return explanation, notes


def _find_items(paths: Sequence[Path], urls: Sequence[str]) -> list[Any]:
    found: dict[str, Any] = {}
    for raw in JsonLines(paths, Fields()).raw_records():
        try:
            line = json.loads(raw.data or b"")
        except ValueError:
            continue
        is_dropped = isinstance(line, dict) and isinstance(line.get("item"), dict)
        item = line["item"] if is_dropped and "verdict" in line else line
        url = str(line.get("url") or item.get("url")) if isinstance(item, dict) else ""
        if url in urls:
            found.setdefault(url, item)
    if missing := [url for url in urls if url not in found]:
        raise ValueError(f"no item has the url {missing[0]} in {', '.join(map(str, paths))}")
    return [found[url] for url in urls]


def _show(explanation: Explanation, notes: Sequence[str]) -> None:
    _show_pages(explanation, notes)
    for name, side in (("A", explanation.one), ("B", explanation.other)):
        _show_text(name, side.extraction.text)
    _show_features(explanation)
    if explanation.fingerprints and isinstance(explanation.method, FingerprintMethod):
        _show_fingerprints(*explanation.fingerprints, explanation.method.bits)
    _show_judgements(explanation)
    if rows := explanation.item_differences:
        show_heading("What the items say")
        table = new_table("field", "A", "B")
        for field, *values in rows:
            shown = (Text("–" if v is None else printable(shorten(v, _LINE))) for v in values)
            table.add_row(printable(field), *shown)
        show(table)
        show("B is dropped for A only if A says all that B says (DEDUP_IGNORE_FIELDS).")
    show_heading("What differs, word by word")
    show(color(explanation.diff))


def _show_pages(explanation: Explanation, notes: Sequence[str]) -> None:
    judgement = explanation.judgement
    verdict = f"{judgement.method.name}: {_sentence(judgement)}."
    if explanation.are_equal:
        verdict = "Exact duplicates: their normalised main texts are equal."
    show(Text(verdict, "bold"))
    if explanation.contained:
        ours, theirs = explanation.contained
        show(
            f"Of the word sequences of B, {theirs:.1%} stand in A; of those of A, {ours:.1%} in B."
        )
    for note in notes:
        show(Text(printable(note, None)))
    show()
    table = new_table("", "A", "B")
    sides = explanation.one, explanation.other
    for name, values in (
        ("source", [side.source for side in sides]),
        ("canonical page", [side.canonical for side in sides]),
        ("title", [side.extraction.title for side in sides]),
        ("language", [side.extraction.language for side in sides]),
        ("characters", [f"{len(side.extraction.text):,}" for side in sides]),
        ("tokens", [f"{tokens:,}" for tokens in explanation.tokens]),
    ):
        if any(values):
            table.add_row(name, *(Text(printable(value or "–")) for value in values))
    show(table)


def _sentence(judgement: Comparison) -> str:
    if judgement.verdict in _MEANINGS:
        return f"{judgement.verdict} ({_MEANINGS[judgement.verdict]})"
    threshold = judgement.method.max_distance
    is_far = judgement.distance is not None and judgement.distance > threshold
    limit = f"{'farther than' if is_far else 'of up to'} {_number(threshold)}"
    return f"{judgement.verdict}, distance {_number(judgement.distance)}{',' * is_far} {limit}"


def _show_text(name: str, text: str) -> None:
    lines = [line for line in text.splitlines() if line.strip()]
    show_heading(f"Main text of {name}")
    for line in lines[:_FIRST_LINES]:
        show(Text(printable(line if len(line) <= _LINE else f"{line[:_LINE]} …", None)))
    if not lines:
        show("(none)")
    elif (left := Count(len(lines) - _FIRST_LINES)) > 0:
        show(f"… {left:more line (--json has it)|more lines (--json has them)}")


def _show_features(explanation: Explanation) -> None:
    features = explanation.features
    show_heading(f"Features of {explanation.method.name}")
    if not features:
        show("(none: it looks at the text as a whole, or at nothing in it)")
        return
    one, other = (sum(not feature[side] for feature in features) for side in (2, 1))
    unequal = sorted(
        (feature for feature in features if feature.one != feature.other),
        key=lambda feature: (-abs(feature.one - feature.other), feature.text),
    )
    line = f"in both {len(features) - one - other:,}, only in A {one:,}, only in B {other:,}"
    if reweighted := Count(len(unequal) - one - other):
        line += f"; {reweighted:of those in both weighs|of those in both weigh} more in one"
    show(line)
    have_weights = len({weight for feature in features for weight in feature[1:]} - {0}) > 1
    if have_weights:
        _show_weights("the heaviest", features)
    if unequal:
        _show_weights("what differs most", unequal)


def _show_weights(title: str, features: Sequence[Feature]) -> None:
    table = new_table(title, right=("A", "B"))
    for feature in features[:_FEATURES]:
        weights = (_number(weight) if weight else "–" for weight in feature[1:])
        style = "" if feature.one == feature.other else "yellow"
        table.add_row(Text(printable(feature.text, 80)), *weights, style=style)
    show()
    show(table)


def _show_fingerprints(one: int, other: int, bits: int) -> None:
    """Show the bits in groups of 8, and mark those that differ below them."""
    show_heading(f"Fingerprints of {bits} bits, the highest first; "
        f"{Count((one ^ other).bit_count()):of them differs|of them differ}")  # fmt: skip
    width = _ROW_BITS if console().width > _ROW_BITS * 9 // 8 + 2 else _ROW_BITS // 4
    marks = f"{one ^ other:0{bits}b}".replace("0", " ").replace("1", "^")
    rows = (("A", f"{one:0{bits}b}", "red"), ("B", f"{other:0{bits}b}", "green"), (" ", marks, ""))
    for start in range(0, bits, width):
        for name, row, style in rows:
            line = Text(f"{name} ")
            for place in range(start, min(start + width, bits)):
                is_first_of_group = place > start and place % 8 == 0
                line.append(" " * is_first_of_group)
                line.append(row[place], style if marks[place] == "^" else "")
            if line.plain.strip():
                show(line)


def _show_judgements(explanation: Explanation) -> None:
    show_heading("All methods")
    table = new_table("method", right=("distance", "up to"))
    table.add_column("verdict")
    colors = {"duplicate": "green", "near-duplicate": "green", "different": "red"}
    for judgement in explanation.judgements:
        table.add_row(
            judgement.method.name,
            _number(judgement.distance),
            _number(judgement.method.max_distance),
            Text(judgement.verdict, style=colors.get(judgement.verdict, "yellow")),
            style="bold" if judgement is explanation.judgement else "",
        )
    show(table)
    for verdict in dict.fromkeys(judgement.verdict for judgement in explanation.judgements):
        if verdict in _MEANINGS:
            show(f"{verdict}: {_MEANINGS[verdict]}")


def _number(value: float | None) -> str:
    if value is None:
        return "–"
    return "∞" if value == float("inf") else f"{value:.4g}"
