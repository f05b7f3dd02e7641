"""``dedup restore``: items that were dropped, as the feed would have them."""

import argparse
import json
import os
import re
import stat
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from hashlib import blake2b
from pathlib import Path
from typing import BinaryIO
from urllib.parse import unquote

from dedup.cli.ledgers import path_of
from dedup.dropped import DROPPED, DroppedItem, UnreadableLine, read_dropped
from dedup.record_field import FieldRecord
from dedup.stores.edit import Restoration, restoring
from dedup.stores.reader import LedgerReader
from dedup.text import printable
from dedup.units import count_of

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


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dropped", nargs="+", type=Path, metavar="DROPPED",
        help="files of DEDUP_DUPLICATES; .gz or .zst may follow")  # fmt: skip
    parser.add_argument("--group", nargs="+", metavar="URL",
        help="items of pages that repeat one of these")  # fmt: skip
    parser.add_argument("--url", nargs="+", type=_pattern, metavar="PATTERN",
        help="items of pages with such URLs; * is any text")  # fmt: skip
    parser.add_argument("--verdict", nargs="+", choices=DROPPED, metavar="VERDICT",
        help=f"items with such a verdict: {', '.join(DROPPED)}")  # fmt: skip
    parser.add_argument("--min-distance", type=float, metavar="N",
        help="items at this distance from their original or farther")  # fmt: skip
    parser.add_argument("--ledger", type=path_of, metavar="LEDGER",
        help="have this ledger, a file, know the pages as stored; items of pages that it knows so "
        "already are left out")  # fmt: skip


def run(options: argparse.Namespace) -> int:
    for path in options.dropped:
        if not path.is_file():
            raise ValueError(f"{path} is no file")
    output = sys.stdout.buffer
    state = _state_of(output)
    for path in options.dropped:
        if state and os.path.samestat(state, path.stat()):
            raise ValueError(f"{path} is read: write to another file")
    # A terminal, or a device such as /dev/null.
    if options.ledger and state and stat.S_ISCHR(state.st_mode):
        raise ValueError("--ledger takes the items for stored: write them to a file (>> FILE)")
    with _open_ledger(options) as ledger:
        restore = _Restore(options, ledger)
        # The items come first: the ledger names only what is stored.
        if _ends_torn(output):
            output.write(b"\n")
        for dropped in restore.choose():
            # Halves of characters stay as they stood in the file: escaped.
            line = json.dumps(dropped.item, ensure_ascii=False)
            output.write(line.encode("utf-8", "backslashreplace") + b"\n")
        output.flush()
    for line in restore.describe():
        print(printable(line, None), file=sys.stderr)
    return 1 if restore.unread else 0


def _open_ledger(options: argparse.Namespace) -> AbstractContextManager[Restoration | None]:
    """Return what has the ledger know of restored pages, if its block ends without an error."""
    if not options.ledger:
        return nullcontext()
    with LedgerReader(options.ledger) as reader:
        method = reader.method
    return restoring(options.ledger, method, ", ".join(path.name for path in options.dropped))


def _state_of(output: BinaryIO) -> os.stat_result | None:
    try:
        return os.fstat(output.fileno())
    except OSError:  # of a program that has no such file
        return None


def _ends_torn(output: BinaryIO) -> bool:
    """Return whether *output* appends to a file whose last line has no end."""
    try:
        import fcntl

        if not fcntl.fcntl(output.fileno(), fcntl.F_GETFL) & os.O_APPEND:
            return False
        with open(f"/dev/fd/{output.fileno()}", "rb") as file:
            if not file.seek(0, os.SEEK_END):
                return False
            file.seek(-1, os.SEEK_END)
            return file.read(1) != b"\n"
    except (ImportError, OSError):  # a pipe, a terminal, or a system without such files
        return False


class _Restore:
    def __init__(self, options: argparse.Namespace, ledger: Restoration | None) -> None:
        self._options = options
        self._ledger = ledger
        self._items = 0
        self._verdicts: Counter[str] = Counter()
        self._groups: set[str | None] = set()
        self._seen: set[bytes] = set()
        self._left_out: Counter[str] = Counter()
        self._unknown_to_ledger, self._first_unknown = 0, ""
        self.unread: list[UnreadableLine] = []

    def choose(self) -> Iterator[DroppedItem]:
        """Yield the items that are to be restored, each once; the ledger learns of their pages."""
        for path in self._options.dropped:
            for dropped in read_dropped(path):
                if isinstance(dropped, UnreadableLine):
                    self.unread.append(dropped)
                    continue
                self._items += 1
                if not self._is_asked_for(dropped):
                    continue
                if self._is_repeated(dropped):
                    self._left_out["they are equal to another one"] += 1
                elif self._ledger and self._is_stored(dropped, self._ledger):
                    self._left_out[f"{self._options.ledger} has their pages as stored"] += 1
                else:
                    self._verdicts[dropped.verdict] += 1
                    self._groups.add(dropped.original)
                    yield dropped

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

    def _is_repeated(self, dropped: DroppedItem) -> bool:
        item = json.dumps([dropped.url, dropped.item], sort_keys=True)
        digest = blake2b(item.encode(), digest_size=16).digest()
        is_there = digest in self._seen
        self._seen.add(digest)
        return is_there

    def _is_stored(self, dropped: DroppedItem, ledger: Restoration) -> bool:
        """Return whether *ledger* has the page of *dropped* as stored; else have it know that."""
        record = ledger.read(dropped.record)
        if not isinstance(record, FieldRecord):
            self._unknown_to_ledger += 1
            self._first_unknown = self._first_unknown or f"{dropped.url}: {record}"
            return False
        if ledger.has(record):
            return True
        ledger.add(record)
        return False

    def describe(self) -> Iterator[str]:
        """Yield the lines that say what was done."""
        ledger = self._options.ledger
        counts = (f"{self._verdicts[kind]:,} {kind}" for kind in DROPPED if self._verdicts[kind])
        verdicts = f" ({', '.join(counts)}; {count_of(len(self._groups), 'group')})"
        total = f"{self._verdicts.total():,} of {count_of(self._items, 'item')} restored"
        yield total + verdicts * bool(self._groups)
        for reason, count in self._left_out.items():
            yield f"left out, as {reason}: {count:,}"
        if self._unknown_to_ledger:
            yield (
                f"without a record that {ledger} can use, so that a crawl drops them again: "
                f"{self._unknown_to_ledger:,}; the first: {self._first_unknown}"
            )
        if self.unread:
            lines = count_of(len(self.unread), "line")
            yield f"{lines} cannot be restored, as no dropped item; the first: {self.unread[0]}"


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(re.escape(text).replace(r"\*", ".*"), re.DOTALL)
