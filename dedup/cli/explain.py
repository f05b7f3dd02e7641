"""``dedup explain``: show why two pages are, or are not, near-duplicates."""

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from dedup.canonical import canonical_of
from dedup.cli.diff import color
from dedup.cli.errors import CommandError
from dedup.cli.files import add_json, check_numbers, check_outputs, write_json
from dedup.cli.ledgers import open_ledger, place_of
from dedup.cli.methods import (
    add_evidence,
    add_extractor,
    add_method,
    extractor_of,
    method_of,
)
from dedup.cli.sources import read_source
from dedup.cli.terminal import console
from dedup.evidence import DEMANDS, Evidence, Names
from dedup.explanation import Comparison, Explanation, Feature, Side
from dedup.extraction import Extraction, Extractor
from dedup.item_values import ItemValues, PageOfItem, values_of
from dedup.limits import LONGEST_TEXT, shorten, shorten_url
from dedup.methods.base import Method
from dedup.page import extracted_of
from dedup.record import keys_of, unpack_items
from dedup.records import Fields
from dedup.records.lines import JsonLines
from dedup.rule import Kind, Rule
from dedup.scopes import host
from dedup.stores.reader import LedgerReader
from dedup.stores.shared.log_url import LogUrl
from dedup.text import printable
from dedup.units import Count

