"""``dedup restore``: items that were dropped, as the feed would have them."""

import argparse
import json
import os
import re
import stat
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import nullcontext
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from typing import BinaryIO
from urllib.parse import unquote

from dedup.cli.ledgers import place_of
from dedup.dropped import DROPPED, DroppedItem, read_dropped
from dedup.records.lines import json_line
from dedup.stores.edit import Restoration, restoring
from dedup.stores.server_url import ServerUrl
from dedup.text import printable
from dedup.units import Count

EXAMPLES = """\
examples:
  dedup restore dropped.jsonl > /dev/null                    only count
  dedup restore dropped.jsonl >> pages.jsonl                 all of them
  dedup restore dropped.jsonl --verdict near-duplicate --min-distance 3 >> pages.jsonl
  dedup restore dropped.jsonl --url '*/product/*' > products.jsonl
  dedup restore dropped.jsonl --group https://example.com/1 --ledger pages.sqlite >> pages.jsonl

Items go to the standard output as JSON lines; one is restored if all that is asked for holds. With
--ledger, the next crawl knows that the restored pages are stored.

The exit code is 1 if a line was no dropped item: all others are restored.
"""
_UNREAD = "lines that cannot be restored, as no dropped items"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dropped", nargs="+", type=Path, metavar="DROPPED",
        help="files of DEDUP_DUPLICATES; .gz or .zst may follow")  # fmt: skip
    parser.add_argument("--group", nargs="+", metavar="URL",
        help="items of pages that repeat one of these")  # fmt: skip
    parser.add_argument("--url", nargs="+", type=_pattern, metavar="PATTERN",
        help="items of pages with such URLs; * is any text")  # fmt: skip
    parser.add_argument("--verdict", nargs="+", choices=tuple(map(str, DROPPED)), metavar="VERDICT",
        help=f"items with such a verdict: {', '.join(DROPPED)}")  # fmt: skip
    parser.add_argument("--min-distance", type=float, metavar="N",
        help="items at this distance from their original or farther")  # fmt: skip
    parser.add_argument("--ledger", type=place_of, metavar="LEDGER",
        help="have this ledger, a file, know the pages as stored; items of pages that it knows so "
        "already are left out")  # fmt: skip


def run(options: argparse.Namespace) -> int:
    if isinstance(options.ledger, ServerUrl):
        raise ValueError(f"--ledger must be the path of a file, got {options.ledger.name!r}")
    output = sys.stdout.buffer
    state = _state_of(output)
    for path in options.dropped:
        read = path.stat()
        if state and os.path.samestat(state, read):
            raise ValueError(f"{path} is read: write to another file")
    # A terminal, or a device such as /dev/null.
    if options.ledger and state and stat.S_ISCHR(state.st_mode):
        raise ValueError("--ledger takes the items for stored: write them to a file (>> FILE)")
    name = ", ".join(path.name for path in options.dropped)
    with restoring(options.ledger, name) if options.ledger else nullcontext() as ledger:
        restore = _Restore(options, ledger)
        # The items come first: the ledger names only what is stored.
        if _ends_torn(output):
            output.write(b"\n")
        for dropped in restore.choose():
            output.write(json_line(dropped.item) + b"\n")
        output.flush()
    for line in restore.describe():
        print(printable(line, None), file=sys.stderr)
    return 1 if _UNREAD in restore.noted else 0


def _state_of(output: BinaryIO) -> os.stat_result | None:
    try:
        return os.fstat(output.fileno())
    except OSError:  # of a program that has no such file
        return None


def _ends_torn(output: BinaryIO) -> bool:
    """Return whether *output* is a file whose last line has no end."""
    try:
        with open(f"/dev/fd/{output.fileno()}", "rb") as file:
            file.seek(-1, os.SEEK_END)
            return file.read(1) != b"\n"
    except OSError:  # an empty file, a pipe, a terminal, or a system without such files
        return False


class _Restore:
    """Chooses the items that are restored, and counts these and others."""

    def __init__(self, options: argparse.Namespace, ledger: Restoration | None) -> None:
        self._options = options
        self._ledger = ledger
        self._items = 0
        self._verdicts: Counter[str] = Counter()
        self._groups: set[str | None] = set()
        self._seen: set[bytes] = set()
        self.noted: dict[str, tuple[int, str]] = {}
        """Why items were not restored, or not for good: how many, and what is said of the first."""

    def choose(self) -> Iterator[DroppedItem]:
        """Yield the items that are to be restored, each once; the ledger learns of their pages."""
        for dropped in chain.from_iterable(map(read_dropped, self._options.dropped)):
            if isinstance(dropped, ValueError):
                self._note(_UNREAD, f"; the first: {dropped}")
                continue
            self._items += 1
            if self._is_asked_for(dropped) and self._is_new(dropped):
                self._verdicts[dropped.verdict] += 1
                self._groups.add(dropped.original)
                yield dropped

    def _note(self, what: str, first: str = "") -> None:
        count, first = self.noted.get(what, (0, first))
        self.noted[what] = count + 1, first

    def _is_asked_for(self, dropped: DroppedItem) -> bool:
        options = self._options
        # People copy URLs from where they are decoded, too.
        urls, originals = ({url, unquote(url)} for url in (dropped.url, dropped.original or ""))
        if options.group and originals.isdisjoint(options.group):
            return False
        if options.url and not any(p.fullmatch(url) for p in options.url for url in urls):
            return False
        if options.verdict and dropped.verdict not in options.verdict:
            return False
        least = options.min_distance
        return least is None or (dropped.distance is not None and dropped.distance >= least)

    def _is_new(self, dropped: DroppedItem) -> bool:
        """Return whether *dropped* is not restored yet; have the ledger know that it is now."""
        item = json.dumps([dropped.url, dropped.item], sort_keys=True)
        digest = blake2b(item.encode(), digest_size=16).digest()
        if digest in self._seen:
            self._note("left out, as they are equal to another one")
            return False
        self._seen.add(digest)
        path = self._options.ledger
        try:
            if self._ledger and not self._ledger.restore(dropped.record):
                self._note(f"left out, as {path} has their pages as stored")
                return False
        except ValueError as error:
            what = f"without a record that {path} can use, so that a crawl drops them again"
            self._note(what, f"; the first: {dropped.url}: {error}")
        return True

    def describe(self) -> Iterator[str]:
        """Yield the lines that say what was done."""
        counts = (f"{self._verdicts[kind]:,} {kind}" for kind in DROPPED if self._verdicts[kind])
        verdicts = f" ({', '.join(counts)}; {Count(len(self._groups)):group})"
        total = f"{self._verdicts.total():,} of {Count(self._items):item} restored"
        yield total + verdicts * bool(self._groups)
        for what, (count, first) in self.noted.items():
            yield f"{what}: {count:,}{first}"


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(re.escape(text).replace(r"\*", ".*"), re.DOTALL)
