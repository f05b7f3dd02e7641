"""``dedup explain``: what became of a page, or why two pages are, or are not, near-duplicates."""

import argparse
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from time import monotonic
from typing import Any

import urllib3
from rich.text import Text
from urllib3.exceptions import HTTPError
from w3lib.url import safe_url_string

from dedup import __version__
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
from dedup.cli.terminal import color, print_json, show, show_heading, show_line, show_table
from dedup.diff import Part
from dedup.explanation import Side, explain, names_of, sides_of_ledger
from dedup.history import DroppedHistory, Event, LedgerHistory
from dedup.limits import LONGEST_TEXT, shorten_url
from dedup.page import extracted_of
from dedup.records.base import decode_html
from dedup.records.folder import HTML
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
_MOST_BYTES = 10_000_000
_SECONDS = 30.0
_CHUNK = 1 << 16
_HTML_TYPES = ("text/html", "application/xhtml+xml")
_HEADERS = {
    "User-Agent": f"scrapy-dedup/{__version__} (dedup explain)",
    "Accept": "text/html, application/xhtml+xml, text/plain",
}
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
    figures, notes = _explanation(options)
    if options.json:
        print_json({**figures, "notes": notes})
    else:
        _show(figures, notes)
    return 0


def _tell_what_became(options: argparse.Namespace) -> int:
    if not (options.ledger or options.items):
        raise ValueError("one page needs --ledger or --items, which know what became of it")
    # What is stored is encoded; people copy it decoded, too.
    urls = dict.fromkeys(map(shorten_url, (options.one, safe_url_string(options.one))))
    with open_ledger(options.ledger) if options.ledger else nullcontext() as ledger:
        sources: list[LedgerHistory | DroppedHistory] = list(map(DroppedHistory, options.items))
        sources = [LedgerHistory(ledger), *sources] if ledger else sources
        for url in urls:
            events = {source.name: source.events(url) for source in sources}
            if is_known := any(events.values()):
                break
    if options.json:
        by_source = [{"source": source, "events": found} for source, found in events.items()]
        print_json({"url": url, "known": is_known, "sources": by_source})
    else:
        _show_events(url, events)
    return 0 if is_known else 1


def _show_events(url: str, events: Mapping[str, Sequence[Event]]) -> None:
    show_line(url, "bold")
    for source, found in events.items():
        show_heading(source)
        for event in found:
            for line in event["words"].split("\n"):
                show_line(line)
        if not found:
            show("Nothing is known of it. Pages that were not compared are not in here.")


