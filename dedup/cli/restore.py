"""``dedup restore``: items that were dropped, as the feed would have them."""

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from dedup.cli.errors import CommandError
from dedup.cli.files import STDOUT, add_json, check_outputs, write_json
from dedup.cli.ledgers import method_of_ledger, path_of
from dedup.cli.restore_output import ItemWriter, item_writer
from dedup.dropped import DROPPED, DroppedItem, UnreadableLine, read_dropped
from dedup.record_field import FieldRecord
from dedup.stores.edit import restoring
from dedup.stores.reader import LedgerReader
from dedup.text import printable
from dedup.units import count_of

EXAMPLES = """\
examples:
  dedup restore dropped.jsonl --dry-run                      count, and write nothing
  dedup restore dropped.jsonl >> pages.jsonl                 all of them
  dedup restore dropped.jsonl --verdict near-duplicate --min-distance 3 >> pages.jsonl
  dedup restore dropped.jsonl --url '*/product/*' -o products.csv
  dedup restore dropped.jsonl --group https://example.com/1 --ledger pages.sqlite >> pages.jsonl

An item is restored if all that is asked for holds. With --ledger, the next crawl knows that the
restored pages are stored.

The exit code is 1 if a line was no dropped item: all others are restored.
"""
_MOST_TOLD = 10


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
    parser.add_argument("--max-distance", type=float, metavar="N",
        help="items at this distance from their original or nearer")  # fmt: skip
    parser.add_argument("-o", "--output", type=Path, metavar="FILE",
        help="a new file for the items, .jsonl or .csv, .gz or .zst may follow (default: the "
        "standard output, as JSONL)")  # fmt: skip
    parser.add_argument("--ledger", type=path_of, metavar="LEDGER",
        help="have this ledger, a file, know the pages as stored; items of pages that it knows so "
        "already are left out")  # fmt: skip
    parser.add_argument("--dry-run", action="store_true",
        help="only say how many items would be restored")  # fmt: skip
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    check_outputs(options, options.output, options.json)
    if options.json == STDOUT and not (options.output or options.dry_run):
        raise CommandError("--json - needs -o or --dry-run: the items go to the standard output")
    for path in (options.output, options.json):
        if path and path.resolve() in {given.resolve() for given in options.dropped}:
            raise CommandError(f"{path} is a file of dropped items; give the output another name")
    restore = _Restore(options)
    with ExitStack() as stack:
        # The items come first: the ledger names only what is stored.
        if options.ledger:
            restore.use_ledger(stack)
        with _writer(options, restore) as write:
            for dropped in restore.choose():
                write(dropped.item)
        sys.stdout.flush()
    figures = restore.figures()
    write_json(options.json, figures)
    for line in _describe(figures, options):
        print(printable(line, None), file=sys.stderr)
    return 1 if figures["unread"] else 0


def _writer(options: argparse.Namespace, restore: "_Restore") -> AbstractContextManager[ItemWriter]:
    if options.dry_run:
        return nullcontext(lambda item: None)
    return item_writer(options.output, restore.fields, is_new=not options.overwrite)


