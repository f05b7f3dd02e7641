"""``dedup why``: what became of a page, in words."""

import argparse
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text
from w3lib.url import safe_url_string

from dedup.cli.errors import CommandError
from dedup.cli.files import add_json, check_outputs, write_json
from dedup.cli.ledgers import method_of_ledger, open_ledger, place_of, setting_of_crawls
from dedup.cli.terminal import console
from dedup.dropped import UnreadableLine, read_dropped
from dedup.evidence import NORMAL, Objection
from dedup.history import (
    DroppedHistory,
    Event,
    History,
    LedgerHistory,
    NearUrl,
    events_of_report,
    nearest_urls,
    urls_of_report,
)
from dedup.index.base import Match
from dedup.limits import shorten_url
from dedup.methods.base import Method
from dedup.record import unpack_items
from dedup.report.report import Report
from dedup.rule import Rule
from dedup.sqlite_file import is_sqlite
from dedup.stores.reader import LedgerReader, StoredPage
from dedup.stores.shared.log_url import LogUrl
from dedup.text import printable
from dedup.units import count_of
from dedup.view.view import View

EXAMPLES = """\
examples:
  dedup why https://example.com/1 pages.sqlite
  dedup why https://example.com/1 pages.sqlite dropped.jsonl reports/site-2026-01-01T100000Z.json
  dedup why https://example.com/1 pages.sqlite --json - | jq '.sources[].events[].what'
  dedup why https://example.com/1 redis://localhost:6379/0

The exit code is 1 if none of them knows the page.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("url", metavar="URL", help="the URL of the page, or its key")
    parser.add_argument("sources", nargs="+", type=place_of, metavar="SOURCE",
        help="what crawls left: a ledger (a file, or the URL of a shared store), a JSON report, or "
        "a file of dropped items")  # fmt: skip
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    check_outputs(options, options.json)
    with ExitStack() as stack:
        sources = [_source(place, stack) for place in options.sources]
        # What is stored is encoded; people copy it decoded, too.
        urls = dict.fromkeys(map(shorten_url, (options.url, safe_url_string(options.url))))
        for url in urls:
            histories = [source.of(url) for source in sources]
            if is_known := any(history.events for history in histories):
                break
        else:
            url = shorten_url(options.url)
        near: list[NearUrl] = []
        if not is_known:
            near = nearest_urls(url, chain.from_iterable(map(_known_urls, sources)))
    write_json(options.json, _as_json(url, is_known, histories, near))
    _show(console(options.json), url, histories, near)
    return 0 if is_known else 1


class _Ledger:
    """A ledger, and what it would say of its pages by the settings of its last crawl."""

    def __init__(self, reader: LedgerReader) -> None:
        self._reader = reader
        self._history = LedgerHistory(reader)

    def known_urls(self) -> Iterable[str]:
        return self._history.known_urls()

    def of(self, url: str) -> History:
        history = self._history.of(url)
        if any(event.what in ("stored", "changed", "restored") for event in history.events):
            are_told = any(event.what == "near misses" for event in history.events)
            history.events += (
                event
                for event in self._tell_why_kept(url)
                if not (are_told and event.what == "nearest")
            )
        return history

    def _tell_why_kept(self, url: str) -> Iterator[Event]:
        """Yield what kept the page at *url* from being a duplicate, as far as anything nearly did.

        All pages that count are asked, those that came later, too, but for objections.
        """
        crawls = self._reader.crawls()
        method = method_of_ledger(self._reader.identity, crawls)
        versions = self._reader.versions(url)
        current = [page for page in versions if page.ended is None]
        if method is None or not current:
            return
        has_evidence = setting_of_crawls(crawls, "DEDUP_EVIDENCE", True) not in (False, "off")
        demands = NORMAL if has_evidence else None
        rule = Rule(setting_of_crawls(crawls, "DEDUP_MIN_TOKENS", 20), demands)
        view, scopes = self._view_of_all(method, rule)
        own = {page.number for page in versions}
        last = self._reader.last
        for page in current:
            [item, *_] = [*unpack_items(page.items), b""]
            later = range(page.number + 1, last + 1)
            look = view.look(page.record._replace(item=item), own.union(later))
            if look.objection:
                yield self._alike(page, look.page, look.objection, url)
                continue
            if rule.is_short(page.record):
                yield _short(page, rule)
            elif near := self._nearest(page, view, method):
                yield near
            if len(scopes) > 1:
                anywhere, _ = self._view_of_all(method, rule, is_one_scope=True)
                look = anywhere.look(page.record.under(url, ""), own)
                if (match := look.finding.match) and not view.look(page.record, own).finding.match:
                    yield self._elsewhere(page, match)

    def _view_of_all(
        self, method: Method, rule: Rule, *, is_one_scope: bool = False
    ) -> tuple[View, set[str]]:
        """Return all pages, and their scopes; *is_one_scope*: as if they had one."""
        view, scopes = View(method, rule), set[str]()
        number = 0
        while piece := self._reader.columns_since(number):
            number = piece.last
            scopes.update(piece.scopes)
            if is_one_scope:
                piece.scopes = [""] * len(piece.scopes)
            view.load(piece)
        view.finish_loading()
        return view, scopes

    def _alike(self, page: StoredPage, number: int, objection: Objection, url: str) -> Event:
        fields = None
        if objection is Objection.ITEM and (told := self._reader.differences_of(url)):
            number, fields = next(iter(told.items()))
        other = self._reader.url(number)
        words = (
            f"It is kept although its main text matches that of <{other}>, page {number}: "
            f"{objection}"
        )
        if fields:
            words += f", which differs in {fields}. DEDUP_IGNORE_FIELDS leaves fields out"
        facts = {
            "page": page.number, "other": other, "other_page": number,
            "objection": objection.value, "fields": fields,
        }  # fmt: skip
        return Event("kept although alike", f"{words}.", facts)

    def _nearest(self, page: StoredPage, view: View, method: Method) -> Event | None:
        scope, within = page.record.scope, method.near_miss_distance
        [match] = view.nearest_beyond([page.record], scope, within)
        if match is None:
            return None
        other = self._reader.url(match.page)
        words = (
            f"The nearest page beyond the threshold {method.max_distance:.4g} is <{other}>, page "
            f"{match.page}, at distance {match.distance:.4g}."
        )
        facts = {
            "page": page.number, "other": other, "other_page": match.page,
            "distance": match.distance, "threshold": method.max_distance,
        }  # fmt: skip
        return Event("nearest", words, facts)

    def _elsewhere(self, page: StoredPage, match: Match) -> Event:
        other = self._reader.url(match.page)
        words = (
            f"It was not compared with <{other}>, page {match.page}, which matches it at distance "
            f"{match.distance:.4g}: that is of another scope (DEDUP_SCOPE)."
        )
        facts = {
            "page": page.number, "other": other, "other_page": match.page,
            "distance": match.distance,
        }  # fmt: skip
        return Event("not compared", words, facts)


def _short(page: StoredPage, rule: Rule) -> Event:
    told = count_of(page.record.tokens, "word")
    words = (
        f"It has {told}: with fewer than {rule.min_tokens} (DEDUP_MIN_TOKENS), a page can only be "
        "a duplicate of one with an equal text."
    )
    return Event("too short", words, {"page": page.number, "tokens": page.record.tokens})


class _Report:
    def __init__(self, path: Path, report: Report) -> None:
        self._path = path
        self._report = report

    def known_urls(self) -> Iterable[str]:
        return urls_of_report(self._report)

    def of(self, url: str) -> History:
        history = History(str(self._path), list(events_of_report(self._report, url)))
        if not history.events:
            history.hints.append("A report names only the first pages of the largest groups.")
        return history


class _DroppedItems:
    def __init__(self, path: Path) -> None:
        self._path = path

    def known_urls(self) -> Iterator[str]:
        for found in read_dropped(self._path):
            if not isinstance(found, UnreadableLine):
                yield found.url
                if found.original:
                    yield found.original

    def of(self, url: str) -> History:
        history = DroppedHistory(str(self._path), url)
        unread, first = 0, ""
        for found in read_dropped(self._path):
            if isinstance(found, UnreadableLine):
                unread += 1
                first = first or str(found)
            else:
                history.add(found)
        result = history.result()
        if unread:
            told = count_of(unread, "line")
            result.hints.append(f"{told} could not be read; the first: {first}")
        return result


def _source(path: Path | LogUrl, stack: ExitStack) -> _Ledger | _Report | _DroppedItems:
    if isinstance(path, LogUrl) or is_sqlite(path):
        return _Ledger(stack.enter_context(open_ledger(path)))
    if path.suffix == ".json":
        try:
            return _Report(path, Report.from_json(json.loads(path.read_bytes())))
        except (ValueError, TypeError, RecursionError) as error:
            raise CommandError(f"{path} is no report of a crawl ({error})") from error
    if _has_only_other_lines(path):
        raise CommandError(f"{path} is no ledger, no report and no file of dropped items")
    return _DroppedItems(path)


def _has_only_other_lines(path: Path) -> bool:
    is_other = False
    for found in read_dropped(path):
        is_other = isinstance(found, UnreadableLine)
        if not is_other:
            break
    return is_other


def _known_urls(source: _Ledger | _Report | _DroppedItems) -> Iterable[str]:
    return source.known_urls()


def _as_json(
    url: str, is_known: bool, histories: Sequence[History], near: Sequence[NearUrl]
) -> dict[str, Any]:
    return {
        "url": url,
        "known": is_known,
        "sources": [
            {
                "source": history.source,
                "events": [event.as_json() for event in history.events],
                "hints": history.hints,
            }
            for history in histories
        ],
        "nearest": [{"url": each.url, "likeness": each.likeness} for each in near],
    }


def _show(output: Console, url: str, histories: Sequence[History], near: Sequence[NearUrl]) -> None:
    def line(text: str, style: str = "") -> None:
        output.print(Text(printable(text, None), style), soft_wrap=True)

    line(url, "bold")
    for history in histories:
        output.print()
        line(history.source, "bold")
        if not history.events:
            line("Nothing is known of it.")
        for event in history.events:
            for part in event.words.split("\n"):
                line(part)
        for hint in history.hints:
            line(hint)
    if near:
        output.print()
        line("The nearest URLs that are known", "bold")
    for each in near:
        line(f"<{each.url}> ({each.likeness})")
