"""Reads mutated pages in this process and in a worker, and tells what comes of them.

    python benchmarks/fuzz.py [FOLDER ...] [--pages N] [--seed N] [--first N]

Pages are those of the demonstration site, made ones, and every file of HTML below the folders that
are named. Each is cut to a few kB and mutated: bytes flipped, tags nested, halves of two pages
joined, ends torn off, other encodings declared, entities, NUL, surrogates, huge attributes. Then it
is read as a page, or as the field of an item, in both ways.

Each page must be read, or fail as `ReadError` says, in both ways alike, within a time and without
memory that grows. What breaks that is printed with its number: number N of a seed is always the
same page (``--first N --pages 1``), so a run can be gone on with where another one ended.
"""

import argparse
import json
import random
import resource
import sys
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import Future
from pathlib import Path
from time import process_time
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from crawler.demo.site import pages as demo_pages
from dedup.extraction import EXTRACTORS
from dedup.methods import Verified
from dedup.page import Page, PageReader
from dedup.records.base import decode_html
from dedup.workers import InlinePool, ReadError, WorkerPool

LONGEST = 3_000
LONGEST_SECONDS = 10.0
MOST_GROWTH = 400 << 20
AT_A_TIME = 64
ENCODINGS = ("utf-8", "utf-16", "gb18030", "shift_jis", "euc-kr", "windows-1252", "utf-7", "big5")
TAGS = (
    "p div span a ul li table tr td th b i em h1 pre code section article main nav header footer "
    "form select option script style noscript template svg math title textarea iframe object head "
    "body html frameset base meta link br hr img blockquote dl dt dd button details"
).split()
PIECES = (
    "<!--", "-->", "<![CDATA[", "]]>", "<?xml version='1.0'?>", "<?php", "<!doctype html>", "</",
    "<", ">", "&", "&#", "&#x", "&#0;", "&#1;", "&#xD800;", "&#x110000;", "&#99999999999;",
    "&nbsp", "&lt;", "\0", "\x01", "\x0c", "\x1b[31m", "\x85", "\u2028", "\u202e", "\u200b",
    "\ufeff", "\ufffe", "\ud800", "\udc00", "\U000e0001", "\U0010ffff", "e\u0301\u0316" * 40,
    "\uff9e\u0301" * 40, "ﷺ" * 20, "中" * 50, "ก" * 50, "<a href='", 'title="', "=", "'", '"',
    "\n" * 30, " " * 100, "1" * 5000, "a" * 3000, "<meta charset=utf-7>",
    "<base href='http://['>", "<html lang='" + "x" * 500 + "'>",
    "<meta name=description content='", "<svg><title>", "<form><form>", "<table><table>",
    "<p>" * 60, "<div>" * 300, "</div>" * 300, "<li>" * 100, "<plaintext>", "<select>" * 20,
)  # fmt: skip
INSERTED = [*PIECES, *(form.format(tag) for tag in TAGS for form in ("<{}>", "</{}>", "<{} a='"))]


def originals(folders: Sequence[Path]) -> list[bytes]:
    """Return the pages of the demonstration site, made ones, and those in *folders*, by name."""
    found = [page.render(1) for page in demo_pages("http://a.org", "http://b.org").values()]
    found += [f"<{tag}>".encode() * 40 + b"<p>Words that stand in a page. " * 8 for tag in TAGS]
    found += ["".join(PIECES).encode("utf-8", "replace"), b"", b"<html>", b"Mere text, some words."]
    for folder in folders:
        found += [path.read_bytes() for path in sorted(folder.rglob("*.htm*"))]
    return found


def mutated(pages: Sequence[bytes], seed: int, number: int) -> str:
    """Return a mutation of one of *pages*: the same one for the same seed and number."""
    chance = random.Random(f"{seed} {number}")
    data = _cut(pages, chance)
    for mutate in chance.choices((_flip, _recode), k=chance.choice((0, 0, 1, 2))):
        data = mutate(data, chance)
    text = data.decode("utf-8", "replace") if chance.random() < 0.5 else decode_html(data)
    if chance.random() < 0.3:
        other = decode_html(_cut(pages, chance))
        text = text[: chance.randrange(len(text) + 1)] + other[chance.randrange(len(other) + 1) :]
    for _ in range(chance.choice((0, 1, 1, 2, 3, 6))):
        place = chance.randrange(len(text) + 1)
        mutate_text = chance.choice((_insert, _insert, _nest, _grow, _repeat))
        text = text[:place] + mutate_text(text[place:], chance)
    return text


def _cut(pages: Sequence[bytes], chance: random.Random) -> bytes:
    data = chance.choice(pages)
    start = chance.randrange(max(1, len(data) - LONGEST))
    return data[:1000] + data[start + 1000 : start + LONGEST]