EXAMPLES = """\
examples:
  dedup explain one.html other.html
  dedup explain https://docs.example.com/1.0/ https://docs.example.com/1.1/
  dedup explain one.txt other.txt --method verified --full
  dedup explain one.html other.html --args '{"max_distance": 7}' --json -
  dedup explain --ledger pages.sqlite https://example.com/1 https://example.com/2
  dedup explain --ledger redis://localhost:6379/0 https://example.com/1 https://example.com/2
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
    parser.add_argument("one", metavar="A", help="a file of HTML or text, or an http(s) URL")
    parser.add_argument("other", metavar="B", help="the file or URL to compare it with")
    add_method(parser)
    add_extractor(parser)
    add_evidence(parser, default="on")
    parser.add_argument("--ledger", type=place_of, metavar="LEDGER",
        help="look up the URLs A and B in this ledger, a file or the URL of a shared store, "
        "instead of fetching them")  # fmt: skip
    parser.add_argument("--items", type=Path, nargs="+", metavar="FILE",
        help="feeds or files of dropped items (JSON lines) with the items of A and B, by their "
        "URLs: show which values differ")  # fmt: skip
    parser.add_argument("--ignore-fields", nargs="+", default=[], metavar="NAME",
        help="for --items: fields that say nothing of the content (DEDUP_IGNORE_FIELDS)"
    )  # fmt: skip
    parser.add_argument("--full", action="store_true", help="show the main texts in full")
    add_json(parser)


def run(options: argparse.Namespace) -> None:
    if options.method == "all":
        raise CommandError(
            "--method must be one method, got 'all': the table has all of them anyway"
        )
    method = method_of(options)
    check_numbers(options, min_tokens=0)
    check_outputs(options, options.json)
    extractor = extractor_of(options.extractor)
    sources = options.one, options.other
    notes: list[str] = []
    names = None
    is_kept_by_item = False
    if options.ledger:
        stored, names, is_kept_by_item = _read_ledger(options.ledger, sources, notes)
        one, other = (Side.of(*side, method) for side in zip(sources, stored, strict=True))
        pages = "", ""
    else:
        pages = read_source(sources[0]), read_source(sources[1])
        one, other = (
            _side_of(*side, extractor, method) for side in zip(sources, pages, strict=True)
        )
    rule = Rule(options.min_tokens, demands=DEMANDS[options.evidence])
    items = None
    if options.items:
        found = _find_items(options.items, sources)
        said = [
            _said(*of, options.ignore_fields) for of in zip(found, (one, other), pages, strict=True)
        ]
        items = said[0], said[1]
        notes.append("In a crawl, times within three minutes of the fetch say nothing.")
    explanation = Explanation(one, other, method, rule, names, items, is_kept_by_item)
    if (copy := explanation.copy_by_its_own_word) and "own word" in explanation.judgement.verdict:
        named, original = "BA" if copy is other else "AB"
        notes.append(_own_word(named, original, copy.canonical or ""))
    write_json(options.json, {**explanation.as_json(), "notes": notes})
    output = console(options.json)
    _show_pages(output, explanation, notes)
    for name, side in (("A", one), ("B", other)):
        _show_text(output, name, side, options.full)
    _show_features(output, explanation)
    if explanation.fingerprints:
        _show_fingerprints(output, explanation)
    _show_judgements(output, explanation)
    if explanation.items:
        _show_items(output, explanation)
    _heading(output, "What differs, word by word")
    output.print(color(explanation.diff))


def _find_items(paths: Sequence[Path], urls: Sequence[str]) -> list[Any]:
    """Return the first item of each of *urls* in feeds or files of dropped items."""
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
        raise CommandError(f"no item has the url {missing[0]} in {', '.join(map(str, paths))}")
    return [found[url] for url in urls]


def _said(item: Any, side: Side, html: str, ignored: Sequence[str]) -> ItemValues:
    """Return what *item* says, made of the page of *side*, but for what dedup fills itself."""
    extraction = side.extraction
    page = PageOfItem((side.source,), (), html, extraction.evidence, extraction.text)
    filled = (
        extraction.text, extraction.title, extraction.language, side.canonical,
        extraction.evidence and extraction.evidence.coverage,
    )  # fmt: skip
    values = [
        value
        for value in values_of(item, ignored=ignored)
        if value.content not in filled and not value.field.startswith(("dedup.", "dedup_record."))
    ]
    return page.what_says(values)


def _side_of(source: str, text: str, extractor: Extractor, method: Method) -> Side:
    return Side.of(source, extracted_of(text, extractor), method, canonical_of(text, source))


def _own_word(copy: str, original: str, canonical: str) -> str:
    return (
        f"{copy} names <{canonical}> as its canonical page, which is that of {original}, too. A "
        f'crawl whose DEDUP_PREFER has "canonical" stores {original}, and drops {copy}; others '
        "store both."
    )


def _read_ledger(
    place: Path | LogUrl, urls: Sequence[str], notes: list[str]
) -> tuple[list[Extraction], Names, bool]:
    """Return what a ledger has kept of the texts of *urls*, and what its pages share in titles.

    And whether the second page is kept by what its item says. Add to *notes* what is to be known.
    """
    found = []
    with open_ledger(place) as ledger:
        for name, url in zip("AB", urls, strict=True):
            original = None
            if (stored := ledger.text(url)) is None:
                original = _equal_page(ledger, url)
                stored = ledger.text(original) if original else None
            if stored is None:
                raise CommandError(
                    f"{place} has no text of {url} (it keeps those of 2,000 pages); "
                    "dedup why says what became of it, and without --ledger, the page itself is "
                    "fetched"
                )
            title, text = stored
            if original:
                notes.append(
                    f"{name} is an exact duplicate, whose text no ledger keeps: it is shown with "
                    f"the text of <{original}>, which is equal but for case, spaces and the like."
                )
                title = None
            if len(text) >= LONGEST_TEXT:
                notes.append(
                    f"Of {name}, the ledger has the first {LONGEST_TEXT:,} characters: all figures "
                    "are of these."
                )
            found.append(Extraction(text, title, evidence=_evidence_of(ledger, url)))
        notes += _found_by_crawls(ledger, urls)
        if any(extraction.evidence is None for extraction in found):
            # Of what was not stored, only the crawl has seen what the page shows.
            found = [replace(extraction, evidence=None) for extraction in found]
        return found, _names(ledger, host(urls[-1])), _is_kept_by_item(ledger, urls)


def _is_kept_by_item(ledger: LedgerReader, urls: Sequence[str]) -> bool:
    """Return whether an item of the second page says what none of the first one does."""
    stored = ([page.items for page in ledger.versions(url) if page.ended is None] for url in urls)
    one, other = (
        [keys_of(item) for data in pages for item in unpack_items(data)] for pages in stored
    )
    return any(not any(keys <= said for said in one) for keys in other)


def _names(ledger: LedgerReader, of_host: str) -> Names:
    """Return what the pages of a host share in their titles, which crawls learn while they run."""
    names, number = Names(), 0
    while piece := ledger.columns_since(number):
        number = piece.last
        for key, evidence in piece.keys_with_evidence():
            if host(key) == of_host:
                names.learn(of_host, evidence)
    return names


def _evidence_of(ledger: LedgerReader, url: str) -> Evidence | None:
    """Return what the page at *url* showed when it was stored; ``None`` if it was not."""
    stored = [page.record.evidence for page in ledger.versions(url) if page.ended is None]
    return Evidence.from_bytes(stored[-1]) if stored and stored[-1] else None


def _equal_page(ledger: LedgerReader, url: str) -> str | None:
    """Return the URL of the stored page that the one at *url* was last found to be equal to."""
    matches = [match for match in ledger.matches_of(url) if match.kind == Kind.EXACT]
    # What was replaced has another text by now.
    return matches[-1].original if matches and matches[-1].ended is None else None


def _found_by_crawls(ledger: LedgerReader, urls: Sequence[str]) -> Iterator[str]:
    """Yield what crawls have said of two pages, whose whole texts they knew."""
    stored = [shorten_url(url) for url in urls]
    for name, other, url, original in zip("AB", "BA", stored, reversed(stored), strict=True):
        for match in ledger.matches_of(url):
            if match.original == original:
                distance = "" if match.kind == Kind.EXACT else f", distance {match.distance:.4g}"
                yield (
                    f"In crawl {match.crawl}, {name} was found to repeat {other}: {match.kind}"
                    + (f"{distance}.")
                )


def _heading(output: Console, text: str) -> None:
    output.print()
    output.print(Text(text, style="bold"))


def _show_pages(output: Console, explanation: Explanation, notes: Sequence[str]) -> None:
    if explanation.are_equal:
        output.print(Text("Exact duplicates: their normalised main texts are equal.", "bold"))
    else:
        judgement = explanation.judgement
        output.print(Text(f"{judgement.method.name}: {_sentence(judgement)}.", "bold"))
    if explanation.contained:
        ours, theirs = explanation.contained
        output.print(
            f"Of the word sequences of B, {theirs:.1%} stand in A; of those of A, {ours:.1%} in B."
        )
    for note in notes:
        output.print(Text(printable(note, None)))
    output.print()
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("")
    table.add_column("A", overflow="fold")
    table.add_column("B", overflow="fold")
    sides = (explanation.one, explanation.other)
    for name, values in (
        ("source", [side.source for side in sides]),
        ("title", [side.extraction.title or "–" for side in sides]),
        ("language", [side.extraction.language or "–" for side in sides]),
        ("characters", [f"{len(side.extraction.text):,}" for side in sides]),
        ("tokens", [f"{len(side.document.tokens):,}" for side in sides]),
    ):
        table.add_row(name, *(Text(printable(value)) for value in values))
    output.print(table)


def _sentence(judgement: Comparison) -> str:
    if judgement.verdict in _MEANINGS:
        return f"{judgement.verdict} ({_MEANINGS[judgement.verdict]})"
    threshold = judgement.method.max_distance
    is_far = judgement.distance is not None and judgement.distance > threshold
    limit = f"{'farther than' if is_far else 'of up to'} {_number(threshold)}"
    return f"{judgement.verdict}, distance {_number(judgement.distance)}{',' * is_far} {limit}"


def _show_text(output: Console, name: str, side: Side, full: bool) -> None:
    lines = [line for line in side.extraction.text.splitlines() if line.strip()]
    _heading(output, f"Main text of {name}")
    for line in lines if full else lines[:_FIRST_LINES]:
        shown = line if full or len(line) <= _LINE else f"{line[:_LINE]} …"
        output.print(Text(printable(shown, None)))
    if not lines:
        output.print("(none)")
    elif (left := Count(len(lines) - _FIRST_LINES)) > 0 and not full:
        output.print(f"… {left:more line (--full shows it)|more lines (--full shows them)}")


def _show_features(output: Console, explanation: Explanation) -> None:
    features = explanation.features
    _heading(output, f"Features of {explanation.method.name}")
    if not features:
        output.print("(none: it looks at the text as a whole, or at nothing in it)")
        return
    both = [feature for feature in features if feature.one and feature.other]
    unequal = [feature for feature in features if feature.one != feature.other]
    one = sum(not feature.other for feature in features)
    other = sum(not feature.one for feature in features)
    reweighted = Count(sum(feature.one != feature.other for feature in both))
    line = f"in both {len(both):,}, only in A {one:,}, only in B {other:,}"
    output.print(
        line
        + f"; {reweighted:of those in both weighs|of those in both weigh} more in one"
        * bool(reweighted)
    )
    if len({weight for feature in features for weight in feature[1:]} - {0}) > 1:
        _show_weights(output, "the heaviest", features[:_FEATURES])
    if unequal:
        unequal.sort(key=lambda feature: (-abs(feature.one - feature.other), feature.text))
        _show_weights(output, "what differs most", unequal[:_FEATURES])


def _show_weights(output: Console, title: str, features: Sequence[Feature]) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(title, overflow="ellipsis", no_wrap=True, max_width=80)
    table.add_column("A", justify="right")
    table.add_column("B", justify="right")
    for feature in features:
        weights = [_number(weight) if weight else "–" for weight in feature[1:]]
        style = "" if feature.one == feature.other else "yellow"
        table.add_row(Text(printable(feature.text)), *weights, style=style)
    output.print()
    output.print(table)


def _show_fingerprints(output: Console, explanation: Explanation) -> None:
    assert explanation.fingerprints
    one, other = (f"{value:0{explanation.bits}b}" for value in explanation.fingerprints)
    differing = sum(bit != its for bit, its in zip(one, other, strict=True))
    _heading(output, f"Fingerprints of {explanation.bits} bits, the highest first; "
        f"{differing} of them differ")  # fmt: skip
    width = _ROW_BITS if output.width > _ROW_BITS * 9 // 8 + 2 else _ROW_BITS // 4
    for start in range(0, explanation.bits, width):
        rows = one[start : start + width], other[start : start + width]
        lines = _bits(*rows)
        for name, line in zip("AB ", lines, strict=True):
            if line.plain.strip():
                output.print(Text(f"{name} ").append_text(line))


def _bits(one: str, other: str) -> tuple[Text, Text, Text]:
    """Return two rows of bits in groups of 8, and one that marks those that differ."""
    lines = Text(), Text(), Text()
    for place, (bit, its) in enumerate(zip(one, other, strict=True)):
        if place and place % 8 == 0:
            for line in lines:
                line.append(" ")
        differs = bit != its
        lines[0].append(bit, style="bold red" if differs else "")
        lines[1].append(its, style="bold green" if differs else "")
        lines[2].append("^" if differs else " ")
    return lines


def _show_judgements(output: Console, explanation: Explanation) -> None:
    _heading(output, "All methods")
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("method", no_wrap=True)
    table.add_column("distance", justify="right")
    table.add_column("up to", justify="right")
    table.add_column("verdict")
    colors = {"duplicate": "green", "near-duplicate": "green", "different": "red"}
    for judgement in explanation.judgements:
        is_asked_for = judgement is explanation.judgement
        table.add_row(
            judgement.method.name,
            _number(judgement.distance),
            _number(judgement.method.max_distance),
            Text(judgement.verdict, style=colors.get(judgement.verdict, "yellow")),
            style="bold" if is_asked_for else "",
        )
    output.print(table)
    for verdict in dict.fromkeys(judgement.verdict for judgement in explanation.judgements):
        if verdict in _MEANINGS:
            output.print(f"{verdict}: {_MEANINGS[verdict]}")


def _show_items(output: Console, explanation: Explanation) -> None:
    _heading(output, "What the items say")
    rows = explanation.item_differences
    if not rows:
        output.print("They say the same, but for URLs of their own pages and the main text.")
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("field", "A", "B"):
        table.add_column(name)
    for field, *values in rows:
        shown = (Text("–" if v is None else printable(shorten(v, _LINE))) for v in values)
        table.add_row(printable(field), *shown)
    output.print(table)
    output.print("B is dropped for A only if A says all that B says (DEDUP_IGNORE_FIELDS).")


def _number(value: float | None) -> str:
    if value is None:
        return "–"
    return "∞" if value == float("inf") else f"{value:.4g}"
