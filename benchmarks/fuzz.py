"""Reads mutated pages in this process and in a worker, and tells what comes of them.

    python benchmarks/fuzz.py [FOLDER_OR_ARCHIVE ...] [--pages N] [--seed N] [--first N]

Pages are those of the demonstration site, made ones, and every file of HTML below the folders or in
the tar archives that are named. Each is cut to a few kB and mutated: bytes flipped, tags spliced
and nested, halves of two pages joined, ends torn off, other encodings declared, entities, NUL,
surrogates, huge attributes. Then it is read as a page, and as the field of an item, in both ways.

The evidence of each page is asked for with the text that was extracted, with that of the page
before it, and with its own HTML for a text.

Each page must be read, or fail as `ReadError` says, in both ways alike, within a time and without
memory that grows; evidence must cover from 0 to 1, and leave the tree as it is. What breaks that is
printed with its number: number N of a seed is always the same page (``--first N --pages 1``), so a
run can be gone on with where another one ended.
"""

import argparse
import json
import random
import resource
import sys
import tarfile
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from lxml import etree

sys.path.insert(0, str(Path(__file__).parents[1]))

from crawler.demo.site import pages as demo_pages
from dedup.evidence import SIZE_OF_EVIDENCE, Evidence
from dedup.extraction import EXTRACTORS, evidence_reader, parse
from dedup.methods import METHODS
from dedup.page import Page, PageReader
from dedup.records.base import decode_html
from dedup.text import without_surrogates
from dedup.workers import InlinePool, ReadError, WorkerPool

LONGEST = 3_000
LONGEST_SECONDS = 10.0
LONGEST_SECONDS_OF_EVIDENCE = 1.0
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
    "<meta name=description content='", "<title>", "<script>", "<style>", "<svg><title>",
    "<form><form>", "<table><table>", "<p>" * 60, "<b>" * 60, "<div>" * 300, "</div>" * 300,
    "<a name=x>" * 40, "<li>" * 100, "<template>", "<plaintext>", "<frameset>", "<select>" * 20,
)  # fmt: skip