def _flip(data: bytes, chance: random.Random) -> bytes:
    changed = bytearray(data or b"<")
    for _ in range(chance.choice((1, 5, 50))):
        changed[chance.randrange(len(changed))] = chance.randrange(256)
    return bytes(changed)


def _recode(data: bytes, chance: random.Random) -> bytes:
    declared = f"<meta charset={chance.choice(ENCODINGS)}>" if chance.random() < 0.7 else ""
    return (declared + data.decode("utf-8", "replace")).encode(chance.choice(ENCODINGS), "replace")


def _insert(rest: str, chance: random.Random) -> str:
    return chance.choice(INSERTED) + rest


def _nest(rest: str, chance: random.Random) -> str:
    tag, depth = chance.choice(TAGS), chance.choice((3, 30, 300, 1000))
    return f"{f'<{tag}>' * depth}{rest}{f'</{tag}>' * depth}"


def _grow(rest: str, chance: random.Random) -> str:
    value = chance.choice(("x", "' ", "&", "<", "é", "/")) * chance.choice((100, 3_000, 10_000))
    return f"<p {chance.choice(('a', 'class', 'style', 'href'))}='{value}'>{rest}"


def _repeat(rest: str, chance: random.Random) -> str:
    """Repeat some of the text, leave some out, or tear off the end."""
    length = chance.choice((1, 5, 50, len(rest)))
    times = chance.choice((0, 10, 100)) if length < len(rest) else 0
    return rest[:length] * times + rest[length:]


def measure(folders: Sequence[Path], numbers: range, seed: int) -> dict[str, Any]:
    """Read the mutated pages of *numbers* in both ways, and return the figures."""
    pages = originals(folders)
    reader, timeout = PageReader(EXTRACTORS["trafilatura"], Verified()), 2 * LONGEST_SECONDS
    inline, pool = InlinePool(reader), WorkerPool(reader, workers=1, page_timeout=timeout)
    counts: Counter[str] = Counter()
    faults: list[dict[str, Any]] = []
    slowest = (0.0, -1)

    def note(number: int, kind: str, what: str) -> None:
        faults.append({"page": number, "kind": kind, "what": what})
        print(f"page {number}: {kind}: {what!r}", file=sys.stderr, flush=True)

    def compare(number: int, task: tuple[Any, str], of_worker: "Future[Page]") -> None:
        nonlocal slowest
        memory, begin = _most_memory(), process_time()
        page = _outcome(inline.submit(*task))
        seconds, growth = process_time() - begin, _most_memory() - memory
        slowest = max(slowest, (seconds, number))
        counts["pages"] += 1
        counts[page if isinstance(page, str) else "read"] += 1
        counts["with a sketch"] += isinstance(page, Page) and page.record.sketch is not None
        other = _outcome(of_worker)
        if page != other:
            note(number, "differs", f"{page!r:.300} | {other!r:.300}")
        if seconds > LONGEST_SECONDS:
            note(number, "slow", f"{seconds:.1f} s")
        if growth > MOST_GROWTH:
            note(number, "large", f"{growth >> 20} MB")

    pool.start()
    try:
        inline.submit(PageReader.read_html, "<p>A sample page.").result()
        for start in range(numbers.start, numbers.stop, AT_A_TIME):
            some = range(start, min(start + AT_A_TIME, numbers.stop))
            reads = [PageReader.read_field if n % 4 == 3 else PageReader.read_html for n in some]
            tasks = [(read, mutated(pages, seed, n)) for n, read in zip(some, reads, strict=True)]
            futures = [pool.submit(*task) for task in tasks]
            for number, task, future in zip(some, tasks, futures, strict=True):
                compare(number, task, future)
    finally:
        pool.close()
    return {
        "counts": dict(counts),
        "slowest": {"seconds": round(slowest[0], 3), "page": slowest[1]},
        "faults": faults,
    }


def _outcome(future: "Future[Page]") -> Page | str:
    """Return the page, or for what it was not read."""
    try:
        return future.result()
    except ReadError as error:
        return f"unread: {error.cause}: {str(error)[:200]}"


def _most_memory() -> int:
    """Return the most memory that this process has taken so far, in bytes."""
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folders", nargs="*", type=Path, help="folders with pages")
    parser.add_argument("--pages", type=int, default=1_000, help="how many (default: 1,000)")
    parser.add_argument("--first", type=int, default=0, help="number of the first (default: 0)")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    numbers = range(arguments.first, arguments.first + arguments.pages)
    figures = measure(arguments.folders, numbers, arguments.seed)
    print(json.dumps(figures, indent=1))
    return 1 if figures["faults"] else 0


if __name__ == "__main__":
    sys.exit(main())
