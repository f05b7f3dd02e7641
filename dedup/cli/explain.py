"""``dedup explain``: what became of a page, or why two pages are, or are not, near-duplicates."""

import argparse
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from itertools import chain
from pathlib import Path

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
    Side,
    names_of,
    sides_of_ledger,
)
from dedup.history import DroppedHistory, Event, LedgerHistory, nearest_urls
from dedup.limits import LONGEST_TEXT, shorten_url
from dedup.page import extracted_of
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
        help="files of dropped items, which know what became of one page, too")  # fmt: skip
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
    if options.items:
        raise ValueError("--items is for one page: it tells what became of that")
    method = None if options.method is None else method_of(options.method)
    extractor = extractor_of(options.extractor)
    sources = options.one, options.other
    rule, notes = Rule(), []
    if options.ledger:
        with open_ledger(options.ledger) as ledger:
            method = method or method_of_ledger(ledger)
            rule, sides = ledger.rule, sides_of_ledger(ledger, sources)
            of_host = host(options.other)
            names = names_of(
                (page.record.key, Evidence.from_bytes(page.record.evidence))
                for page in ledger.pages()
                if page.record.evidence is not None and host(page.record.key) == of_host
            )
        notes = [
            f"Of {name}, the ledger has the first {LONGEST_TEXT:,} characters: all figures are of "
            "these."
            for name, side in zip("AB", sides, strict=True)
            if len(side.extraction.text) >= LONGEST_TEXT
        ]
    else:
        pages = map(read_source, sources)
        sides = [
            Side(source, extracted_of(page, extractor), canonical_of(page, source))
            for source, page in zip(sources, pages, strict=True)
        ]
        seen = ((side.source, side.extraction.evidence) for side in sides)
        names = names_of((url, evidence) for url, evidence in seen if evidence)
    one, other = sides
    return Explanation(one, other, method or method_of("simhash"), rule, names), notes


def _show(explanation: Explanation, notes: Sequence[str]) -> None:
    _show_pages(explanation, notes)
    for name, side in (("A", explanation.one), ("B", explanation.other)):
        _show_text(name, side.extraction.text)
    _show_features(explanation)
    if explanation.fingerprints:
        one, other = explanation.fingerprints
        differing = Count((one ^ other).bit_count())
        show_heading(f"Fingerprints {one:#x} and {other:#x}: {differing:bit differs|bits differ}")
    _show_judgements(explanation)
    show_heading("What differs, word by word")
    show(color(explanation.diff))


def _show_pages(explanation: Explanation, notes: Sequence[str]) -> None:
    judgement = explanation.judgement
    verdict = f"{judgement.method.name}: {_sentence(judgement)}."
    if explanation.are_equal:
        verdict = "Exact duplicates: their normalised main texts are equal."
    show(Text(verdict, "bold"))
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
    if not unequal:
        return
    table = new_table("what differs most", right=("A", "B"))
    for feature in unequal[:_FEATURES]:
        weights = (_number(weight) if weight else "–" for weight in feature[1:])
        table.add_row(Text(printable(feature.text, 80)), *weights)
    show()
    show(table)


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