class Mutations:
    """Pages by number: the same one for the same seed, number and originals."""

    def __init__(self, originals: Sequence[bytes], seed: int) -> None:
        self._originals = originals
        self._seed = seed

    def page(self, number: int) -> str:
        chance = random.Random(f"{self._seed} {number}")
        data = self._cut(chance)
        for _ in range(chance.choice((0, 1, 1, 2, 3, 6))):
            data = chance.choice(self._OF_BYTES)(self, data, chance)
        text = data.decode("utf-8", "replace") if chance.random() < 0.5 else decode_html(data)
        for _ in range(chance.choice((0, 1, 1, 2, 3, 6))):
            text = chance.choice(self._OF_TEXT)(self, text, chance)
        return text

    def _cut(self, chance: random.Random) -> bytes:
        data = chance.choice(self._originals)
        if len(data) <= LONGEST:
            return data
        start = chance.randrange(len(data) - LONGEST)
        return data[:1000] + data[start : start + LONGEST - 1000]

    def _flip(self, data: bytes, chance: random.Random) -> bytes:
        changed = bytearray(data or b"<")
        for _ in range(chance.choice((1, 5, 50))):
            changed[chance.randrange(len(changed))] = chance.randrange(256)
        return bytes(changed)

    def _tear(self, data: bytes, chance: random.Random) -> bytes:
        return data[: chance.randrange(len(data) + 1)]

    def _join(self, data: bytes, chance: random.Random) -> bytes:
        other = self._cut(chance)
        return data[: chance.randrange(len(data) + 1)] + other[chance.randrange(len(other) + 1) :]

    def _recode(self, data: bytes, chance: random.Random) -> bytes:
        encoding = chance.choice(ENCODINGS)
        declared = f"<meta charset={chance.choice(ENCODINGS)}>" if chance.random() < 0.7 else ""
        return (declared + data.decode("utf-8", "replace")).encode(encoding, "replace")

    def _insert(self, text: str, chance: random.Random) -> str:
        place = chance.randrange(len(text) + 1)
        return text[:place] + chance.choice(PIECES) + text[place:]

    def _splice(self, text: str, chance: random.Random) -> str:
        tag, place = chance.choice(TAGS), chance.randrange(len(text) + 1)
        piece = chance.choice((f"<{tag}>", f"</{tag}>", f"<{tag} ", f"<{tag}/>", f"<{tag} a='"))
        return text[:place] + piece + text[place:]

    def _nest(self, text: str, chance: random.Random) -> str:
        tag, depth = chance.choice(TAGS), chance.choice((3, 30, 300, 1000))
        place = chance.randrange(len(text) + 1)
        return f"{text[:place]}{f'<{tag}>' * depth}{text[place:]}{f'</{tag}>' * depth}"

    def _grow(self, text: str, chance: random.Random) -> str:
        size, place = chance.choice((100, 3_000, 10_000)), text.find(" ", len(text) // 2) + 1
        value = chance.choice(("x", "' ", "&", "<", "é", "/")) * size
        name = chance.choice(("a", "class", "style", "href"))
        return f"{text[:place]}<p {name}='{value}'>{text[place:]}"

    def _repeat(self, text: str, chance: random.Random) -> str:
        start = chance.randrange(len(text) + 1)
        piece = text[start : start + chance.choice((1, 5, 50))]
        return text[:start] + piece * chance.choice((10, 100)) + text[start:]

    def _drop(self, text: str, chance: random.Random) -> str:
        start = chance.randrange(len(text) + 1)
        return text[:start] + text[start + chance.choice((1, 10, 200)) :]

    _OF_BYTES = (_flip, _tear, _join, _recode)
    _OF_TEXT = (_insert, _insert, _splice, _splice, _nest, _grow, _repeat, _drop)


def originals(paths: Sequence[Path]) -> list[bytes]:
    """Return the pages of the demonstration site, made ones, and those at *paths*, by name."""
    found = [page.render(1) for page in demo_pages("http://a.org", "http://b.org").values()]
    found += [f"<{tag}>".encode() * 40 + b"<p>Words that stand in a page. " * 8 for tag in TAGS]
    found += [
        "".join(PIECES).encode("utf-8", "replace"),
        b"",
        b"<html>",
        b"Mere text, of some words.",
    ]
    for path in paths:
        found += _in_folder(path) if path.is_dir() else _in_archive(path)
    return found


def _in_folder(folder: Path) -> Iterator[bytes]:
    for path in sorted((*folder.rglob("*.html"), *folder.rglob("*.htm"))):
        yield path.read_bytes()[: 50 * LONGEST]


def _in_archive(path: Path) -> Iterator[bytes]:
    with tarfile.open(path) as archive:
        for member in archive:
            if member.isfile() and member.name.lower().endswith((".html", ".htm")):
                file = archive.extractfile(member)
                assert file
                yield file.read(50 * LONGEST)


class Run:
    """Reads pages in both ways, and notes what came of them."""

    def __init__(self, mutations: Mutations, method: str, extractor: str) -> None:
        reader = PageReader(EXTRACTORS[extractor], METHODS[method]())
        self._mutations = mutations
        self._inline = InlinePool(reader)
        self._pool = WorkerPool(reader, workers=1, page_timeout=2 * LONGEST_SECONDS)
        self.counts: Counter[str] = Counter()
        self.faults: list[dict[str, Any]] = []
        self.slowest = (0.0, -1)
        self._text_before = ""

    def __enter__(self) -> "Run":
        self._pool.start()
        self._inline.submit(PageReader.read_html, "<p>A sample page.").result()
        return self

    def __exit__(self, *error: object) -> None:
        self._pool.close()

    def read(self, numbers: range) -> None:
        """Read the pages of *numbers*."""
        for start in range(numbers.start, numbers.stop, AT_A_TIME):
            some = range(start, min(start + AT_A_TIME, numbers.stop))
            tasks = [self._task(number) for number in some]
            futures = [self._pool.submit(*task) for task in tasks]
            for number, task, future in zip(some, tasks, futures, strict=True):
                self._compare(number, task, future)

    def _task(self, number: int) -> tuple[Any, str]:
        read = PageReader.read_field if number % 4 == 3 else PageReader.read_html
        return read, self._mutations.page(number)

    def _compare(self, number: int, task: tuple[Any, str], future: "Future[Page]") -> None:
        memory, begin = _most_memory(), process_time()
        inline = self._outcome(number, self._inline.submit(*task))
        seconds, growth = process_time() - begin, _most_memory() - memory
        worker = self._outcome(number, future)
        self.counts["pages"] += 1
        self.counts["characters"] += len(task[1])
        self.counts[inline if isinstance(inline, str) else "read"] += 1
        self.counts["with a sketch"] += (
            isinstance(inline, Page) and inline.record.sketch is not None
        )
        self.slowest = max(self.slowest, (seconds, number))
        if inline != worker:
            self._fault(number, "differs", f"{inline!r:.300} | {worker!r:.300}")
        if seconds > LONGEST_SECONDS:
            self._fault(number, "slow", f"{seconds:.1f} s")
        if growth > MOST_GROWTH:
            self._fault(number, "large", f"{growth >> 20} MB")
        if task[0] is PageReader.read_html:
            self._check_evidence(number, task[1], inline if isinstance(inline, Page) else None)

    def _check_evidence(self, number: int, html: str, page: Page | None) -> None:
        html = without_surrogates(html)
        tree = parse(html)
        if tree is None:
            return
        before = etree.tostring(tree)
        text = (page and page.text) or ""
        for one in (text, self._text_before, html):
            begin = process_time()
            try:
                evidence = evidence_reader(tree, html, page and page.title)(one)
            except Exception as error:
                self._fault(number, "evidence", repr(error)[:300])
                continue
            seconds = process_time() - begin
            self.counts["evidence"] += 1
            if not 0 <= evidence.coverage <= 1 or len(evidence.to_bytes()) != SIZE_OF_EVIDENCE:
                self._fault(number, "evidence", f"{evidence!r:.300}")
            if seconds > LONGEST_SECONDS_OF_EVIDENCE:
                self._fault(number, "slow evidence", f"{seconds:.1f} s")
            if one is text and page and page.evidence != Evidence.from_bytes(evidence.to_bytes()):
                self._fault(number, "other evidence", f"{evidence!r:.150} | {page.evidence!r:.150}")
        if etree.tostring(tree) != before:
            self._fault(number, "changed", "the tree is another one after the evidence")
        self._text_before = text

    def _outcome(self, number: int, future: "Future[Page]") -> Page | str:
        """Return the page, or for what it was not read."""
        try:
            return future.result()
        except ReadError as error:
            if error.cause != "error":
                self._fault(number, error.cause, str(error)[:300])
            return f"unread: {str(error)[:200]}"

    def _fault(self, number: int, kind: str, what: str) -> None:
        self.faults.append({"page": number, "kind": kind, "what": what})
        print(f"page {number}: {kind}: {what!r}", file=sys.stderr, flush=True)


def _most_memory() -> int:
    """Return the most memory that this process has taken so far, in bytes."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def measure(
    paths: Sequence[Path], numbers: range, seed: int, *, method: str, extractor: str
) -> dict[str, Any]:
    """Read the mutated pages of *numbers*, and return the figures."""
    begin, found = perf_counter(), originals(paths)
    with Run(Mutations(found, seed), method, extractor) as run:
        for start in range(numbers.start, numbers.stop, 5_000):
            run.read(range(start, min(start + 5_000, numbers.stop)))
            print(f"up to {start + 5_000:,}: {dict(run.counts)}", file=sys.stderr, flush=True)
    return {
        "originals": len(found),
        "seed": seed,
        "first": numbers.start,
        "counts": dict(run.counts),
        "slowest": {"seconds": round(run.slowest[0], 3), "page": run.slowest[1]},
        "seconds": round(perf_counter() - begin, 1),
        "faults": run.faults,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("paths", nargs="*", type=Path, help="folders or tar archives with pages")
    parser.add_argument("--pages", type=int, default=1_000, help="how many (default: 1,000)")
    parser.add_argument("--first", type=int, default=0, help="number of the first (default: 0)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--method", default="verified")
    parser.add_argument("--extractor", default="trafilatura")
    arguments = parser.parse_args()
    figures = measure(
        arguments.paths,
        range(arguments.first, arguments.first + arguments.pages),
        arguments.seed,
        method=arguments.method,
        extractor=arguments.extractor,
    )
    print(json.dumps(figures, indent=1))
    return 1 if figures["faults"] else 0


if __name__ == "__main__":
    sys.exit(main())