def _explanation(options: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    """Return the figures of two pages, and what is to be said of these."""
    if options.items:
        raise ValueError("--items is for one page: it tells what became of that")
    method = None if options.method is None else method_of(options.method)
    extractor = extractor_of(options.extractor)
    sources = options.one, options.other
    if options.ledger:
        with open_ledger(options.ledger) as ledger:
            method = method or method_of_ledger(ledger)
            rule, sides = ledger.rule, sides_of_ledger(ledger, sources)
            of_host = host(options.other)
            records = (page.record for page in ledger.pages())
            names = names_of(
                (record.key, record.witness.evidence)
                for record in records
                if host(record.key) == of_host
            )
        notes = [
            f"Of {name}, the ledger has the first {LONGEST_TEXT:,} characters: all figures are of "
            "these."
            for name, side in zip("AB", sides, strict=True)
            if len(side.extraction.text) >= LONGEST_TEXT
        ]
    else:
        rule, sides, notes = Rule(), [], []
        for source in sources:
            html, is_html = read_source(source)
            extraction = extracted_of(html, extractor, is_document=is_html)
            sides.append(Side(source, extraction, canonical_of(extraction.canonical, source)))
        names = names_of((side.source, side.extraction.evidence) for side in sides)
        if any("://" in source for source in sources):
            notes = ["A crawl also asks what the items say, and which page is canonical."]
    one, other = sides
    return explain(one, other, method or method_of("simhash"), rule, names), notes


def read_source(source: str) -> tuple[str, bool]:
    """Return the HTML or the text of *source*, a file or an http(s) URL, and if it says it is HTML.

    It is decoded as `decode_html` does. Raises ValueError with a message of one line if *source*
    cannot be read, is larger than 10 MB, or is not text.
    """
    content_type = "text/html" if source.lower().endswith(HTML) else ""
    try:
        if source.lower().startswith(("http://", "https://")):
            retries = urllib3.Retry(connect=0, read=0, redirect=10)
            with urllib3.request(
                "GET", safe_url_string(source), headers=_HEADERS, timeout=_SECONDS,
                retries=retries, preload_content=False,
            ) as response:  # fmt: skip
                if response.status != 200:
                    raise HTTPError(f"status {response.status}")
                body = _body_of(response)
                content_type = response.headers.get("Content-Type", "")
        else:
            with Path(source).open("rb") as file:
                body = file.read(_MOST_BYTES + 1)
    except (HTTPError, OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else getattr(error, "reason", error)
        raise ValueError(f"{source} cannot be read ({reason or error})") from error
    if len(body) > _MOST_BYTES:
        raise ValueError(f"{source} is larger than {_MOST_BYTES:,} bytes")
    text = decode_html(body, content_type)
    if "\0" in text:
        raise ValueError(f"{source} is not text: it has NUL characters")
    return text, content_type.lower().startswith(_HTML_TYPES)


def _body_of(response: urllib3.BaseHTTPResponse) -> bytes:
    """Return what an answer has, up to a byte too many; raises HTTPError if it takes too long."""
    end, body = monotonic() + _SECONDS, b""
    # The time limit of urllib3 is that of each part, however small.
    while len(body) <= _MOST_BYTES and (part := response.read1(_CHUNK)):
        body += part
        if monotonic() > end:
            raise HTTPError(f"it takes longer than {_SECONDS:.0f} seconds")
    return body


def _show(figures: dict[str, Any], notes: Sequence[str]) -> None:
    sides, judgement = (figures["a"], figures["b"]), figures["judgement"]
    show(Text(_verdict(judgement, are_equal=figures["equal"]), "bold"))
    for note in notes:
        show(note)
    show()
    titles = ("source", "canonical", "title", "language", "characters", "tokens")
    rows = ((title, *(side[title] for side in sides)) for title in titles)
    show_table(("", "A", "B"), (row for row in rows if any(row[1:])))
    for name, side in zip("AB", sides, strict=True):
        _show_text(name, side["text"])
    show_heading(f"Features of {judgement['method']}")
    _show_features(figures["features"])
    if figures["fingerprints"]:
        one, other = figures["fingerprints"].values()
        differing = Count((int(one, 16) ^ int(other, 16)).bit_count())
        show_heading(f"Fingerprints {one} and {other}: {differing:bit differs|bits differ}")
    show_heading("All methods")
    rows = (
        (one["method"], _number(one["distance"]), _number(one["max_distance"]), one["verdict"])
        for one in figures["judgements"]
    )
    show_table(("method", ">distance", ">up to", "verdict"), rows)
    show_heading("What differs, word by word")
    show(color(Part(**part) for part in figures["diff"]))


def _verdict(judgement: dict[str, Any], *, are_equal: bool) -> str:
    equal = "their normalised main texts are equal"
    verdict = judgement["verdict"]
    if verdict == "duplicate":
        return f"Exact duplicates: {equal}."
    if meaning := _MEANINGS.get(verdict):
        return f"{judgement['method']}: {verdict} ({meaning})."
    limit = ", farther than" if verdict == "different" else " of up to"
    distance, most = (_number(judgement[name]) or "–" for name in ("distance", "max_distance"))
    but = f", though {equal}" if are_equal else ""
    return f"{judgement['method']}: {verdict}, distance {distance}{limit} {most}{but}."


def _show_text(name: str, text: str) -> None:
    lines = [line for line in text.splitlines() if line.strip()]
    show_heading(f"Main text of {name}")
    for line in lines[:_FIRST_LINES] or ["(none)"]:
        show(Text(printable(line if len(line) <= _LINE else f"{line[:_LINE]} …", None)))
    if (left := Count(len(lines) - _FIRST_LINES)) > 0:
        show(f"… {left:more line (--json has it)|more lines (--json has them)}")


def _show_features(features: Sequence[dict[str, Any]]) -> None:
    if not features:
        show("(none: it looks at the text as a whole, or at nothing in it)")
        return
    one, other = (sum(not feature[side] for feature in features) for side in "ba")
    unequal = sorted(
        (feature for feature in features if feature["a"] != feature["b"]),
        key=lambda feature: (-abs(feature["a"] - feature["b"]), feature["feature"]),
    )
    show(f"in both {len(features) - one - other:,}, only in A {one:,}, only in B {other:,}")
    if unequal:
        show()
        rows = (
            (printable(one["feature"], 80), *(_number(one[side] or None) for side in "ab"))
            for one in unequal[:_FEATURES]
        )
        show_table(("what differs most", ">A", ">B"), rows)


def _number(value: float | None) -> str | None:
    return None if value is None else f"{value:.4g}"