class _Restore:
    """What is restored, and what is counted of it."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self._is_chosen = _choice(options)
        self._ledger: Any = None
        self._begin()

    def _begin(self) -> None:
        self._items = 0
        self._verdicts: Counter[str] = Counter()
        self._groups: set[str | None] = set()
        self._seen: set[bytes] = set()
        self._repeated = self._stored_already = self._unknown_to_ledger = 0
        self._unread: list[UnreadableLine] = []
        self._first_unknown: str | None = None

    def use_ledger(self, stack: ExitStack) -> None:
        """Take the ledger for what is restored, until *stack* is closed without an error."""
        path = self._options.ledger
        with LedgerReader(path) as reader:
            crawls = reader.crawls()
        names = ", ".join(path.name for path in self._options.dropped)
        self._ledger = stack.enter_context(
            restoring(path, lambda identity: method_of_ledger(identity, crawls), names)
        )

    def choose(self, *, is_last: bool = True) -> Iterator[DroppedItem]:
        """Yield the items that are to be restored, each once, and count anew.

        Unless it *is_last*, nothing is said to the ledger.
        """
        self._begin()
        for path in self._options.dropped:
            for found in read_dropped(path):
                if isinstance(found, UnreadableLine):
                    self._unread.append(found)
                    continue
                self._items += 1
                if not self._is_chosen(found):
                    continue
                if self._is_repeated(found):
                    self._repeated += 1
                elif self._is_known(found, is_last):
                    self._stored_already += 1
                else:
                    self._verdicts[found.verdict] += 1
                    self._groups.add(found.original)
                    yield found

    def fields(self) -> list[str]:
        """Return the names of the fields of all items that are to be restored."""
        items = (dropped.item for dropped in self.choose(is_last=False))
        return list(dict.fromkeys(chain.from_iterable(items)))

    def _is_repeated(self, dropped: DroppedItem) -> bool:
        item = json.dumps([dropped.url, dropped.item], sort_keys=True)
        digest = blake2b(item.encode(), digest_size=16).digest()
        is_there = digest in self._seen
        self._seen.add(digest)
        return is_there

    def _is_known(self, dropped: DroppedItem, is_last: bool) -> bool:
        """Return whether the ledger has the page of *dropped* as stored; else have it know that."""
        if not self._ledger:
            return False
        restoration, read = self._ledger
        record = read(dropped.record)
        if not isinstance(record, FieldRecord):
            self._unknown_to_ledger += 1
            self._first_unknown = self._first_unknown or f"{dropped.url}: {record}"
            return False
        if restoration.has(record):
            return True
        if is_last and not self._options.dry_run:
            restoration.add(record)
        return False

    def figures(self) -> dict[str, Any]:
        return {
            "items": self._items,
            "restored": self._verdicts.total(),
            "by_verdict": {kind: self._verdicts[kind] for kind in DROPPED if self._verdicts[kind]},
            "groups": len(self._groups),
            "repeated": self._repeated,
            "stored_already": self._stored_already,
            "unknown_to_ledger": self._unknown_to_ledger,
            "first_unknown_to_ledger": self._first_unknown,
            "unread": len(self._unread),
            "first_unread": [line._asdict() for line in self._unread[:_MOST_TOLD]],
        }


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(re.escape(text).replace(r"\*", ".*"), re.DOTALL)


def _spellings(url: str) -> set[str]:
    # People copy URLs from where they are decoded, too.
    return {url, unquote(url)}


def _is_of_group(dropped: DroppedItem, groups: Sequence[str]) -> bool:
    return not _spellings(dropped.original or "").isdisjoint(groups)


def _has_url(dropped: DroppedItem, patterns: Sequence[re.Pattern[str]]) -> bool:
    return any(p.fullmatch(url) for p in patterns for url in _spellings(dropped.url))


def _is_at_least(one: float | None, other: float | None) -> bool:
    return one is not None and other is not None and one >= other


_TESTS: dict[str, Callable[[DroppedItem, Any], bool]] = {
    "group": _is_of_group,
    "url": _has_url,
    "verdict": lambda dropped, verdicts: dropped.verdict in verdicts,
    "min_distance": lambda dropped, least: _is_at_least(dropped.distance, least),
    "max_distance": lambda dropped, most: _is_at_least(most, dropped.distance),
}
"""By option: whether an item is what its value asks for."""


def _choice(options: argparse.Namespace) -> Callable[[DroppedItem], bool]:
    """Return whether an item is what all options ask for."""
    given = {name: getattr(options, name) for name in _TESTS}
    asked = [(_TESTS[name], value) for name, value in given.items() if value is not None]
    return lambda dropped: all(test(dropped, value) for test, value in asked)


def _describe(figures: dict[str, Any], options: argparse.Namespace) -> Iterator[str]:
    would = "would be restored" if options.dry_run else "restored"
    verdicts = ", ".join(f"{count:,} {verdict}" for verdict, count in figures["by_verdict"].items())
    yield (
        f"{figures['restored']:,} of {count_of(figures['items'], 'item')} {would}"
        + f" ({verdicts}; {count_of(figures['groups'], 'group')})" * bool(verdicts)
    )
    if repeated := figures["repeated"]:
        yield f"left out, as they are equal to another one: {repeated:,}"
    if stored := figures["stored_already"]:
        yield f"left out, as {options.ledger} has their pages as stored: {stored:,}"
    if unknown := figures["unknown_to_ledger"]:
        yield (
            f"without a record that {options.ledger} can use, so that a crawl drops them again: "
            f"{unknown:,}; the first: {figures['first_unknown_to_ledger']}"
        )
    if figures["unread"]:
        yield f"{count_of(figures['unread'], 'line')} cannot be restored, as no dropped item:"
    for line in figures["first_unread"]:
        yield f"  {line['where']}: {line['why']}"
    if figures["unread"] > _MOST_TOLD:
        yield "  ..."
